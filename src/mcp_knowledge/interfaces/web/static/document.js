// One document: its state as it changes, a passage's page beside it without loading anew.

import { follow } from "./live.js";
import { showProgress } from "./newer-version.js";
import { localizeTimes } from "./times.js";

const live = document.getElementById("live");
const { document: id } = live.dataset;
const say = (text) => (document.getElementById("announce").textContent = text);

const newer = document.querySelector("form.newer");
if (newer) {
  showProgress(newer, (text) => {
    say(text);
    document.getElementById("newer-told").textContent = text;
  });
}
// A form that somebody fills in must not be replaced by what changes meanwhile: saving compares, and tells.
const choosing = () => Boolean(document.querySelector("form.newer input[type=file]")?.files.length);
// A form that is being sent leads on by itself: to load this page anew, as for a document that is gone, would break it off.
let leaving = false;
document.addEventListener("submit", (event) => (leaving ||= !event.defaultPrevented));
addEventListener("pageshow", () => (leaving = false));
if (!("editing" in live.dataset)) follow({ changed: (item) => item.id === id && !leaving && !choosing() });

async function fetchPage(address) {
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) throw new Error("not the page");
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Takes over the original's page, and which passage is the one looked at.
function adopt(page) {
  const [old, fresh] = [document.getElementById("viewer"), page.getElementById("viewer")];
  if (!old || !fresh) return false;
  const step = old.contains(document.activeElement) ? document.activeElement.getAttribute("rel") : null;
  old.replaceWith(fresh);
  if (step) (fresh.querySelector(`[rel="${step}"]`) ?? fresh.querySelector("a"))?.focus();
  const wanted = page.querySelector(".passage.wanted")?.id;
  for (const passage of document.querySelectorAll(".passage")) {
    passage.classList.toggle("wanted", passage.id === wanted);
    const link = passage.querySelector(".num");
    if (passage.id === wanted) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  say(fresh.getAttribute("aria-label"));
  return true;
}

let asked = 0;

async function show(address, remember) {
  const turn = ++asked;
  try {
    const page = await fetchPage(address);
    if (turn !== asked) return; // something newer was asked for meanwhile
    if (!adopt(page)) throw new Error("no page to take over");
    if (remember) history.pushState({ swapped: true }, "", address);
  } catch {
    location.assign(address);
  }
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest("a[href]");
  if (link?.matches("[data-swap]")) {
    event.preventDefault();
    show(link.href, true);
    return;
  }
  // Anywhere on a passage is a click on its number, unless it is on something else, or selects text.
  const passage = event.target.closest(".with-page .passage");
  if (!passage || event.target.closest("a, button, summary") || String(getSelection())) return;
  show(passage.querySelector(".num").href, true);
});

addEventListener("popstate", async () => {
  const turn = ++asked;
  try {
    const page = await fetchPage(location.href);
    if (turn !== asked) return;
    const [old, fresh] = [document.getElementById("live"), page.getElementById("live")];
    localizeTimes(fresh);
    if (!adopt(page)) old.replaceChildren(...fresh.childNodes);
    document.querySelector(".passage.wanted")?.scrollIntoView({ block: "nearest" });
  } catch {
    location.reload();
  }
});

// A page that cannot be drawn says why, in place of the picture.
async function tellWhy(picture) {
  const paper = picture.closest?.(".paper");
  if (!paper) return;
  const told = document.createElement("p");
  told.textContent = "This page cannot be shown.";
  const response = await fetch(picture.currentSrc || picture.src).catch(() => null);
  const body = response && !response.ok ? await response.json().catch(() => null) : null;
  if (body?.error?.message) told.textContent = body.error.message;
  paper.replaceChildren(told);
}

document.addEventListener("error", (event) => tellWhy(event.target), true);
for (const picture of document.querySelectorAll(".paper img")) {
  if (picture.complete && !picture.naturalWidth) tellWhy(picture); // it failed before this script had come
}
