// Ticking documents: all of the page, ranges with Shift, and how many there are. What can be done with them is a plain form.

const live = document.getElementById("live");
const bar = document.getElementById("bulk");
const boxes = () => [...live.querySelectorAll("tbody .tick input")];

function show() {
  const all = boxes();
  const ticked = all.filter((box) => box.checked).length;
  const whole = live.querySelector("[data-all]");
  if (whole) {
    whole.checked = ticked > 0 && ticked === all.length;
    whole.indeterminate = ticked > 0 && ticked < all.length;
  }
  const total = Number(live.dataset.total);
  const every = bar.elements.all;
  every.closest("label").hidden = total <= all.length;
  if (total <= all.length || !ticked) every.checked = false;
  bar.querySelector("[data-total]").textContent = total.toLocaleString("en");
  bar.querySelector("[data-chosen]").textContent = `${(every.checked ? total : ticked).toLocaleString("en")} selected`;
  bar.elements.seen.value = live.dataset.seen;
}

function clear() {
  for (const box of boxes()) box.checked = false;
  for (const part of bar.querySelectorAll("details")) part.open = false;
  show();
}

export function select() {
  let last = null;
  live.addEventListener("click", (event) => {
    const box = event.target.closest("tbody .tick input");
    if (!box) return;
    const all = boxes();
    if (event.shiftKey && last?.isConnected) {
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      for (const between of all.slice(from, to + 1)) between.checked = box.checked;
    }
    last = box;
    show();
  });
  live.addEventListener("change", (event) => {
    if (!event.target.matches("[data-all]")) return;
    for (const box of boxes()) box.checked = event.target.checked;
    show();
  });
  bar.addEventListener("change", show);
  bar.addEventListener("reset", () => setTimeout(clear)); // after the browser has reset the fields
  bar.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("input[type=text], select")) return;
    event.preventDefault();
    event.target.closest(".bulk-more").querySelector("button").click();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.target.closest("input[type=search]")) return;
    const open = bar.querySelector("details[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    } else if (boxes().some((box) => box.checked)) clear();
  });
  bar.addEventListener("toggle", (event) => {
    if (event.target.open) event.target.querySelector("select, input")?.focus();
  }, true);
  addEventListener("adopted", show);
  show();
}
