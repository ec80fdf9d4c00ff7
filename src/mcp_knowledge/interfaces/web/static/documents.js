// The list of documents: uploads by picking and dropping, live states, deletion on the spot.

import { confirmDeletes } from "./confirm.js";
import { follow, refresh } from "./live.js";
import { startUploads } from "./upload.js";

const announce = document.getElementById("announce");

const uploads = startUploads({ changed: refresh, say: (text) => (announce.textContent = text) });
follow(uploads.documentChanged);

confirmDeletes(
  (id, title) => {
    const row = document.getElementById(id);
    const next = row?.nextElementSibling ?? row?.previousElementSibling;
    row?.remove();
    (next?.querySelector("[data-delete]") ?? document.getElementById("main")).focus();
    announce.textContent = `“${title}” was deleted.`;
    refresh();
  },
  (reason) => (announce.textContent = reason),
);
