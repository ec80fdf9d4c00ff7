// Judges in place: the form is sent behind the page, and what the server then says of the question is shown.
// Without this script the form leads back to the same page.

const TOLD = {
  right: "Marked right.",
  wrong: "Marked wrong.",
  none: "Taken back.",
  nothing: "Kept: nothing answers this.",
  answered: "Taken back.",
};

const words = (list) => new Set(list.split(" ").filter(Boolean));

// Every document that was judged, wherever the page shows it.
function mark({ right, wrong }) {
  const verdicts = { right: words(right), wrong: words(wrong) };
  for (const group of document.querySelectorAll(".judge[data-document]")) {
    const id = group.dataset.document;
    for (const button of group.querySelectorAll("button")) {
      const { word } = button.dataset;
      const pressed = verdicts[word].has(id);
      button.setAttribute("aria-pressed", String(pressed));
      button.value = `${pressed ? "none" : word} ${id}`;
    }
  }
}

// The playground's part about the question as a whole.
function adoptQuestion(fresh) {
  const part = document.getElementById("judging");
  const hadFocus = part.querySelector(".nothing-answers") === document.activeElement;
  Object.assign(part.dataset, fresh.dataset);
  part.querySelector(".judge-state").replaceWith(fresh.querySelector(".judge-state"));
  part.querySelectorAll("[name=back]").forEach((field) => (field.value = location.pathname + location.search));
  if (hadFocus) part.querySelector(".nothing-answers").focus();
  mark(part.dataset);
}

// A question in the list of a set; it goes when nothing is said of it any more.
function adoptCase(row, fresh, { document: id, word }) {
  if (!fresh) {
    (row.nextElementSibling ?? row.previousElementSibling)?.querySelector("summary").focus();
    row.remove();
    return;
  }
  row.replaceWith(fresh);
  const group = [...fresh.querySelectorAll(".judge")].find((item) => item.dataset.document === id);
  (group?.querySelector(`[data-word="${word}"]`) ?? fresh.querySelector(".nothing-answers")).focus();
}

function say(text) {
  const told = document.querySelector(".judge-told");
  if (told) told.textContent = text;
}

async function send(form, submitter) {
  const { value } = submitter; // which turns around once it took effect
  const fields = new URLSearchParams(new FormData(form, submitter));
  const { part } = document.getElementById("judging")?.dataset ?? {};
  if (part) fields.set("back", part);
  const response = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (!response.ok) throw new Error(page.querySelector("main p")?.textContent ?? "That did not work. Try again.");
  if (part) {
    adoptQuestion(page.getElementById("judging"));
  } else {
    const row = form.closest("li.case");
    adoptCase(row, page.getElementById(row.id), { document: value.split(" ")[1], word: submitter.dataset.word });
  }
  return TOLD[value.split(" ")[0]];
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches('[action="/evaluate/judge"]')) return;
  event.preventDefault();
  try {
    say(await send(form, event.submitter));
  } catch (error) {
    say(error instanceof TypeError ? "The service did not answer. Try again." : error.message);
  }
});

// Another set at once; without this script a button does it.
document.addEventListener("change", (event) => {
  if (event.target.matches(".judge-set select")) event.target.form.requestSubmit();
});
