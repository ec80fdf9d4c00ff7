// The list of documents: uploads by picking, dropping and pasting, live states, deletion that can be undone, many at once.

import { deleteOnTheSpot, expireUndo } from "./deleting.js";
import { follow, refresh } from "./live.js";
import { acceptPastes } from "./pasting.js";
import { select } from "./selecting.js";
import { makeToast } from "./toast.js";
import { startUploads } from "./upload.js";

const announce = document.getElementById("announce");
const say = (text) => (announce.textContent = text);
const toast = makeToast(document.getElementById("toast"), say);
const uploads = startUploads({ arrived: refresh, say, toast });

follow({
  changed(item, kind) {
    if (kind === "archive") uploads.archiveChanged(item);
    else if (kind === "document") uploads.documentChanged(item);
    return true;
  },
  kinds: ["document", "archive", "scan"],
  missed: uploads.catchUp,
  pending: uploads.pending,
});

deleteOnTheSpot({ toast, refresh });
expireUndo();
acceptPastes({ files: uploads.add, say });
select();

// Choosing in a field shows at once. What is not asked for stays out of the address.
document.getElementById("live").addEventListener("change", (event) => {
  if (event.target.matches(".filters select")) event.target.form.requestSubmit();
});
document.getElementById("live").addEventListener("submit", (event) => {
  if (!event.target.matches(".filters form")) return;
  for (const field of event.target.elements) field.disabled ||= field.value === "" || (field.name === "sort" && field.value === "newest");
});
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll(".filters :disabled")) field.disabled = false;
});
