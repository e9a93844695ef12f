// What JupyterLab and Notebook lack. Elsewhere the page has no such cells, and nothing happens.
//
// The keys of gl.predict: Lab takes arrows and Escape for its own. Arrows choose; Enter, Shift+Enter
// and a click keep the answer and go to the next cell; Escape leaves it. What stands below that
// cell, up to the next heading, waits until the cell has run.
//
// Cells with kernels have line numbers, which findings name, and C++ in a string has colors. Where
// a widget stood before its kernel ended, the page says how to get it back.
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
    .gl-kernel:not(:has(.cm-lineNumbers, .cm-gap)) {
      .cm-content { counter-reset: line }
      .cm-line { counter-increment: line; padding-left: 3em; position: relative }
      .cm-line::before { content: counter(line); position: absolute; left: 0; width: 2em;
        text-align: right; opacity: 0.5 }
    }
    .gl-first:not(.gl-over)::after { opacity: 0.7; content: "Click a choice, or press Shift+Tab, the"
      " arrow keys or a number, and Enter. To skip it, run the next cell." }`;
  const colors = {
    plain: "var(--jp-content-font-color0)", comment: "var(--jp-mirror-editor-comment-color)",
    text: "var(--jp-mirror-editor-string-color)", number: "var(--jp-mirror-editor-number-color)",
    word: "var(--jp-mirror-editor-keyword-color)", own: "var(--jp-mirror-editor-builtin-color)",
  };
  for (const [kind, color] of Object.entries(colors))
    style.textContent += `::highlight(gl-${kind}) { color: ${color} }\n`;
  document.head.append(style);
  const asks = /^\s*gl\.predict\(/;
  const hasRun = cell => /\d/.test(cell.querySelector(".jp-InputPrompt")?.textContent);
  const tokens = new RegExp([
    "(?<comment>//.*)", String.raw`(?<text>"(?:\\.|[^"\\])*")`, String.raw`(?<number>\b\d[\w.]*)`,
    "(?<word>\\b(?:alignas|auto|bool|break|case|char|const|constexpr|continue|do|double|else|extern|" +
      "false|float[24]?|for|if|int|long|return|short|size_t|sizeof|static|struct|switch|template|" +
      "true|typename|unsigned|using|void|while)\\b)",
    String.raw`(?<own>#\w+|\b__\w+|\b(?:threadIdx|blockIdx|blockDim|gridDim|atomic\w+)\b)`,
  ].join("|"), "g");
  const colorCpp = () => {
    const ranges = Object.fromEntries(Object.keys(colors).map(kind => [kind, []]));
    for (const cell of document.querySelectorAll(".gl-kernel")) {
      let inside = false;
      for (const line of cell.querySelectorAll(".cm-line")) {
        const text = line.textContent, began = inside;
        inside ||= text.startsWith("%%cuda");
        if (text.includes('"""')) inside = !inside && text.includes('r"""');
        if (!began || !inside) continue;
        const nodes = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        let node, from = 0;
        const marks = [...text.matchAll(tokens)];
        while (node = nodes.nextNode()) {
          const mark = (kind, start, end) => {
            const range = new StaticRange({
              startContainer: node, startOffset: Math.max(start - from, 0),
              endContainer: node, endOffset: Math.min(end - from, node.length) });
            if (range.startOffset < range.endOffset) ranges[kind].push(range);
          };
          mark("plain", 0, text.length);
          for (const { index, 0: token, groups } of marks)
            mark(Object.keys(groups).find(kind => groups[kind]), index, index + token.length);
          from += node.length;
        }
      }
    }
    for (const kind in ranges) {
      const highlight = new Highlight(...ranges[kind]);
      highlight.priority = kind === "plain" ? 0 : 1;
      CSS.highlights.set(`gl-${kind}`, highlight);
    }
  };
  const update = () => {
    due = false;
    for (const lost of document.querySelectorAll(".jp-OutputArea-output.jupyter-widgets"))
      if (lost.textContent === "Error displaying widget: model not found")
        lost.textContent = "This was shown by a kernel that has ended: run the cell again.";
    for (const notebook of document.querySelectorAll(".jp-Notebook")) {
      notebook.querySelector(".gl-predict")?.classList.add("gl-first");
      let open = false, waits = false;
      for (const cell of notebook.querySelectorAll(".jp-Cell")) {
        if (cell.querySelector(".jp-MarkdownOutput :is(h1, h2, h3, h4)")) open = waits = false;
        cell.classList.toggle("gl-waits", waits);
        if (!cell.matches(".jp-CodeCell")) continue;
        const source = cell.querySelector(".cm-content")?.textContent;
        cell.classList.toggle("gl-kernel", /@cuda\.jit|__global__/.test(source));
        if (asks.test(source))
          open = !cell.querySelector(".gl-over");
        else if (open && !hasRun(cell)) waits = true;
      }
    }
    if (window.Highlight) colorCpp();
  };
  let due = false;
  const soon = () => {
    if (!due) requestAnimationFrame(update);
    due = true;
  };
  new MutationObserver(soon).observe(document.body, {
    characterData: true, childList: true, subtree: true,
  });
  soon();
})();
