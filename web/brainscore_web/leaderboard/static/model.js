"use strict";
// The charts of the page of one model: beside all models, layers by region, and history.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { charts, figures, element, format } = BrainScore;
  const room = (name) => document.getElementById(`chart-${name}`);

  async function distribution(board, place) {
    const { nodes, models, columns } = board;
    const hrefs = models.slug.map((slug) => `${slug}.html`);
    const row = (node, column, strong) => ({
      label: nodes.name[node],
      values: column.value,
      names: models.name,
      hrefs,
      strong,
      marked: [
        { value: column.value[place], low: column.low[place], high: column.high[place], name: models.name[place] },
      ],
    });
    // Averages; where there is none, benchmarks.
    const scored = board.top.filter((node) => columns[node].value.some((value) => value !== null));
    const averaged = scored.filter((node) => !nodes.leaf[node]);
    const rows = (averaged.length ? averaged : scored)
      .map((node) => row(node, columns[node], nodes.depth[node] === 0));
    const more = element(
      "select",
      { id: "more" },
      element("option", { value: "" }, "choose a benchmark"),
      nodes.id
        .map((_, node) => node)
        .filter((node) => nodes.leaf[node])
        .map((node) => element("option", { value: node }, nodes.name[node])),
    );
    const chart = figures.figure(
      `${models.slug[place]}-scores`,
      `Scores of ${models.name[place]} among all models`,
      (width) =>
        charts.strip(rows, {
          width,
          title: `Scores of ${models.name[place]} among all models`,
          label: "Score",
          description: rows.map(({ label, marked: [m] }) => `${label}: ${format.score(m.value) || "none"}`).join("; "),
        }),
    );
    const told = element("span", { role: "status" });
    more.addEventListener("change", async () => {
      if (more.value === "") return;
      const node = Number(more.value);
      try {
        const column = columns[node] ?? (await BrainScore.load(`columns/${nodes.slug[node]}`));
        if (!rows.some(({ label }) => label === nodes.name[node])) rows.push(row(node, column, false));
        told.textContent = column.value[place] === null ? "This model has no score on it." : "";
        chart.redraw();
      } catch (error) {
        told.textContent = error.message;
      }
    });
    room("distribution").append(
      chart,
      element(
        "p",
        { class: "bar" },
        element("span", { class: "field" }, element("label", { for: "more" }, "Add a benchmark"), more),
        told,
      ),
    );
  }

  function atlas(data, name) {
    if (!data.atlas) return;
    const { regions, layers, score } = data.atlas;
    room("atlas").append(
      figures.figure(`${name}-atlas`, "Score of each layer for each region", (width) =>
        charts.heat(regions, layers, score, {
          width,
          title: "Score of each layer for each region",
          label: "Score",
          description: regions.map((region, i) => `${region}: best ${layers[best(score[i])] ?? "none"}`).join("; "),
        }),
      ),
    );
  }

  const best = (row) =>
    row.reduce((found, value, at) => (value !== null && (found < 0 || value > row[found]) ? at : found), -1);

  function history(data, { nodes }, name) {
    const by = Map.groupBy(data.history, (entry) => entry.benchmark);
    const chosen = [...by]
      .filter(([, all]) => all.filter((each) => each.score !== null).length > 1)
      .sort(([, a], [, b]) => b.length - a.length)
      .slice(0, 5);
    if (!chosen.length) return;
    const series = chosen.map(([node, all], at) => ({
      name: nodes.name[node],
      hue: at + 1,
      of: new Map(all.map((each) => [format.date(each.created), each])),
    }));
    const dates = [...new Set(series.flatMap(({ of }) => [...of.keys()]))].sort();
    const lines = series.map(({ name: of, hue, of: at }) => ({
      name: of,
      hue,
      values: dates.map((date) => ({ value: at.get(date)?.score ?? null })),
    }));
    room("history").append(
      figures.figure(`${name}-history`, "Scores over time", (width) =>
        charts.slope(dates, lines, {
          width,
          height: 260,
          connect: true,
          title: "Scores over time, by the day of scoring",
          label: "Score",
        }),
      ),
      figures.legend(lines),
    );
  }

  document.addEventListener("DOMContentLoaded", async () => {
    const { model, slug } = document.querySelector("article").dataset;
    const board = BrainScore.taken("board");
    await distribution(board, Number(model));
    const data = await BrainScore.load(`models/${slug}`);
    atlas(data, slug);
    history(data, board, slug);
    document.documentElement.dataset.ready = "";
  });
})();
