// Imports of archives, and one of them: states as they change.

import { follow } from "./live.js";

const { archive } = document.getElementById("live").dataset;

follow({
  changed: (item, kind) => (archive ? item.id === archive : kind !== "document" || item.status === "failed"),
  kinds: archive ? ["archive"] : ["archive", "scan", "document"],
});
