/* How the search orders what it finds. What bears the name that a reader asks for comes first:
   an entry of the reference, a heading, a page (a type after the functions); then the word's place
   in the glossary (100, given by Sphinx), the notebooks, and the other pages that hold the words. */
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    const asked = new URLSearchParams(location.search).get("q").trim().toLowerCase();
    const heading = title.split(" > ").pop().toLowerCase();
    if (kind === "title" && heading === asked) return page === "reference/types" ? 80 : 200;
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

/* What stands below each result: the place that holds what was asked for, prose before code and
   outputs. Sphinx takes the text of the whole page, where the cells of tables run together. */
document.addEventListener("DOMContentLoaded", () => {
  const most = 320;
  const tidy = (place) => place.textContent.replace(/\s+/g, " ").trim();
  Search.makeSearchSummary = (source, words, anchor) => {
    const page = new DOMParser().parseFromString(source, "text/html");
    page.querySelectorAll(".headerlink, script, style, math").forEach((one) => one.remove());
    const main = page.querySelector('[role="main"]');
    if (!main) return null;
    const place = (anchor && page.getElementById(anchor.slice(1))) || main;
    const asked = new URLSearchParams(location.search).get("q").trim().toLowerCase();
    const terms = [...words].map((one) => one.toLowerCase());
    const parts = place.matches("dt") ? [place.nextElementSibling]
      : [...place.querySelectorAll("p, li, dd, h1, h2, h3, dt, td, th, pre, summary")]
        .filter((one) => !one.querySelector("p, li, dd, dt, td, pre"));
    const prose = (one) => one.matches("p, li, dd") && !one.closest(".cell_output, details");
    const first = (one) => prose(one) && tidy(one).length > 30 && !tidy(one).startsWith("Types:");
    const rank = (one) => {
      const text = tidy(one).toLowerCase();
      const held = text.includes(asked) ? 4
        : terms.every((term) => text.includes(term)) ? 3
        : terms.some((term) => text.includes(term)) ? 1 : 0;
      return 2 * held + (prose(one) ? 5 : 0) - (one.matches("h1, h2, h3, dt, th") ? 4 : 0);
    };
    const best = (place !== main && parts.find(first)) // a place of that name: how it begins
      || parts.reduce((one, two) => (rank(two) > rank(one) ? two : one), parts[0] || place);
    const text = tidy(best);
    const at = [asked, ...terms].map((one) => text.toLowerCase().indexOf(one)).find((n) => n >= 0);
    let start = at > most - 60 ? text.indexOf(" ", at - 120) + 1 : 0;
    let end = start + most < text.length ? text.lastIndexOf(" ", start + most) : text.length;
    if (end <= start) [start, end] = [0, most];
    const summary = document.createElement("p");
    summary.classList.add("context");
    const name = place.matches("dt") ? `${tidy(place)}: ` : "";
    summary.textContent =
      name + (start ? "… " : "") + text.slice(start, end) + (end < text.length ? " …" : "");
    return summary;
  };
});
