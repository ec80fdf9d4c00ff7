// Sends files, a few at a time, and tells of each: how much has arrived, then how its document comes along.

const AT_ONCE = 3;
const STAGES = {
  queued: "Waiting",
  parsing: "Reading the file",
  chunking: "Cutting passages",
  embedding: "Learning the meaning",
  indexing: "Filing",
};

const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

// Every file below a dropped entry. Hidden ones (.DS_Store and the like) are not documents.
async function filesBelow(entry) {
  if (entry.name.startsWith(".")) return [];
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found;
    for (const child of part) found.push(...(await filesBelow(child)));
  }
}

// The entries must be taken before anything is awaited: the browser empties the transfer afterwards.
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  return (await Promise.all(entries.map(filesBelow))).flat();
}

class Upload {
  constructor(file) {
    this.file = file;
    this.kind = "waiting"; // waiting, sending, working, ready, known, failed
    this.documentId = null;
    this.element = document.createElement("li");
    const name = document.createElement("span");
    name.className = "name";
    name.textContent = name.title = file.name;
    this.name = name;
    this.bar = document.createElement("progress");
    this.bar.max = 1;
    this.bar.value = 0;
    this.bar.setAttribute("aria-label", `Upload of ${file.name}`);
    this.told = document.createElement("span");
    this.told.className = "told";
    this.element.append(name, this.bar, this.told);
    this.tell("waiting", "Waiting");
  }

  tell(kind, text, share = null) {
    this.kind = kind;
    this.element.dataset.kind = kind;
    this.told.textContent = text;
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
    if (kind === "waiting") this.bar.value = 0;
  }

  link() {
    const link = document.createElement("a");
    link.href = `/documents/${this.documentId}`;
    link.textContent = this.file.name;
    this.name.replaceChildren(link);
  }

  fail(reason) {
    this.tell("failed", "Not added");
    this.explain(reason);
  }

  explain(reason) {
    const why = document.createElement("span");
    why.className = "why";
    why.textContent = reason;
    this.element.querySelector(".why")?.remove();
    this.element.append(why);
  }

  get finished() {
    return ["ready", "known", "failed"].includes(this.kind);
  }

  // Sends the file; ends when the service has answered.
  send() {
    return new Promise((resolve) => {
      const form = new FormData();
      form.append("file", this.file, this.file.name);
      const request = new XMLHttpRequest();
      request.open("POST", "/api/v1/documents");
      request.responseType = "json";
      request.upload.onprogress = ({ loaded, total }) =>
        this.tell("sending", `Uploading ${Math.floor((100 * loaded) / total)}%`, loaded / total);
      request.onload = () => {
        this.answered(request.status, request.response);
        resolve();
      };
      request.onerror = () => {
        this.fail("The connection broke, or the file changed while it was sent. Choose it again.");
        resolve();
      };
      this.tell("sending", "Uploading", 0);
      request.send(form);
    });
  }

  answered(status, body) {
    if (status >= 400 || !body?.id) {
      this.fail(body?.error?.message ?? "The service did not accept this file. Try again.");
      return;
    }
    this.documentId = body.id;
    this.link();
    if (body.duplicate) this.tell("known", "You have it already", 1);
    else this.tell("working", STAGES.queued);
  }

  documentChanged(item) {
    if (this.kind === "known" || this.kind === "failed") return;
    if (item.status === "ready") this.tell("ready", "Ready", 1);
    else if (item.status === "failed") {
      this.tell("failed", "Failed");
      this.explain(item.latestError?.replace(/^[A-Z_]+: /, "") ?? "");
    } else if (item.status === "deleting") this.tell("known", "Deleted", 1);
    else {
      const { stage = "queued", done = 0, total = 0 } = item.progress ?? {};
      this.tell("working", STAGES[stage] + (total > 1 ? ` ${done} of ${total}` : ""), total > 1 ? done / total : null);
    }
  }
}

function summaryOf(uploads) {
  const count = (...kinds) => uploads.filter((item) => kinds.includes(item.kind)).length;
  const left = count("waiting", "sending");
  const parts = [
    [left, left === 1 ? "file to upload" : "files to upload"],
    [count("working"), "in progress"],
    [count("ready"), "ready"],
    [count("known"), "there already"],
    [count("failed"), "failed"],
  ];
  return parts.filter(([number]) => number).map(([number, text]) => `${number} ${text}`).join(" · ");
}

// Makes the form, and dropping on the page, upload. `arrived()` is called when the service has a file, `say(text)` reads text out.
export function startUploads({ arrived, say }) {
  const form = document.getElementById("upload");
  const field = form.elements.file;
  const tray = document.getElementById("tray");
  const list = tray.querySelector("ol");
  const summary = tray.querySelector("[data-summary]");
  const maxBytes = Number(form.dataset.maxBytes);
  field.multiple = true; // one request carries one file: the plain form sends a single one
  let uploads = [];
  let sending = 0;
  const early = new Map(); // documents that changed before their upload was answered

  const show = () => {
    tray.hidden = uploads.length === 0;
    summary.textContent = summaryOf(uploads);
    if (uploads.length && uploads.every((item) => item.finished)) say(summary.textContent);
  };

  const pump = () => {
    while (sending < AT_ONCE) {
      const next = uploads.find((item) => item.kind === "waiting");
      if (!next) break;
      sending += 1;
      next.send().then(() => {
        sending -= 1;
        if (early.has(next.documentId)) next.documentChanged(early.get(next.documentId));
        show();
        arrived();
        pump();
      });
    }
    show();
  };

  const add = (files) => {
    for (const file of files) {
      const upload = new Upload(file);
      if (file.size > maxBytes) upload.fail(`It is larger than ${megabytes(maxBytes)}. Split it into smaller files.`);
      else if (file.size === 0) upload.fail("It is empty.");
      uploads.push(upload);
      list.append(upload.element);
    }
    if (files.length) say(`${files.length} ${files.length === 1 ? "file" : "files"} to upload.`);
    pump();
  };

  field.addEventListener("change", () => {
    add([...field.files]);
    field.value = "";
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    add([...field.files]);
    field.value = "";
  });
  tray.querySelector("[data-clear]").addEventListener("click", () => {
    for (const item of uploads.filter((one) => one.finished)) item.element.remove();
    uploads = uploads.filter((one) => !one.finished);
    show();
  });

  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  let depth = 0; // dragenter and dragleave come for every element on the way
  const mark = () => document.body.classList.toggle("dropping", depth > 0);
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth += 1;
    mark();
  });
  addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    depth = Math.max(0, depth - 1);
    mark();
  });
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    mark();
    add(await droppedFiles(event.dataTransfer));
  });
  addEventListener("beforeunload", (event) => {
    if (uploads.some((item) => item.kind === "waiting" || item.kind === "sending")) event.preventDefault();
  });

  return {
    documentChanged(item) {
      if (!item.id) return;
      if (sending) early.set(item.id, item);
      else early.clear();
      const upload = uploads.find((one) => one.documentId === item.id);
      if (upload) {
        upload.documentChanged(item);
        show();
      }
    },
    async catchUp() {
      for (const upload of uploads.filter((one) => one.kind === "working")) {
        const response = await fetch(`/api/v1/documents/${upload.documentId}`).catch(() => null);
        if (response?.ok) upload.documentChanged(await response.json());
        else if (response?.status === 404) upload.documentChanged({ status: "deleting" });
      }
      show();
    },
  };
}
