// The form for a web address: while the file is fetched, the button says so and cannot be pressed twice.

for (const form of document.querySelectorAll("form.from-url")) {
  const button = form.querySelector("button");
  const label = button.textContent;
  form.addEventListener("submit", () => {
    button.disabled = true;
    button.textContent = "Fetching…";
  });
  window.addEventListener("pageshow", () => {
    button.disabled = false;
    button.textContent = label;
  });
}
