// One message at a time at the foot of the page, with something that can be done about it. It goes by itself.

export function makeToast(element, say) {
  const text = element.querySelector("[data-text]");
  const button = element.querySelector("[data-act]");
  let act = null;
  let left = () => {};
  let timer = null;

  const hide = () => {
    clearTimeout(timer);
    if (element.contains(document.activeElement)) document.getElementById("main").focus();
    element.hidden = true;
    act = null;
    left();
    left = () => {};
  };

  button.addEventListener("click", () => {
    const chosen = act;
    hide();
    chosen?.();
  });
  element.querySelector("[data-close]").addEventListener("click", hide);

  // `label` and `does`: of the button; without them there is none. `gone`: called when the message has left.
  return function show(message, { label = "", does = null, lasts = 6000, gone = () => {} } = {}) {
    clearTimeout(timer);
    text.textContent = message;
    button.textContent = label;
    button.hidden = !does;
    act = does;
    left = gone;
    element.hidden = false;
    say(label ? `${message} ${label} is possible at the end of the page.` : message);
    timer = setTimeout(hide, lasts);
  };
}
