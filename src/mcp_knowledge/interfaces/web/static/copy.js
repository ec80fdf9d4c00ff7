// Buttons that copy the text beside them: `.code` with a <pre> and a hidden button.copy.

async function copy(pre) {
  if (navigator.clipboard) return navigator.clipboard.writeText(pre.textContent);
  getSelection().selectAllChildren(pre); // plain http has no clipboard: the text is at least marked, and copied the old way
  if (!document.execCommand("copy")) throw new Error("not copied");
}

for (const button of document.querySelectorAll(".code > button.copy")) {
  const label = button.textContent;
  let back;
  button.hidden = false;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    button.textContent = await copy(button.parentElement.querySelector("pre")).then(() => "Copied", () => "Press Ctrl+C");
    clearTimeout(back);
    back = setTimeout(() => (button.textContent = label), 2500);
  });
}
