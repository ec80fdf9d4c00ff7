// Pointing at a hit, or going to it by keyboard, shows the same one in the other columns and the lines between them.

const area = document.querySelector(".compare-grid");

function follow(subject) {
  for (const element of area.querySelectorAll(".followed")) element.classList.remove("followed");
  area.classList.toggle("following", Boolean(subject));
  if (!subject) return;
  for (const element of area.querySelectorAll(`[data-subject="${CSS.escape(subject)}"]`)) element.classList.add("followed");
}

const subjectOf = (element) => element?.closest?.("[data-subject]")?.dataset.subject;

if (area) {
  area.addEventListener("mouseover", (event) => follow(subjectOf(event.target)));
  area.addEventListener("mouseleave", () => follow(subjectOf(document.activeElement)));
  area.addEventListener("focusin", (event) => follow(subjectOf(event.target)));
  area.addEventListener("focusout", (event) => area.contains(event.relatedTarget) || follow(null));
}
