// The picker of documents finds while somebody types; what was ticked stays.

const PART = "/playground/documents";
const PAUSE_MS = 200;

const field = document.getElementById("find");
const list = document.getElementById("found");
let timer = null;
let asked = 0;

async function find() {
  const mine = ++asked;
  const values = new FormData(field.form);
  const parameters = new URLSearchParams({ find: field.value, pick: "documents" });
  for (const name of ["document", "also", "collection"]) for (const value of values.getAll(name)) parameters.append(name === "also" ? "document" : name, value);
  const response = await fetch(`${PART}?${parameters}`, { headers: { Accept: "text/html" } }).catch(() => null);
  if (mine !== asked || !response?.ok || response.redirected) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").body;
  const ticked = [...list.querySelectorAll("label")].filter((label) => label.querySelector(":checked"));
  list.replaceChildren(...ticked, ...fresh.childNodes);
}

field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(find, PAUSE_MS);
});

field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  find();
});

document.querySelector("button[name=pick]").addEventListener("click", (event) => {
  event.preventDefault();
  find();
});
