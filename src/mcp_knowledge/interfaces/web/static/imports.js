// Imports of archives, and one of them: states as they change.

import { follow } from "./live.js";

const { archive } = document.getElementById("live").dataset;

follow({
  changed: (item, kind) => !archive || (kind === "archive" && item.id === archive),
  kinds: archive ? ["archive"] : ["archive", "scan"],
});
