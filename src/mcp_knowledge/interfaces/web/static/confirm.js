// Asks before a document is deleted, on the spot. Without this script the link leads to a page that asks the same.

const dialog = document.getElementById("confirm");

function ask(title) {
  dialog.querySelector("h2").textContent = `Delete “${title}”?`;
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "delete"), { once: true });
  });
}

for (const button of dialog.querySelectorAll("button")) {
  button.addEventListener("click", () => dialog.close(button.value));
}
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close("cancel"); // a click beside it
});

// Calls `deleted(id, title)` after a document was deleted, `failed(sentence)` when that did not work.
export function confirmDeletes(deleted, failed) {
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-delete]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const id = link.dataset.delete;
    const title = link.dataset.title ?? document.getElementById(id)?.querySelector("[data-title]")?.textContent ?? "this document";
    if (!(await ask(title))) return;
    try {
      const response = await fetch(`/api/v1/documents/${encodeURIComponent(id)}`, { method: "DELETE" });
      if (response.ok || response.status === 404) {
        deleted(id, title);
      } else {
        failed((await response.json()).error.message);
      }
    } catch {
      failed("The service did not answer. Try again.");
    }
  });
}
