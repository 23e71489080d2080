"use strict";
// The charts of a model's page: its scores among all models, layers by region, and history.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { charts, figures, element, format } = BrainScore;
  const room = (name) => document.getElementById(`chart-${name}`);

  /** Return the row of a chart: a model on a node among all models, with the best and the median of their scores. */
  function standing({ nodes, models }, node, column, place) {
    const scores = column.value.filter((value) => value !== null).sort((a, b) => a - b);
    const middle = scores.length / 2;
    return {
      label: nodes.name[node],
      strong: nodes.depth[node] === 0,
      values: column.value,
      names: models.name,
      hrefs: models.slug.map((slug) => `${slug}.html`),
      best: scores.at(-1) ?? null,
      median: scores.length ? (scores[Math.ceil(middle) - 1] + scores[Math.floor(middle)]) / 2 : null,
      marked: [{ value: column.value[place], low: column.low[place], high: column.high[place], name: models.name[place] }],
    };
  }

  /** Return a model's top-level averages, or its top-level benchmarks if there is no average. */
  async function profile(board, place) {
    const { nodes, columns, top } = board;
    const scored = top.filter((node) => columns[node].value.some((value) => value !== null));
    const averaged = scored.filter((node) => !nodes.leaf[node]);
    const chosen = averaged.length ? averaged : scored;
    const loaded = await Promise.all(chosen.map(BrainScore.loadColumn));
    return chosen.map((node, at) => standing(board, node, loaded[at], place));
  }
  BrainScore.profile = profile;

  /** Write the averages of the page under the selected rule for missing scores. */
  async function followRule(board, place) {
    const { nodes, columns, top } = board;
    BrainScore.longTables.show();
    const written = [...document.querySelectorAll("tr[data-average]")];
    const nodesOf = written.map((row) => Number(row.dataset.average));
    const loaded = new Map(await Promise.all(nodesOf.map(async (node) => [node, await BrainScore.loadColumn(node)])));
    written.forEach((row, at) => row.replaceChildren(row.firstElementChild, ...BrainScore.rows.ofModel(loaded.get(nodesOf[at]), place)));
    const tiled = top.filter((node) => !nodes.leaf[node] && BrainScore.shown(columns[node], place)[0] !== null);
    document.querySelectorAll(".tiles .tile").forEach((tile, at) => {
      const column = loaded.get(tiled[at]);
      const [value, why] = BrainScore.shown(column, place);
      tile.querySelector(".tile-value").textContent = format.score(value) || "\u2013";
      const of = `${column.n[place] - column.missing[place]} of ${column.n[place]}`;
      const rank = value !== null && column.rank[place] === null ? [`${why ?? of}, not ranked`] : value === null ? [BrainScore.REASONS[column.code[place]]] : ["rank ", ...BrainScore.rows.rank(column, place)];
      tile.querySelector(".tile-detail").replaceChildren(element("span", {}, rank));
    });
    BrainScore.longTables.shorten();
  }

  async function distribution(board, place) {
    const { nodes, models } = board;
    let rows = await profile(board, place);
    const added = [];
    const more = element(
      "select",
      { id: "more" },
      element("option", { value: "" }, "choose a benchmark"),
      nodes.id
        .map((_, node) => node)
        .filter((node) => nodes.leaf[node])
        .map((node) => element("option", { value: node }, nodes.name[node])),
    );
    const title = `Scores of ${models.name[place]} among all models`;
    const chart = figures.figure(`${models.slug[place]}-scores`, title, (width) =>
      charts.strip([...rows, ...added], {
        width,
        title,
        label: "Score",
        description: rows.map(({ label, marked: [m] }) => `${label}: ${format.score(m.value) || "none"}`).join("; "),
      }),
    );
    const told = element("span", { role: "status" });
    more.addEventListener("change", async () => {
      if (more.value === "") return;
      const node = Number(more.value);
      try {
        const column = await BrainScore.loadColumn(node);
        if (!added.some(({ label }) => label === nodes.name[node])) added.push(standing(board, node, column, place));
        told.textContent = column.value[place] === null ? "This model has no score on it." : "";
        chart.redraw();
      } catch (error) {
        told.textContent = error.message;
      }
    });
    BrainScore.state.onChange(async () => {
      try {
        await followRule(board, place);
        rows = await profile(board, place);
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
    if (BrainScore.missing() !== "complete") await followRule(board, Number(model));
    const data = await BrainScore.load(`models/${slug}`);
    atlas(data, slug);
    history(data, board, slug);
    document.documentElement.dataset.ready = "";
  });
})();
