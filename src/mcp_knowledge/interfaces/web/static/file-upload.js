// One file on its way: how much has arrived, then how its document comes along.

const FINISHED = ["ready", "known", "failed"];

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

export class FileUpload {
  kind = "waiting"; // waiting, sending, working, ready, known, failed
  documentId = null;
  archiveId = null; // of an archive, which becomes documents of its own

  // `path`: the file's, from the folder that was dropped. `words`: what each stage of ingestion is called, and by error code
  // why something failed and what to do next.
  // `again(upload)`: called when somebody wants a failed upload to be tried again.
  constructor(file, path, { words, collectionId, again }) {
    this.file = file;
    this.path = path;
    this.words = words;
    this.collectionId = collectionId;
    this.again = again;
    this.name = element("span", "name");
    this.name.title = path;
    this.name.append(this.folders(), file.name);
    this.bar = document.createElement("progress");
    this.bar.setAttribute("aria-label", `Progress of ${file.name}`);
    this.told = element("span", "told");
    this.why = element("span", "why");
    this.element = document.createElement("li");
    this.element.append(this.name, this.bar, this.told);
    this.tell("waiting", "Waiting", 0);
  }

  folders() {
    return element("span", "folders", this.path.slice(0, -this.file.name.length));
  }

  get finished() {
    return FINISHED.includes(this.kind);
  }

  // `share` of the work that is done, 0 to 1; null when it cannot be told.
  tell(kind, text, share = null) {
    this.kind = kind;
    this.element.dataset.kind = kind;
    this.told.textContent = text;
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
  }

  // `retry`: whether sending the file again may go better.
  fail(text, reason, retry = false) {
    this.tell("failed", text, 1);
    this.why.replaceChildren(reason);
    if (retry) {
      const button = element("button", "quiet", "Try again");
      button.type = "button";
      button.addEventListener("click", () => this.again(this));
      this.why.append(" ", button);
    }
    this.element.append(this.why);
  }

  // Why, and what to do next: of a `CODE: sentence`.
  explained(error) {
    const [code, ...rest] = (error ?? "").split(": ");
    const { reasons, nextSteps } = this.words;
    return `${reasons[code] ?? rest.join(": ")} ${nextSteps[code] ?? ""}`.trim();
  }

  reset() {
    this.why.remove();
    this.tell("waiting", "Waiting", 0);
  }

  // Sends the file; ends when the service has answered.
  send() {
    return new Promise((resolve) => {
      const form = new FormData();
      if (this.collectionId) form.append("collectionId", this.collectionId);
      form.append("file", this.file, this.file.name);
      const request = new XMLHttpRequest(); // fetch does not tell how much was sent
      request.open("POST", "/api/v1/documents");
      request.responseType = "json";
      request.upload.onprogress = ({ loaded, total }) =>
        this.tell("sending", `Uploading ${Math.floor((100 * loaded) / total)}%`, loaded / total);
      request.onload = () => resolve(this.answered(request.status, request.response));
      request.onerror = () =>
        resolve(this.fail("Not added", "The connection broke, or the file was changed while it was sent.", true));
      this.tell("sending", "Uploading", 0);
      request.send(form);
    });
  }

  answered(status, body) {
    if (status >= 400 || !(body?.id || body?.archiveId)) {
      const { code = "", message = "The service did not accept this file." } = body?.error ?? {};
      this.fail("Not added", this.explained(`${code}: ${message}`), status >= 500);
      return;
    }
    this.documentId = body.id;
    this.archiveId = body.archiveId;
    const link = element("a", "", this.file.name);
    link.href = body.archiveId
      ? `/imports/${encodeURIComponent(body.archiveId)}`
      : `/documents/${encodeURIComponent(body.id)}`;
    this.name.replaceChildren(this.folders(), link);
    if (body.duplicate && body.status === "failed")
      this.fail("You have it already", "It could not be read. Open it to see why.");
    else if (body.duplicate) this.tell("known", "You have it already", 1);
    else this.tell("working", this.words.stages.queued);
  }

  // Takes over the document's state, in the shape of the REST API.
  documentChanged({ status, progress, latestError }) {
    if (this.kind === "known" || this.kind === "failed") return;
    if (status === "ready") this.tell("ready", "Ready", 1);
    else if (status === "failed") this.fail("Failed", this.explained(latestError));
    else if (status === "deleting") this.tell("known", "Deleted", 1);
    else {
      const { stage = "queued", done = 0, total = 0 } = progress ?? {};
      const counted = total > 1;
      this.tell("working", this.words.stages[stage] + (counted ? ` ${done} of ${total}` : ""), counted ? done / total : null);
    }
  }

  // Takes over the archive's state, in the shape of the REST API.
  archiveChanged({ state, counts, fileCount, error }) {
    if (this.finished) return;
    if (state === "failed") this.fail("Failed", this.explained(error));
    else if (state.startsWith("completed")) {
      const others = counts.examined - counts.extracted;
      this.tell("ready", `Unpacked: ${counts.extracted} added${others ? `, ${others} passed over` : ""}`, 1);
    } else if (fileCount) this.tell("working", `Unpacking ${counts.examined} of ${fileCount}`, counts.examined / fileCount);
    else this.tell("working", state === "queued" ? this.words.stages.queued : "Unpacking");
  }
}
