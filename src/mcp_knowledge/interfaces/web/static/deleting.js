// Deletes a document on the spot, and brings it back. Without this script the same forms lead to a page that offers to undo.

const UNDO_S = 30;
const MARGIN_MS = 1000; // a click at the last moment must still arrive in time
const address = (id) => `/api/v1/documents/${encodeURIComponent(id)}`;

// What came of asking: `fault` is a sentence, or null.
async function ask(path, method) {
  try {
    const response = await fetch(path, { method });
    const body = await response.json();
    const gone = method === "DELETE" && response.status === 404; // gone already: all the better
    return response.ok || gone ? { fault: null, until: Date.parse(body.undoUntil) } : { fault: body.error.message };
  } catch {
    return { fault: "The service did not answer. Try again." };
  }
}

// The page's address offers to undo, too, so that a reload does not take it away.
// `untilMs`: the name of the deletion; without it the address forgets whatever message it has.
function tellInAddress(untilMs) {
  const query = location.search.replace(/[?&]notice=.*/, "");
  const message = untilMs ? `${query ? "&" : "?"}notice=removed&count=1&until=${untilMs}` : "";
  history.replaceState(history.state, "", location.pathname + query + message);
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
    const { fault, until } = await ask(`${address(id)}?undoSeconds=${UNDO_S}`, "DELETE");
    if (fault) {
      button.disabled = false;
      toast(fault);
      return;
    }
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (next?.querySelector("[data-delete]") ?? document.getElementById("main")).focus();
    tellInAddress(until);
    refresh();
    toast(`“${title}” was deleted.`, {
      label: "Undo",
      lasts: UNDO_S * 1000 - MARGIN_MS,
      gone: tellInAddress,
      async does() {
        const { fault: refused } = await ask(`${address(id)}/restore`, "POST");
        toast(refused ?? `“${title}” is back.`);
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
