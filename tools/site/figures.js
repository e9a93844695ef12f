/* Each figure opens at its full size, since its labels are too small to read on a phone. */
document.addEventListener("DOMContentLoaded", () => {
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  dialog.setAttribute("aria-label", "Enlarged figure");
  dialog.addEventListener("click", () => dialog.close());
  const close = document.createElement("button");
  close.textContent = "Close";
  document.body.append(dialog);
  for (const figure of document.querySelectorAll("article img")) {
    const button = document.createElement("button");
    button.className = "figure";
    button.title = "Enlarge";
    figure.replaceWith(button);
    button.append(figure);
    button.addEventListener("click", () => {
      const copy = figure.cloneNode();
      copy.removeAttribute("style");
      dialog.replaceChildren(close, copy);
      dialog.showModal();
    });
  }
});
