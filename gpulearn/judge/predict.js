// The keys of gl.predict in JupyterLab and Notebook, which else takes arrows and Escape for its
// own. Arrows choose; Enter, Shift+Enter and a click keep the answer and go to the next cell;
// Escape leaves it. Elsewhere the page has no such cells, and nothing is listened to.
(() => {
  if (window.gpulearnPredicts) return;
  window.gpulearnPredicts = true;
  let byPointer = false;
  const cellOf = event =>
    event.target.closest?.(".gl-predict") && event.target.closest(".jp-Cell");
  const select = cell => {
    const prompt = cell?.querySelector(".jp-InputPrompt, .jp-MarkdownOutput");
    for (const type of ["mousedown", "mouseup"])
      prompt?.dispatchEvent(new MouseEvent(type, { bubbles: true, button: 0 }));
    cell?.scrollIntoView({ block: "nearest" });
  };
  const next = cell => {
    do cell = cell.nextElementSibling;
    while (cell && !cell.matches(".jp-CodeCell"));
    select(cell);
  };
  window.addEventListener("pointerdown", () => { byPointer = true; }, true);
  window.addEventListener("keydown", event => {
    byPointer = false;
    const cell = cellOf(event);
    if (!cell) return;
    if (event.key.startsWith("Arrow")) event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.stopPropagation();
    const number = event.target.type === "text" && event.key === "Enter";
    if (number && !/\d/.test(event.target.value)) return; // it is told so
    event.preventDefault();
    event.target.blur(); // notes what was typed
    event.key === "Enter" ? next(cell) : select(cell);
  }, true);
  window.addEventListener("change", event => {
    const cell = cellOf(event);
    if (cell && byPointer && event.target.type === "radio") next(cell);
  }, true);
})();
