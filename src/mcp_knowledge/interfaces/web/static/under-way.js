// A change of many documents: how far it has come, and on to the list when it has ended.

const POLL_MS = 500;

async function look() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (response?.redirected) return location.replace(response.url);
  if (response?.ok) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const [former, next] = [document, page].map((one) => one.getElementById("under-way"));
    if (next) {
      former.querySelector("progress").value = next.querySelector("progress").value;
      former.querySelector("[role=status]").textContent = next.querySelector("[role=status]").textContent;
    }
  }
  setTimeout(look, POLL_MS);
}

setTimeout(look, POLL_MS);
