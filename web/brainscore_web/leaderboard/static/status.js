"use strict";
// Every pair of a model and a benchmark as one cell, coloured by its status.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { charts, figures, element, format, state } = BrainScore;
  const SAID = { s: "scored", h: "scored, private", r: "running", q: "not run yet", v: "scored on another version", n: "not applicable", f: "failed" };
  const MOST = 200;

  document.addEventListener("DOMContentLoaded", () => {
    const { nodes, models } = BrainScore.taken("board");
    const { codes } = BrainScore.taken("status");
    const byId = (id) => document.getElementById(id);
    const leaves = nodes.id.map((_, node) => node).filter((node) => nodes.leaf[node]);
    const bySlug = new Map(nodes.slug.map((slug, node) => [slug, node]));
    const took = byId("took");
    if (took) {
      const seconds = (Date.parse(took.dataset.finished) - Date.parse(took.dataset.started)) / 1000;
      if (seconds >= 0) took.textContent = `, after ${format.duration(seconds)}`;
    }
    const computing = byId("computing");
    if (computing) computing.textContent = format.duration(Number(computing.dataset.seconds));

    const isBelow = (node, above) => {
      for (let at = node; at >= 0; at = nodes.parent[at]) if (at === above) return true;
      return false;
    };
    const parents = nodes.id
      .map((_, node) => node)
      .filter((node) => !nodes.leaf[node] && leaves.some((leaf) => isBelow(leaf, node)));
    byId("of").append(
      element("option", { value: "" }, "all"),
      ...parents.map((node) =>
        element("option", { value: nodes.slug[node] }, `${"\u2003".repeat(nodes.depth[node])}${nodes.name[node]}`),
      ),
    );

    function show() {
      const only = SAID[state.get("only")] ? state.get("only") : "";
      const above = bySlug.get(state.get("of"));
      byId("only").value = only;
      byId("of").value = above === undefined ? "" : nodes.slug[above];
      const rows = leaves
        .map((node, at) => ({ node, codes: codes[at] }))
        .filter(({ node, codes: of }) => (above === undefined || isBelow(node, above)) && (!only || of.includes(only)));
      const columns = models.id
        .map((_, at) => at)
        .filter((at) => !only || rows.some(({ codes: of }) => of[at] === only));
      const letters = Object.keys(SAID);
      const values = rows.map(({ codes: of }) =>
        columns.map((at) => (only && of[at] !== only ? null : letters.indexOf(of[at]))),
      );
      const count = values.reduce((sum, row) => sum + row.filter((value) => value !== null).length, 0);
      byId("shown").textContent =
        `${format.count(count)} pairs of ${format.count(rows.length)} benchmarks and ${format.count(columns.length)} models`;
      const names = rows.map(({ node }) => nodes.name[node]);
      const said = (i, j) =>
        `${models.name[columns[j]]} on ${names[i]}: ${SAID[rows[i].codes[columns[j]]] ?? "unknown"}`;
      byId("chart-pairs").replaceChildren(
        count
          ? figures.figure("status", only ? `Pairs: ${SAID[only]}` : "Status of every pair", (width) => {
              const of = charts.coloursOf(letters.map((code) => `code-${code}`));
              return charts.heat(
                names,
                columns.map((at) => models.name[at]),
                values,
                {
                  width,
                  text: said,
                  showNames: rows.length <= 60 && columns.length <= 60,
                  colour: (value) => of[value],
                  cellHeight: rows.length > 100 ? 3 : 14,
                  title: "Every pair of a benchmark (rows) and a model (columns)",
                  description: byId("shown").textContent,
                  href: (i, j) => `models/${models.slug[columns[j]]}.html`,
                },
              );
            })
          : element("p", { class: "note" }, "No pair has this status."),
      );
      listed(only, rows);
    }

    /** List the pairs with a status, with the reasons in their records where useful. */
    async function listed(only, rows) {
      byId("listed").replaceChildren();
      if (!only || only === "s") return;
      const pairs = rows.flatMap(({ node, codes: of }) =>
        [...of].flatMap((code, at) => (code === only ? [{ node, at }] : [])),
      );
      const shown = pairs.slice(0, MOST);
      const isTold = only === "f" || only === "n";
      const wanted = isTold ? [...new Set(shown.map(({ node }) => node))] : [];
      const details = new Map(
        await Promise.all(
          wanted.map(async (node) => [node, await BrainScore.load(`detail/${nodes.slug[node]}`).catch(() => null)]),
        ),
      );
      if (state.get("only") !== only) return;
      const why = ({ node, at }) => {
        const of = details.get(node);
        return (
          [of?.status?.[at]?.replace(":", ": "), of?.message?.[at]].filter((text) => text && text !== "scored").join(": ") ||
          "no reason is recorded"
        );
      };
      byId("listed").replaceChildren(
        element("p", {}, pairs.length > MOST ? `The first ${MOST} of ${format.count(pairs.length)}:` : ""),
        element(
          "div",
          { class: "table-room tall", tabindex: "0", role: "region", "aria-label": `Pairs: ${SAID[only]}` },
          element(
            "table",
            { class: "facts-table" },
            element(
              "thead",
              {},
              element(
                "tr",
                {},
                ["Benchmark", "Model", ...(isTold ? ["Why"] : [])].map((name) => element("th", { scope: "col" }, name)),
              ),
            ),
            element(
              "tbody",
              {},
              shown.map(({ node, at }) =>
                element(
                  "tr",
                  {},
                  element(
                    "th",
                    { scope: "row" },
                    element("a", { href: `benchmarks/${nodes.slug[node]}.html` }, nodes.name[node]),
                  ),
                  element("td", {}, element("a", { href: `models/${models.slug[at]}.html` }, models.name[at])),
                  isTold ? element("td", { class: "reason" }, why({ node, at })) : null,
                ),
              ),
            ),
          ),
        ),
      );
    }

    for (const id of ["only", "of"]) {
      byId(id).addEventListener("change", () => {
        state.set({ [id]: byId(id).value || null });
        show();
      });
    }
    state.onChange(show);
    byId("pairs").hidden = false;
    show();
    document.documentElement.dataset.ready = "";
  });
})();
