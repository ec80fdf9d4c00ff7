// Keeps the page's #live part true: the service tells of changes, the page fetches itself again and takes over what differs.

import { localizeTimes } from "./times.js";

const EVENTS = "/api/v1/events";
const REFRESH_MS = 400; // changes that come close together are shown together
const POLL_MS = 3000; // while something is in work and no events arrive

const region = () => document.getElementById("live");
const working = () => Number(region().dataset.active) > 0;
const sources = new WeakMap(); // row → its HTML as the server sent it

function remember(rows) {
  for (const row of rows) sources.set(row, row.outerHTML);
}

// What somebody has unfolded stays so.
function keepOpen(former, next) {
  if (former?.querySelector("details[open]")) next?.querySelector("details")?.setAttribute("open", "");
}

// What somebody has ticked, too.
function keepTick(former, next) {
  const box = next.querySelector("input[type=checkbox]");
  if (box && former?.querySelector("input[type=checkbox]")?.checked) box.checked = true;
}

// Rows that stayed the same keep their element, and with it focus and selection.
function adoptRows(old, fresh) {
  const known = new Map([...old.children].map((row) => [row.id, row]));
  const focused = document.activeElement.closest("tr")?.id;
  const control = document.activeElement.matches("[data-delete]") ? "[data-delete]" : "[data-title]";
  remember(fresh.children);
  const rows = [...fresh.children].map((row) => {
    const former = known.get(row.id);
    if (former && sources.get(former) === sources.get(row)) return former;
    row.classList.toggle("fresh", !former);
    keepOpen(former, row);
    keepTick(former, row);
    return row;
  });
  old.replaceChildren(...rows);
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.querySelector(control)?.focus();
}

function adoptPart(selector, old, fresh) {
  const [former, next] = [old.querySelector(selector), fresh.querySelector(selector)];
  if (former?.contains(document.activeElement)) return; // it follows with the next change
  keepOpen(former, next);
  if (former && next) former.replaceWith(next);
  else if (former) former.remove();
  else if (next) old.append(next);
}

function adopt(page) {
  const [old, fresh] = [region(), page.getElementById("live")];
  if (!fresh) return;
  const { version } = fresh.dataset;
  if (version && version === old.dataset.version) return;
  localizeTimes(fresh);
  const [oldRows, freshRows] = [old.querySelector("tbody"), fresh.querySelector("tbody")];
  if (oldRows && freshRows) {
    adoptRows(oldRows, freshRows);
    for (const part of [".doc-line", ".incoming", ".samples", ".tally", ".segments", ".scan", ".chart-area", ".pager"]) adoptPart(part, old, fresh);
  } else if (!old.contains(document.activeElement) || !document.activeElement.matches("input, select")) {
    old.replaceChildren(...fresh.childNodes);
    remember(old.querySelectorAll("tbody > tr"));
  }
  Object.assign(old.dataset, fresh.dataset);
  const adding = page.getElementById("adding");
  if (adding) document.getElementById("adding").className = adding.className;
  dispatchEvent(new Event("adopted"));
}

async function fetchPage() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (response.redirected) location.reload(); // the session has ended: show the page to sign in
  else if (response.ok) adopt(new DOMParser().parseFromString(await response.text(), "text/html"));
  else if (response.status === 404) location.reload(); // the document is gone: show the page that says so
}

let timer = null;
let running = false;
let again = false;

// Shows changes soon, one fetch at a time.
export function refresh() {
  if (running) {
    again = true;
    return;
  }
  timer ??= setTimeout(async () => {
    timer = null;
    running = true;
    await fetchPage().catch(() => {}); // the service is away for a moment: the next event or poll tries again
    running = false;
    if (again) {
      again = false;
      refresh();
    }
  }, REFRESH_MS);
}

// Follows the service's events while the page is in view.
//   changed(item, kind): a thing of one of the kinds changed; true when this page shows it.
//   missed(): events may have been missed.
//   pending(): whether something beside what the page shows is waited for.
//   kinds: of events; see the REST reference.
export function follow({ changed, missed = () => {}, pending = () => false, kinds = ["document"] }) {
  let source = null;
  let lastHeard = Date.now();

  const open = () => {
    source?.close();
    source = new EventSource(EVENTS);
    for (const kind of kinds) {
      source.addEventListener(kind, (event) => {
        lastHeard = Date.now();
        if (changed(JSON.parse(event.data), kind)) refresh();
      });
    }
  };
  const catchUp = () => {
    missed();
    refresh();
  };

  remember(document.querySelectorAll("#live tbody > tr"));
  open();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source.close(); // a browser has few connections to one service
    } else {
      open();
      catchUp();
    }
  });
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    open();
    catchUp();
  });
  setInterval(() => {
    if (document.hidden) return;
    if (source.readyState === EventSource.CLOSED) open();
    if ((working() || pending()) && Date.now() - lastHeard > POLL_MS) catchUp();
  }, POLL_MS);
}
