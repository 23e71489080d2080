"use strict";
// The charts of a benchmark's page: distribution of scores, and scores against size and ImageNet accuracy.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { charts, figures, element, format } = BrainScore;

  function against(models, column, values, { xLabel, xLog = false, shown, name, caption }) {
    const points = models.name
      .map((model, at) => ({
        x: values[at],
        y: column.value[at],
        ylow: column.low[at],
        yhigh: column.high[at],
        name: model,
        href: `../models/${models.slug[at]}.html`,
        text: `${model}: ${shown(values[at])}, score ${format.score(column.value[at])}`,
      }))
      .filter(({ x, y }) => x !== null && y !== null);
    if (!points.length) return element("p", { class: "reason" }, `${caption}: no model has both.`);
    return figures.figure(name, `${caption} (${points.length} models)`, (width) =>
      charts.scatter(points, {
        width,
        xLog,
        xLabel,
        yLabel: "Score",
        title: caption,
        height: Math.max(280, Math.min(360, width * 0.75)),
        description: `${points.length} models.`,
      }),
    );
  }

  /** Write the tables of an average under the selected rule for missing scores. */
  function followRule(column) {
    const places = column.value.map((_, at) => at);
    const scored = places.filter((at) => column.value[at] !== null).sort((a, b) => column.value[b] - column.value[a]);
    const shown = places.map((at) => BrainScore.shown(column, at));
    const incomplete = places.filter((at) => shown[at][1] !== null).sort((a, b) => shown[b][0] - shown[a][0]);
    const without = places.filter((at) => shown[at][0] === null);
    const rowsOf = (ats) => ats.map((at) => BrainScore.rows.ofAverage(column, at));
    BrainScore.longTables.show();
    document.getElementById("rows-scores").replaceChildren(...rowsOf([...scored, ...incomplete]));
    document.getElementById("rows-without").replaceChildren(...rowsOf(without));
    document.querySelector("section:has(#without)").hidden = !without.length;
    document.getElementById("n-without").textContent = `${without.length} model${without.length === 1 ? "" : "s"}, with reasons`;
    document.querySelector(".tile-value").textContent = format.count(scored.length);
    BrainScore.longTables.shorten();
  }

  function draw(column, { node, slug }) {
    const { nodes, models } = BrainScore.taken("board");
    const there = column.value.filter((value) => value !== null);
    const [first, second, third] = ["distribution", "parameters", "imagenet"].map((id) =>
      document.getElementById(`chart-${id}`),
    );
    if (there.length) {
      const sorted = there.slice().sort((a, b) => a - b);
      const marked = [{ value: sorted[Math.floor(sorted.length / 2)], name: "median", hue: 2 }];
      const title = `Distribution of ${there.length} scores on ${nodes.name[node]}`;
      first.replaceChildren(
        figures.figure(`${slug}-distribution`, `${there.length} models; the line is at the median`, (width) =>
          charts.histogram(there, {
            width,
            title,
            label: "Score",
            marked,
            height: 220,
            description: `From ${format.score(sorted[0])} to ${format.score(sorted.at(-1))}, median ${format.score(marked[0].value)}.`,
          }),
        ),
      );
    } else {
      first.replaceChildren(element("p", { class: "reason" }, "No model has a score yet."));
    }
    second.replaceChildren(
      against(models, column, models.parameters, {
        xLog: true,
        xLabel: "Parameters",
        shown: (value) => `${format.millions(value)} parameters`,
        name: `${slug}-parameters`,
        caption: "Score against parameters",
      }),
    );
    third.replaceChildren(
      against(models, column, models.imagenet, {
        xLabel: "ImageNet accuracy",
        shown: (value) => `ImageNet ${format.score(value)}`,
        name: `${slug}-imagenet`,
        caption: "Score against ImageNet accuracy",
      }),
    );
  }

  document.addEventListener("DOMContentLoaded", async () => {
    const { node, slug } = document.querySelector("article").dataset;
    const { nodes } = BrainScore.taken("board");
    const show = async (isChange) => {
      const column = await BrainScore.loadColumn(Number(node));
      draw(column, { node, slug });
      if (!nodes.leaf[node] && (isChange || BrainScore.missing() !== "complete")) followRule(column);
    };
    BrainScore.state.onChange(() => show(true));
    await show(false);
    document.documentElement.dataset.ready = "";
  });
})();
