"use strict";
// Plots of any two benchmarks, the map of rank correlations between benchmarks, and score against cost.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { charts, figures, element, format, state, statistics } = BrainScore;

  document.addEventListener("DOMContentLoaded", async () => {
    const board = BrainScore.taken("board");
    const { models, nodes } = board;
    const byId = (id) => document.getElementById(id);
    const all = nodes.id.map((_, node) => node);
    const leaves = all.filter((node) => nodes.leaf[node]);
    const bySlug = new Map(nodes.slug.map((slug, node) => [slug, node]));
    const hrefs = models.slug.map((slug) => `models/${slug}.html`);
    const turns = { against: 0, cost: 0 };

    const isBelow = (node, above) => {
      for (let at = node; at >= 0; at = nodes.parent[at]) if (at === above) return true;
      return false;
    };
    const fill = (id, places) =>
      byId(id).append(
        ...places.map((node) =>
          element("option", { value: nodes.slug[node] }, `${"\u2003".repeat(nodes.depth[node])}${nodes.name[node]}`),
        ),
      );
    const chosen = (id, otherwise) => bySlug.get(state.get(id)) ?? otherwise;
    const failed = (id, error) => byId(id).replaceChildren(element("p", { class: "reason" }, error.message));

    // -- one against another
    const scored = board.top.filter((node) => board.columns[node].value.some((value) => value !== null));
    const named = (id) => scored.find((node) => nodes.id[node] === id);
    const start = scored[0] ?? board.top[0];
    const first = { x: named("V1") ?? start, y: named("IT") ?? scored[1] ?? start };
    async function against() {
      const mine = (turns.against += 1);
      const [x, y] = [chosen("x", first.x), chosen("y", first.y)];
      [byId("x").value, byId("y").value] = [nodes.slug[x], nodes.slug[y]];
      let of;
      try {
        of = await Promise.all([x, y].map(BrainScore.loadColumn));
      } catch (error) {
        return failed("chart-against", error);
      }
      if (mine !== turns.against) return undefined;
      const [ofX, ofY] = of;
      const points = models.name
        .map((name, at) => ({
          x: ofX.value[at],
          xlow: ofX.low[at],
          xhigh: ofX.high[at],
          y: ofY.value[at],
          ylow: ofY.low[at],
          yhigh: ofY.high[at],
          name,
          href: hrefs[at],
          text: `${name}: ${format.score(ofX.value[at])} and ${format.score(ofY.value[at])}`,
        }))
        .filter((p) => p.x !== null && p.y !== null);
      const told = (r) =>
        `${format.score(r.r, 2) || "none"}${Number.isNaN(r.low) ? "" : ` [${format.interval(r.low, r.high, 2)}]`}`;
      const [r, rho] = [false, true].map((ranked) =>
        statistics.correlation(
          points.map((p) => p.x),
          points.map((p) => p.y),
          { ranked },
        ),
      );
      byId("correlation").textContent =
        `Pearson ${told(r)}, Spearman ${told(rho)}; n = ${r.n} models, 95 % intervals over models.`;
      byId("chart-against").replaceChildren(
        figures.figure(
          `${nodes.slug[x]}-${nodes.slug[y]}`,
          `${nodes.name[y]} against ${nodes.name[x]}; dashed: equal scores`,
          (width) =>
            charts.scatter(points, {
              width,
              diagonal: true,
              xLabel: nodes.name[x],
              yLabel: nodes.name[y],
              title: `Scores on ${nodes.name[y]} against ${nodes.name[x]}`,
              description: byId("correlation").textContent,
            }),
        ),
      );
      return undefined;
    }
    fill("x", all);
    fill("y", all);
    for (const id of ["x", "y"]) {
      byId(id).addEventListener("change", () => {
        state.set({ [id]: byId(id).value });
        against();
      });
    }
    byId("swap").addEventListener("click", () => {
      state.set({ x: byId("y").value, y: byId("x").value });
      against();
    });

    // -- similarity
    let similarity = null;
    function map() {
      const above = chosen("map", 0);
      byId("map").value = nodes.slug[above];
      const rows = similarity.nodes.map((node, at) => ({ node, at })).filter(({ node }) => isBelow(node, above));
      const names = rows.map(({ node }) => nodes.name[node]);
      // The diagonal is omitted, for better contrast among the other cells.
      const values = rows.map(({ at }) => rows.map(({ at: to }) => (at === to ? null : similarity.r[at][to])));
      const there = values.flat().filter((value) => value !== null);
      if (!rows.length) {
        byId("chart-similar").replaceChildren(
          element("p", { class: "reason" }, "No two of these benchmarks share enough models."),
        );
        return;
      }
      byId("chart-similar").replaceChildren(
        figures.figure("similarity", `${rows.length} benchmarks`, (width) =>
          charts.heat(names, names, values, {
            width,
            square: true,
            domain: there.length ? [Math.floor(20 * Math.min(...there)) / 20, Math.ceil(20 * Math.max(...there)) / 20] : [0, 1],
            label: "Spearman",
            title: "Correlation of scores over models for each pair of benchmarks",
            showNames: rows.length <= 45,
            text: (i, j) =>
              i === j
                ? `${names[i]}: ${format.count(similarity.n[rows[i].at][rows[i].at])} models`
                : `${names[i]} and ${names[j]}: ${values[i][j] === null ? "too few models with both" : `Spearman ${format.score(values[i][j], 2)}`} (n = ${similarity.n[rows[i].at][rows[j].at]})`,
            href: (i, j) =>
              `#x=${encodeURIComponent(nodes.slug[rows[i].node])}&y=${encodeURIComponent(nodes.slug[rows[j].node])}`,
          }),
        ),
      );
    }
    const inner = all.filter((node) => !nodes.leaf[node]);

    // -- cost
    async function cost() {
      const mine = (turns.cost += 1);
      const node = chosen("score", start);
      const price =
        ["duration_s", "peak_memory_bytes"].includes(state.get("price")) && nodes.leaf[node]
          ? state.get("price")
          : "parameters";
      byId("score").value = nodes.slug[node];
      byId("price").value = price;
      for (const option of byId("price").options) option.disabled = option.value !== "parameters" && !nodes.leaf[node];
      byId("cost-told").textContent = nodes.leaf[node] ? "" : "Time and memory are known only for single benchmarks.";
      let of;
      let prices;
      try {
        of = await BrainScore.loadColumn(node);
        prices =
          price === "parameters" ? models.parameters : (await BrainScore.load(`detail/${nodes.slug[node]}`))[price];
      } catch (error) {
        return failed("chart-cost", error);
      }
      if (mine !== turns.cost) return undefined;
      const label = byId("price").selectedOptions[0].textContent;
      const shown = { parameters: format.millions, duration_s: format.duration, peak_memory_bytes: format.bytes }[
        price
      ];
      const points = models.name
        .map((name, at) => ({
          x: prices[at],
          y: of.value[at],
          ylow: of.low[at],
          yhigh: of.high[at],
          name,
          href: hrefs[at],
          text: `${name}: ${shown(prices[at])}, score ${format.score(of.value[at])}`,
        }))
        .filter((p) => p.x > 0 && p.y !== null);
      byId("chart-cost").replaceChildren(
        points.length
          ? figures.figure(
              `${nodes.slug[node]}-${price}`,
              `${nodes.name[node]} against ${label} (${points.length} models)`,
              (width) =>
                charts.scatter(points, {
                  width,
                  xLog: true,
                  front: true,
                  xLabel: label[0].toUpperCase() + label.slice(1),
                  yLabel: "Score",
                  title: `Score on ${nodes.name[node]} against ${label}`,
                  description: `Best for their cost: ${charts
                    .paretoFront(points)
                    .map((at) => points[at].text)
                    .join("; ")}.`,
                }),
            )
          : element("p", { class: "reason" }, "No model has both a score here and this cost."),
      );
      return undefined;
    }
    fill("score", all);
    for (const id of ["score", "price"]) {
      byId(id).addEventListener("change", () => {
        state.set({ [id]: byId(id).value });
        cost();
      });
    }

    state.onChange(() => {
      const before = [byId("x").value, byId("y").value].join();
      against();
      cost();
      if (similarity) map();
      if ([byId("x").value, byId("y").value].join() !== before) byId("against").scrollIntoView();
    });
    const drawn = Promise.all([against(), cost()]);
    try {
      similarity = await BrainScore.load("similarity");
      const ofMap = new Set(similarity.nodes);
      fill(
        "map",
        inner.filter((node) => leaves.some((leaf) => ofMap.has(leaf) && isBelow(leaf, node))),
      );
      byId("map").addEventListener("change", () => {
        state.set({ map: byId("map").value });
        map();
      });
      map();
    } catch (error) {
      failed("chart-similar", error);
    }
    await drawn;
    for (const id of ["against", "similar", "cost"]) byId(id).hidden = false;
    document.documentElement.dataset.ready = "";
  });
})();
