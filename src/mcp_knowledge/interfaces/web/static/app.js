// Loaded on every page: small comforts that nothing depends on.

const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const field = document.querySelector("input[type=search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// The server shows ages, which need no time zone; the exact moment is told in the reader's own.
export function localizeTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = new Date(time.dateTime).toLocaleString();
  }
}

localizeTimes();
