// The queue as it moves.

import { follow } from "./live.js";

const { document: id } = document.getElementById("live").dataset;

follow({
  changed: (item, kind) => !id || (kind === "job" ? item.documentId : item.id) === id,
  kinds: ["job", "document"],
});
