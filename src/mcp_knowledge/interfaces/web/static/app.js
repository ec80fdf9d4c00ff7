// Loaded on every page: small comforts that nothing depends on.

import { localizeTimes } from "./times.js";

const TEXT = "input:not([type=file], [type=radio], [type=checkbox]), textarea, select, [contenteditable]";

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(TEXT)) return;
  const field = document.querySelector("input[type=search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

localizeTimes();
