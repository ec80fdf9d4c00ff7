// Deletes a document on the spot, and brings it back. Without this script the same forms lead to a page that offers to undo.

const UNDO_S = 30;
const MARGIN_MS = 1000; // a click at the last moment must still arrive in time
const address = (id) => `/api/v1/documents/${encodeURIComponent(id)}`;

async function ask(path, method) {
  try {
    const response = await fetch(path, { method });
    if (response.ok) return null;
    if (method === "DELETE" && response.status === 404) return null; // it is gone already: all the better
    return (await response.json()).error.message;
  } catch {
    return "The service did not answer. Try again.";
  }
}

export function deleteOnTheSpot({ toast, refresh }) {
  document.getElementById("live").addEventListener("submit", async (event) => {
    const button = event.target.querySelector("[data-delete]");
    if (!button) return;
    event.preventDefault();
    button.disabled = true;
    const id = button.dataset.delete;
    const row = document.getElementById(id);
    const title = row.querySelector("[data-title]").textContent;
    const fault = await ask(`${address(id)}?undoSeconds=${UNDO_S}`, "DELETE");
    if (fault) {
      button.disabled = false;
      toast(fault);
      return;
    }
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (next?.querySelector("[data-delete]") ?? document.getElementById("main")).focus();
    refresh();
    toast(`“${title}” was deleted.`, {
      label: "Undo",
      lasts: UNDO_S * 1000 - MARGIN_MS,
      async does() {
        toast((await ask(`${address(id)}/restore`, "POST")) ?? `“${title}” is back.`);
        refresh();
      },
    });
  });
}

// A message from before a reload offers to undo only as long as that works.
export function expireUndo() {
  for (const form of document.querySelectorAll("form.undo")) {
    setTimeout(() => form.remove(), Math.max(0, Number(form.dataset.leftMs) - MARGIN_MS));
  }
}
