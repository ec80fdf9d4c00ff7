// Choosing another way to search asks again at once; without this script the button does it.

const form = document.getElementById("ask");

form.addEventListener("change", (event) => {
  if (event.target.type === "search" || !form.elements.q.value.trim()) return;
  form.requestSubmit();
});

// Clear addresses: an empty search has none of the form's values.
form.addEventListener("submit", (event) => {
  if (form.elements.q.value.trim()) return;
  event.preventDefault();
  form.elements.q.focus();
});
