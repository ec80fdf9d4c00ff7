// Sends a newer version with its progress shown. Without this script the form sends itself.

export function showProgress(form, say) {
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", "Upload of the newer version");
  bar.max = 1;

  const send = () => {
    const request = new XMLHttpRequest(); // fetch does not tell how much was sent
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html");
    request.upload.onprogress = ({ loaded, total }) => (bar.value = loaded / total);
    request.onload = () => {
      removeEventListener("beforeunload", keepOpen);
      location.assign(request.responseURL); // the answer leads to the list, with what became of the file
    };
    request.onerror = () => {
      removeEventListener("beforeunload", keepOpen);
      bar.remove();
      form.querySelector("button").disabled = false;
      say("The connection broke, or the file changed while it was sent. Choose it again.");
    };
    request.send(new FormData(form));
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    form.querySelector("button").disabled = true;
    form.append(bar);
    addEventListener("beforeunload", keepOpen);
    send();
  });
}

function keepOpen(event) {
  event.preventDefault();
}
