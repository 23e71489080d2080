/** Cells of averages as in `writing.py`, for pages on which the rule for missing scores can change. */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { element, format } = BrainScore;
  const RULES = { zero: "count as 0", "left-out": "are left out" };
  /** Return the cells of an unranked mean and the reason. */
  const unranked = (column, at) => {
    const [value, why] = BrainScore.shown(column, at);
    return why && [element("td", { class: "part" }, format.score(value)), element("td", { class: "reason", colspan: 5 }, `${why} benchmarks, not ranked`)];
  };
  const quiet = (text) => element("span", { class: "quiet-text" }, text);
  const cell = (...parts) => element("td", {}, ...parts);

  /** Return the rank of a model and its interval. */
  const rank = (column, at) => [
    column.rank[at] ?? "",
    column.rank_low[at] !== null && [" ", quiet(`(${column.rank_low[at]}\u2013${column.rank_high[at]})`)],
  ];
  const score = (column, at) => cell(column.value[at] > 1 && [element("span", { class: "badge" }, "above ceiling"), " "], format.score(column.value[at]));
  const interval = (column, at) => {
    const text = format.interval(column.low[at], column.high[at], 3, column.bounded[at] === "1");
    return element("td", { class: text ? null : "reason" }, text || "none");
  };
  const reason = (column, at, width) => element("td", { class: "reason", colspan: width }, BrainScore.REASONS[column.code[at]]);
  const of = (column, at) => `${column.n[at] - column.missing[at]} of ${column.n[at]} benchmarks`;

  BrainScore.rows = {
    rank,
    /** Return the cells of an average on the page of a model, without its name. */
    ofModel(column, at) {
      if (column.value[at] === null) return unranked(column, at) ?? [reason(column, at, 6)];
      const note = column.missing[at] > 0 && [" ", quiet(`(missing ones ${RULES[BrainScore.missing()]})`)];
      return [score(column, at), interval(column, at), cell(rank(column, at)), cell(), cell(), cell(of(column, at), note)];
    },
    /** Return the row of a model on the page of an average. */
    ofAverage(column, at) {
      const { slug, name } = BrainScore.taken("board").models;
      const head = element("th", { scope: "row" }, element("a", { href: `../models/${slug[at]}.html` }, name[at]));
      const unrankedCells = unranked(column, at);
      if (unrankedCells) return element("tr", {}, cell(), head, unrankedCells);
      if (column.value[at] === null) return element("tr", {}, head, reason(column, at));
      return element("tr", {}, cell(rank(column, at)), head, score(column, at), interval(column, at), cell(column.group[at]), cell(of(column, at)));
    },
  };
})();
