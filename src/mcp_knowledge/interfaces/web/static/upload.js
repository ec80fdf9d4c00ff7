// Uploads, a few at a time, and the tray that tells of each.

import { acceptDrops } from "./dropping.js";
import { FileUpload } from "./file-upload.js";

const AT_ONCE = 3;

function summaryOf(uploads) {
  const count = (...kinds) => uploads.filter((item) => kinds.includes(item.kind)).length;
  const parts = [
    [count("waiting", "sending"), "to upload"],
    [count("working"), "in progress"],
    [count("ready"), "ready"],
    [count("known"), "there already"],
    [count("failed"), "failed"],
  ];
  return parts.filter(([number]) => number).map(([number, text]) => `${number} ${text}`).join(" · ");
}

// Makes the form, and dropping on the page, upload. `arrived()` is called when the service has a file, `say(text)` reads text
// out, `toast(text)` shows it.
export function startUploads({ arrived, say, toast }) {
  const form = document.getElementById("upload");
  const field = form.elements.file;
  const tray = document.getElementById("tray");
  const list = tray.querySelector("ol");
  const maxBytes = Number(form.dataset.maxBytes);
  const words = JSON.parse(form.dataset.words);
  const collectionId = form.elements.collectionId?.value ?? ""; // the collection that is being shown
  const early = new Map(); // documents and archives that changed before their upload was answered
  let uploads = [];
  let sending = 0;

  const show = () => {
    const summary = summaryOf(uploads);
    tray.hidden = uploads.length === 0;
    tray.querySelector("[data-summary]").textContent = summary;
    const failed = uploads.filter((item) => item.kind === "failed");
    for (const [place, item] of failed.entries()) // what somebody has to do something about comes first
      if (list.children[place] !== item.element) list.insertBefore(item.element, list.children[place]);
    if (uploads.length && uploads.every((item) => item.finished)) say(summary);
  };

  const pump = () => {
    while (sending < AT_ONCE) {
      const next = uploads.find((item) => item.kind === "waiting");
      if (!next) break;
      sending += 1;
      next.send().then(() => {
        sending -= 1;
        if (early.has(next.documentId)) next.documentChanged(early.get(next.documentId));
        if (early.has(next.archiveId)) next.archiveChanged(early.get(next.archiveId));
        if (!sending) early.clear();
        arrived();
        pump();
      });
    }
    show();
  };

  const again = (upload) => {
    upload.reset();
    pump();
  };

  const add = (files) => {
    for (const { file, path, unreadable = false } of files) {
      const upload = new FileUpload(file, path, { words, collectionId, again });
      if (unreadable) upload.fail("Not added", "Your browser may not read it, or it is gone. Choose it again.");
      else if (file.size === 0) upload.fail("Not added", "It is empty.");
      else if (file.size > maxBytes)
        upload.fail("Not added", `It is larger than ${Math.floor(maxBytes / 1e6)} MB. Split it into smaller files.`);
      uploads.push(upload);
      list.append(upload.element);
    }
    if (files.length) say(`${files.length} ${files.length === 1 ? "file" : "files"} to upload.`);
    pump();
  };

  const addChosen = () => {
    add([...field.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
    field.value = "";
  };

  field.multiple = true; // one request carries one file: the plain form sends a single one
  field.addEventListener("change", addChosen);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    addChosen();
  });
  if (field.files.length) addChosen(); // chosen before this script had come
  acceptDrops((files) => (files.length ? add(files) : toast("There is no file in what you dropped.")));
  tray.querySelector("[data-clear]").addEventListener("click", () => {
    for (const item of uploads.filter((one) => one.finished)) item.element.remove();
    uploads = uploads.filter((one) => !one.finished);
    show();
  });
  addEventListener("beforeunload", (event) => {
    if (uploads.some((item) => item.kind === "waiting" || item.kind === "sending")) event.preventDefault();
  });

  return {
    add,
    documentChanged(item) {
      if (sending) early.set(item.id, item);
      const upload = uploads.find((one) => one.documentId && one.documentId === item.id);
      if (!upload) return;
      upload.documentChanged(item);
      show();
    },
    archiveChanged(item) {
      if (sending) early.set(item.id, item);
      const upload = uploads.find((one) => one.archiveId && one.archiveId === item.id);
      if (!upload) return;
      upload.archiveChanged(item);
      show();
    },
    pending: () => uploads.some((one) => one.kind === "working"),
    async catchUp() {
      for (const upload of uploads.filter((one) => one.kind === "working")) {
        if (upload.archiveId) {
          const response = await fetch(`/api/v1/archives/${encodeURIComponent(upload.archiveId)}`).catch(() => null);
          if (response?.ok) upload.archiveChanged(await response.json());
          continue;
        }
        const response = await fetch(`/api/v1/documents/${encodeURIComponent(upload.documentId)}`).catch(() => null);
        if (response?.ok) upload.documentChanged(await response.json());
        else if (response?.status === 404) upload.documentChanged({ status: "deleting" });
      }
      show();
    },
  };
}
