// Ranks search results: pages with the words in their title come before names in the code.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, title, anchor, , score]) => {
    const words = new URLSearchParams(window.location.search).get("q").trim().toLowerCase();
    const isAbout = !anchor && !page.startsWith("reference/api/") && title.toLowerCase().startsWith(words);
    return isAbout ? score + 100 : score;
  },
};
