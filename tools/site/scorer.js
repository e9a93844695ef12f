/* How the search orders what it finds. What bears the name that a reader asks for comes first:
   an entry of the reference, a heading, a page; then the word's place in the glossary (100, given
   by Sphinx), the notebooks, and the other pages that hold the words somewhere. */
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    const asked = new URLSearchParams(location.search).get("q").trim().toLowerCase();
    const heading = title.split(" > ").pop().toLowerCase();
    if (kind === "title" && heading === asked) return 200;
    if (kind === "title" && heading.endsWith("." + asked)) return 90;
    if (page.startsWith("notebooks/")) return score + 5;
    if (kind === "text" && page.startsWith("reference/")) return 1;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
