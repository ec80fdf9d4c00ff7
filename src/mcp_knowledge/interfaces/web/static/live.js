// Keeps the page's #live part true: the service tells of changes, the page fetches itself again and takes over what differs.

import { localizeTimes } from "./times.js";

const EVENTS = "/api/v1/events";
const REFRESH_MS = 400; // changes that come close together are shown together
const POLL_MS = 3000; // while something is in work and no events arrive

const region = () => document.getElementById("live");
const working = () => Number(region()?.dataset.active ?? 0) > 0;

// Rows that stayed the same keep their element, so that focus, selection and open details survive.
function adopt(old, fresh) {
  const known = new Map([...old.children].filter((row) => row.id).map((row) => [row.id, row]));
  const rows = [...fresh.children].map((row) => {
    const same = known.get(row.id);
    if (same && same.dataset.html === row.outerHTML) return same;
    row.dataset.html = row.outerHTML;
    if (!same && known.size) row.classList.add("fresh");
    return row;
  });
  const focused = document.activeElement?.closest("tr")?.id;
  const control = document.activeElement?.dataset?.delete ? "[data-delete]" : "[data-title]";
  old.replaceChildren(...rows);
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.querySelector(control)?.focus();
}

function remember() {
  for (const row of document.querySelectorAll("#live tbody > tr")) row.dataset.html = row.outerHTML;
}

let shown = null;

async function fetchPage() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok) {
    if (response.status === 404) location.reload();
    return;
  }
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live");
  const old = region();
  if (!fresh || !old || fresh.innerHTML === shown) return;
  shown = fresh.innerHTML;
  localizeTimes(fresh);
  const [oldRows, freshRows] = [old.querySelector("tbody"), fresh.querySelector("tbody")];
  // Someone who is typing in the filter keeps the field; the numbers beside it follow with the next change.
  const keep = old.contains(document.activeElement) && document.activeElement.matches("input, select");
  if (oldRows && freshRows) {
    adopt(oldRows, freshRows);
    const [oldTabs, freshTabs] = [old.querySelector(".segments"), fresh.querySelector(".segments")];
    if (oldTabs && freshTabs && !oldTabs.contains(document.activeElement)) oldTabs.replaceWith(freshTabs);
  } else if (!keep) {
    old.replaceChildren(...fresh.childNodes);
    remember();
  }
  old.dataset.active = fresh.dataset.active;
  document.getElementById("upload")?.classList.remove("first");
}

let waiting = null;
let running = false;
let again = false;

// Shows changes soon, one fetch at a time.
export function refresh() {
  if (running) {
    again = true;
    return;
  }
  waiting ??= setTimeout(async () => {
    waiting = null;
    running = true;
    try {
      await fetchPage();
    } catch {
      // The service is away for a moment; the next event or poll tries again.
    }
    running = false;
    if (again) {
      again = false;
      refresh();
    }
  }, REFRESH_MS);
}

// Follows the service's events while the page is in view. `onDocument` hears of every changed document.
export function follow(onDocument = () => {}, concerns = () => true) {
  let source = null;
  let lastHeard = Date.now();

  const open = () => {
    source?.close();
    source = new EventSource(EVENTS);
    source.addEventListener("document", (event) => {
      lastHeard = Date.now();
      const item = JSON.parse(event.data);
      onDocument(item);
      if (concerns(item)) refresh();
    });
  };

  remember();
  open();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source.close();
    } else {
      open();
      refresh();
    }
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      open();
      refresh();
    }
  });
  addEventListener("pagehide", () => source.close());
  setInterval(() => {
    if (document.hidden) return;
    if (source.readyState === EventSource.CLOSED) open();
    if (working() && Date.now() - lastHeard > POLL_MS) refresh();
  }, POLL_MS);
}
