// One document: its state as it changes, deletion on the spot.

import { confirmDeletes } from "./confirm.js";
import { follow } from "./live.js";

const { document: id } = document.getElementById("live").dataset;

follow({ changed: (item) => item.id === id && item.status !== "deleting" });
confirmDeletes(
  () => location.assign("/?notice=deleted"),
  (reason) => (document.getElementById("announce").textContent = reason),
);
