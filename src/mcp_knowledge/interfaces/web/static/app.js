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

// Escape puts an explanation away that hover or focus shows; one that a click keeps is closed by the browser itself.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const part of document.querySelectorAll(".explained:is(:hover, :focus-within)")) {
    part.classList.add("shut");
    for (const end of ["pointerleave", "focusout"]) part.addEventListener(end, () => part.classList.remove("shut"), { once: true });
  }
});

// The switch between light and dark changes the page in place; the server remembers it for the next.
const themes = document.querySelector("form.theme");
themes.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = event.submitter;
  const order = themes.dataset.order.split(" ");
  const theme = button.value;
  fetch(themes.action, { method: "POST", body: new URLSearchParams({ theme }), redirect: "manual" }).catch(() => {});
  document.documentElement.dataset.theme = theme;
  document.querySelector("meta[name=color-scheme]").content = theme === "auto" ? "light dark" : theme;
  button.value = order[(order.indexOf(theme) + 1) % order.length];
});

localizeTimes();
