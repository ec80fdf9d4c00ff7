// Pasting anywhere but into a field: a web address is offered to be fetched, files are uploaded.

const FIELDS = "input, textarea, select, [contenteditable]";

function addressIn(text) {
  const line = text.trim();
  return /^https?:\/\/\S+$/i.test(line) && URL.canParse(line) ? line : null;
}

export function acceptPastes({ files, say }) {
  const form = document.querySelector("form.from-url");
  addEventListener("paste", (event) => {
    if (event.target.closest?.(FIELDS)) return;
    const data = event.clipboardData;
    if (data.files.length) {
      event.preventDefault();
      files([...data.files].map((file) => ({ file, path: file.name })));
      return;
    }
    const address = addressIn(data.getData("text/plain"));
    if (!address) return;
    event.preventDefault();
    form.elements.url.value = address;
    form.classList.add("offered");
    form.querySelector("button").focus();
    say("The address is filled in. Press Enter to fetch it.");
  });
  form.addEventListener("focusout", () => form.classList.remove("offered"));
}
