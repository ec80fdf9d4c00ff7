// Choosing another way to search asks again at once, addresses stay short, and the keyboard goes through the hits.
// Without this script buttons do the first, and the server the second.

import "./copy.js";
import "./playground-compare.js";
import { conditionsChanged } from "./playground-conditions.js";
import "./playground-documents.js";

const ROWS = ["key", "operator", "value", "kind", "filters_before"];
const TEXT = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

const form = document.getElementById("ask");

document.addEventListener("change", (event) => {
  const control = event.target;
  if (control.form !== form || control.closest("#fold-where, #fold-conditions") || control.matches("#q")) return;
  if (form.elements.q.value.trim()) form.requestSubmit();
});

// What an address need not say.
function shorten(formData) {
  if (!conditionsChanged()) {
    formData.set("filters", formData.get("filters_before"));
    for (const name of ROWS) formData.delete(name);
  }
  if (formData.get("expand") !== "neighbors") for (const name of ["before", "after"]) formData.delete(name);
  for (const { name, dataset } of form.elements) {
    if (dataset.default !== undefined && formData.get(name) === dataset.default) formData.delete(name);
  }
  for (const name of ["filters", "find", "a.filters", "b.filters", "c.filters"]) if (!formData.get(name)) formData.delete(name);
  for (const fold of document.querySelectorAll("details.fold[open]")) formData.append("open", fold.dataset.fold);
}

form.addEventListener("submit", (event) => {
  const { submitter } = event;
  if (!form.elements.q.value.trim() && !submitter?.name && !submitter?.closest(".fold")) {
    event.preventDefault();
    form.elements.q.focus();
    return;
  }
  // Once: parts of the page that ask for themselves send everything.
  form.addEventListener("formdata", ({ formData }) => shorten(formData), { once: true });
});

// Which parts were unfolded is for the next page only, not for whoever gets the address.
const address = new URL(location);
if (address.searchParams.has("open")) {
  address.searchParams.delete("open");
  history.replaceState(history.state, "", address);
}

document.addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(TEXT)) return;
  const links = [...document.querySelectorAll(".hit h3 a, .placed h3 a")].filter((link) => link.checkVisibility());
  const at = links.findIndex((link) => link.closest("li").contains(document.activeElement));
  const next = links[at < 0 ? (step > 0 ? 0 : -1) : at + step];
  if (!next) return;
  next.focus();
  next.closest("li").scrollIntoView({ block: "nearest" });
});
