// The builder of conditions: its rows and its JSON follow each other. The server turns one into the other; here its
// answer takes the place of the builder, and whoever types goes on typing.

const PART = "/playground/conditions";
const PAUSE_MS = 250; // after the last key, before the other side follows

const form = document.getElementById("ask");
const builder = document.getElementById("conditions");
let asked = 0;
let timer = null;
let changed = false;

// Whether somebody changed the conditions since the page came.
export const conditionsChanged = () => changed;

const blank = (row) => [...row.querySelectorAll("input")].every((input) => !input.value.trim());

// Where the focused control stands: in which row, counted without empty ones, as the server counts them.
function spot(element) {
  const row = element.closest(".row");
  if (!row) return null;
  const rows = [...builder.querySelectorAll(".row")];
  const before = rows.slice(0, rows.indexOf(row)).filter((other) => !blank(other)).length;
  return { row: before, name: element.name };
}

// What stands in the new builder where the control stood in the old one.
function counterpart(fresh, element, place) {
  if (element.id) return fresh.querySelector(`#${CSS.escape(element.id)}`);
  return place && fresh.querySelectorAll(".row")[place.row]?.querySelector(`[name="${place.name}"]`);
}

function adopt(html, place) {
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  const focused = document.activeElement;
  const typing = builder.contains(focused) && focused.matches("input, textarea, select");
  const target = typing && counterpart(fresh, focused, place);
  const selection = typing && focused.selectionStart != null && [focused.selectionStart, focused.selectionEnd];
  const json = fresh.querySelector("details.json");
  json.open ||= builder.querySelector("details.json").open;
  if (target) {
    for (const name of ["list", "aria-label", "aria-describedby", "aria-invalid"]) {
      if (target.hasAttribute(name)) focused.setAttribute(name, target.getAttribute(name));
      else focused.removeAttribute(name);
    }
    target.replaceWith(focused);
  }
  builder.replaceChildren(...fresh.childNodes);
  if (!target) return;
  focused.focus();
  if (selection) focused.setSelectionRange(...selection);
}

// Asks the server for the builder as the form now says it; `button` is the one that was pressed, if any.
async function refresh(button = null) {
  clearTimeout(timer);
  const mine = ++asked;
  const values = new FormData(form, button);
  const place = builder.contains(document.activeElement) ? spot(document.activeElement) : null;
  const response = await fetch(`${PART}?${new URLSearchParams(values)}`, { headers: { Accept: "text/html" } }).catch(() => null);
  if (mine !== asked || !response?.ok || response.redirected) return; // newer keys were pressed, or the server is away
  adopt(await response.text(), place);
  if (button) builder.querySelector(button.name === "add" ? ".row:nth-last-child(2) [name=value]" : ".row.spare [name=key]")?.focus();
}

builder.addEventListener("input", () => {
  changed = true;
  clearTimeout(timer);
  asked += 1; // an answer on its way is about what was there before
  timer = setTimeout(refresh, PAUSE_MS);
});

builder.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=add], button[name=choose], button[name=drop]");
  if (!button) return;
  event.preventDefault();
  changed = true;
  refresh(button);
});

// Numbers of documents take a while in a large corpus: they are asked for once somebody looks.
const fold = document.getElementById("fold-conditions");
if (fold.open) refresh();
else fold.addEventListener("toggle", () => refresh(), { once: true });
