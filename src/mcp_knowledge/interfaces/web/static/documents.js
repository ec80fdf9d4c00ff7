// The list of documents: uploads by picking and dropping, live states, deletion on the spot.

import { confirmDeletes } from "./confirm.js";
import { follow, refresh } from "./live.js";
import { startUploads } from "./upload.js";

const announce = document.getElementById("announce");
const say = (text) => (announce.textContent = text);
const uploads = startUploads({ arrived: refresh, say });

follow({
  changed(item, kind) {
    if (kind === "archive") uploads.archiveChanged(item);
    else uploads.documentChanged(item);
    return kind === "document";
  },
  kinds: ["document", "archive"],
  missed: uploads.catchUp,
});

confirmDeletes((id, title) => {
  const row = document.getElementById(id);
  const next = row?.nextElementSibling ?? row?.previousElementSibling;
  row?.remove();
  (next?.querySelector("[data-delete]") ?? document.getElementById("main")).focus();
  say(`“${title}” was deleted.`);
  refresh();
}, say);

document.getElementById("live").addEventListener("change", (event) => {
  if (event.target.matches("select")) event.target.form.requestSubmit();
});
