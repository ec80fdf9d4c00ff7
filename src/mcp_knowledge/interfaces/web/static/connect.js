// Copying, the address as the browser has it, the choice of a client in the address, and a test without a new page.

import "./copy.js";

const root = document.querySelector(".connect");
const form = document.getElementById("try");

// Behind a proxy the server may not know under which scheme or name it is seen: the browser does.
const { origin } = root.dataset;
if (origin !== location.origin) {
  for (const code of root.querySelectorAll("code")) {
    if (code.textContent.includes(origin)) code.textContent = code.textContent.replaceAll(origin, location.origin);
  }
}

function choose(client) {
  if (!client.open || client.id === form.elements.client.value) return;
  form.elements.client.value = client.id;
  if (location.pathname === "/connect") history.replaceState(null, "", `/connect?client=${client.id}`);
}

for (const client of document.querySelectorAll(".clients details")) {
  client.addEventListener("toggle", () => choose(client));
  choose(client); // somebody may have been faster than this script
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  const result = document.getElementById("result");
  button.disabled = true;
  result.textContent = "Connecting …";
  try {
    const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("result");
    if (fresh) result.replaceChildren(...fresh.childNodes);
    else location.assign("/connect"); // the session has ended: the page to sign in comes
  } catch {
    result.textContent = "The server did not answer. Is it still running?";
  }
  button.disabled = false;
});
