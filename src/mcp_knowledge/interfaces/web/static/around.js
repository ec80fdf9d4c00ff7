// What stands around a hit, shown in its place. Without this script the links lead to a page that shows the same.

const LINKS = "a[data-around]";

function close(hit) {
  hit.querySelector(".hit-around")?.remove();
  hit.querySelector(".hit-text").hidden = false;
  for (const link of hit.querySelectorAll(LINKS)) link.setAttribute("aria-expanded", "false");
}

async function part(address) {
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) throw new Error(response.statusText);
  return new DOMParser().parseFromString(await response.text(), "text/html").getElementById("around");
}

async function open(link) {
  const hit = link.closest(".hit");
  link.setAttribute("aria-busy", "true");
  try {
    const around = await part(link.href);
    close(hit);
    around.removeAttribute("id");
    around.className = "hit-around";
    around.setAttribute("role", "status");
    const text = hit.querySelector(".hit-text");
    text.hidden = true;
    text.after(document.adoptNode(around));
    link.setAttribute("aria-expanded", "true");
  } catch {
    location.assign(link.href); // that page says what is wrong
  } finally {
    link.removeAttribute("aria-busy");
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest(LINKS);
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (link.getAttribute("aria-expanded") === "true") close(link.closest(".hit"));
  else if (!link.hasAttribute("aria-busy")) open(link);
});
