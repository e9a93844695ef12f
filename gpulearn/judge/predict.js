// The keys of gl.predict in JupyterLab and Notebook, which else takes arrows and Escape for its
// own. Arrows choose; Enter, Shift+Enter and a click keep the answer and go to the next cell;
// Escape leaves it. What stands below that cell, up to the next heading, waits until the cell has
// run. Elsewhere the page has no such cells, and nothing happens.
(() => {
  if (window.gpulearnPredicts) return;
  window.gpulearnPredicts = true;
  let byPointer = false;
  const cellOf = event =>
    event.target.closest?.(".gl-predict") && event.target.closest(".jp-Cell");
  const following = (cell, kind) => {
    do cell = cell.nextElementSibling;
    while (cell && !cell.matches(kind));
    return cell;
  };
  const select = cell => {
    const prompt = cell?.querySelector(".jp-InputPrompt, .jp-MarkdownOutput");
    for (const type of ["mousedown", "mouseup"])
      prompt?.dispatchEvent(new MouseEvent(type, { bubbles: true, button: 0 }));
    cell?.scrollIntoView({ block: "nearest" });
  };
  window.addEventListener("pointerdown", () => { byPointer = true; }, true);
  window.addEventListener("keydown", event => {
    byPointer = false;
    const cell = cellOf(event);
    if (!cell) return;
    if (event.key.startsWith("Arrow")) event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.stopPropagation();
    const typed = event.target.type === "text" && event.key === "Enter" && event.target.value;
    if (typed && !/\d/.test(typed)) return; // it is told so
    event.preventDefault();
    event.target.blur(); // notes what was typed
    event.key === "Enter" ? select(following(cell, ".jp-CodeCell")) : select(cell);
  }, true);
  window.addEventListener("change", event => {
    const cell = cellOf(event);
    if (cell && byPointer && event.target.type === "radio")
      select(following(cell, ".jp-CodeCell"));
  }, true);
  const style = document.createElement("style");
  style.textContent = `
    .jp-OutputArea-child:has(> [data-mime-type="application/javascript"]) { display: none }
    .gl-waits > *, .gl-waits + .gl-waits { display: none !important }
    .gl-waits::after { content: "Run the cell above to read on."; opacity: 0.7; padding: 0 6em }
    .gl-first:not(.gl-over)::after { opacity: 0.7; content: "Answer with a click, or press Shift+Tab,"
      " choose with the arrow keys or type a number, and press Enter. To skip a question, run the"
      " next cell." }`;
  document.head.append(style);
  const asks = /^\s*gl\.predict\(/;
  const hasRun = cell => /\d/.test(cell.querySelector(".jp-InputPrompt")?.textContent);
  const hideAnswers = () => {
    due = false;
    for (const notebook of document.querySelectorAll(".jp-Notebook")) {
      notebook.querySelector(".gl-predict")?.classList.add("gl-first");
      let open = false, waits = false;
      for (const cell of notebook.querySelectorAll(".jp-Cell")) {
        if (cell.querySelector(".jp-MarkdownOutput :is(h1, h2, h3, h4)")) open = waits = false;
        cell.classList.toggle("gl-waits", waits);
        if (!cell.matches(".jp-CodeCell")) continue;
        if (asks.test(cell.querySelector(".cm-content")?.textContent))
          open = !cell.querySelector(".gl-over");
        else if (open && !hasRun(cell)) waits = true;
      }
    }
  };
  let due = false;
  const soon = () => {
    if (!due) requestAnimationFrame(hideAnswers);
    due = true;
  };
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
  soon();
})();
