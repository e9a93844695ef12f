// The keys of gl.predict in JupyterLab and Notebook, which else takes arrows and Escape for its
// own. Arrows choose; Enter, Shift+Enter and a click keep the answer and go to the next cell;
// Escape leaves it. The prose below that cell waits until the cell has run. Elsewhere the page has
// no such cells, and nothing happens.
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
    const number = event.target.type === "text" && event.key === "Enter";
    if (number && !/\d/.test(event.target.value)) return; // it is told so
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
    .gl-waits > * { display: none !important }
    .gl-waits::after { content: "Run the cell above to read on."; opacity: 0.7; padding: 0 6em }`;
  document.head.append(style);
  const hideAnswer = question => {
    const shows = following(question, ".jp-CodeCell");
    const waits = !shows?.querySelector(".jp-OutputArea-output");
    for (let prose = shows?.nextElementSibling; prose?.matches(".jp-MarkdownCell");
         prose = prose.nextElementSibling) {
      if (prose.querySelector("h1, h2, h3, h4")) break; // what comes next
      prose.classList.toggle("gl-waits", waits);
    }
  };
  new MutationObserver(records => {
    for (const { target } of records) {
      const cell = target.closest?.(".jp-OutputArea") && target.closest(".jp-CodeCell");
      if (!cell) continue;
      let above = cell.previousElementSibling;
      while (above && !above.matches(".jp-CodeCell")) above = above.previousElementSibling;
      for (const question of [cell, above])
        if (question?.querySelector(".gl-predict")) hideAnswer(question);
    }
  }).observe(document.body, { childList: true, subtree: true });
})();
