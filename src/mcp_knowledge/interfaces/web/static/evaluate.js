// Runs as they go on, and choices that take effect at once.

import { follow, refresh } from "./live.js";

const { run, active } = document.getElementById("live").dataset;

follow({ changed: (item) => !run || item.id === run, kinds: ["evaluation"] });
if (Number(active) > 0) refresh(); // a short run may be over before its events are followed

document.getElementById("live").addEventListener("change", (event) => {
  if (event.target.matches(".compare-with select")) event.target.form.requestSubmit();
});
