/** The details of one score: raw, ceiling, interval, n and provenance; or the reason why there is none. */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { view, element, format, state } = BrainScore;
  const { models, nodes } = view;
  const panel = document.getElementById("panel");
  let last = 0; // late answers are for another score

  const SIMPLE = (value) => (value === null || value === undefined || value === "" ? null : String(value));
  const precise = (value) => (typeof value === "number" ? format.score(value, 4) : null);
  const listed = (value) => (Array.isArray(value) ? value.join(", ") : SIMPLE(value)) || null;
  const said = (value) => (value !== null && typeof value === "object" ? listed(Object.entries(value).map((pair) => pair.join(" "))) : SIMPLE(value));

  /** [heading, [[name in the file, term, format], ...]] */
  const DETAILS = [
    [
      "Score",
      [
        ["raw", "Raw score", precise],
        ["ceiling", "Ceiling", precise],
        ["normalization", "Normalised by", listed],
        ["error", "Standard error", precise],
        ["raw_error", "\u2026 of the raw score", precise],
        ["stimulus_error", "\u2026 over stimuli", precise],
        ["split_error", "\u2026 over splits", precise],
        ["error_over", "Error over", said],
        ["reason", "No error or interval", said],
      ],
    ],
    [
      "Measured on",
      [
        ["n_stimuli", "Stimuli", format.count],
        ["n_neuroids", "Neuroids", format.count],
        ["n_trials", "Trials", format.count],
        ["n_subjects", "Subjects", format.count],
        ["layers", "Layers", said],
      ],
    ],
    [
      "Run",
      [
        ["status", "Status", SIMPLE],
        ["message", "Message", SIMPLE],
        ["created", "Scored on", format.date],
        ["duration_s", "Took", format.duration],
        ["peak_memory_bytes", "Peak memory", format.bytes],
      ],
    ],
    [
      "Provenance",
      [
        ["version", "Benchmark version", SIMPLE],
        ["model_revision", "Model revision", SIMPLE],
        ["benchmark_revision", "Benchmark revision", SIMPLE],
        ["library", "Library", said],
        ["environment", "Environment", said],
        ["weights", "Weights", said],
      ],
    ],
  ];

  const terms = (pairs) =>
    element(
      "dl",
      {},
      pairs.map(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]),
    );

  const sections = (detail, model) =>
    DETAILS.flatMap(([heading, rows]) => {
      const pairs = rows.flatMap(([name, term, write]) => {
        const text = write(detail[name]?.[model] ?? null);
        return text ? [[term, text]] : [];
      });
      return pairs.length ? [element("h3", {}, heading), terms(pairs)] : [];
    });

  /** Return whether the current record is the source of a score. */
  const isOfToday = (node, column, model) => BrainScore.shown(column, model)[0] === BrainScore.shown(BrainScore.column(node), model)[0];

  const headline = (node, column, model) => {
    const value = column.value[model];
    const [shownValue, mark] = BrainScore.shown(column, model);
    if (mark) {
      const words = nodes.leaf[node]
        ? `is on ${mark} of the benchmark, while another version counts: a newer version counts once 90 % of the models have a score on it.`
        : `is the mean over ${mark} benchmarks; models with all of them are ranked.`;
      return [element("p", { class: "big" }, element("strong", {}, format.score(shownValue)), " not ranked"), element("p", { class: "note" }, `This score ${words}`)];
    }
    if (value === null) return element("p", { class: "big" }, "No score: ", view.reason(column.code[model], node)[1], ".");
    const why = nodes.leaf[node] ? "without interval" : "without interval, since one of its parts has none";
    const isBound = column.bounded?.[model] === "1";
    const interval = format.interval(column.low[model], column.high[model], 3, isBound);
    const bound = nodes.leaf[node] ? "it has no error, so the largest error of the other models is used" : "an error or a correlation of its parts is unknown";
    const isAbove = nodes.leaf[node] && value > 1 && nodes.kind[node] !== "engineering";
    return [
      element("p", { class: "big" }, element("strong", {}, format.score(value)), interval ? ` 95 % interval ${interval}` : ` ${why}`),
      isBound && element("p", { class: "note" }, `* The interval is an upper bound: ${bound}.`),
      isAbove && element("p", { class: "note" }, `\u25b2 Above the ceiling${column.low[model] > 1 ? "" : ", which its interval includes"}: the score is shown unchanged.`),
    ];
  };

  const standing = (column, model) => {
    if (column.rank[model] === null) return null;
    const n = column.value.filter((value) => value !== null).length;
    const pairs = [["Rank", `${column.rank[model]} of ${format.count(n)}`]];
    const [low, high] = [column.rank_low[model], column.rank_high[model]];
    if (low !== null) pairs.push(["95 % interval of the rank", low === high ? `${low}` : `${low}\u2013${high}`]);
    else pairs.push(["Interval of the rank", column.reweighted ? "none: error covariances are not shipped to the browser" : "none, as for the score"]);
    if (column.group[model]) pairs.push(["Ties with models that share a letter", column.group[model].replaceAll(",", ", ")]);
    return terms(pairs);
  };

  const parts = (node, column, model) => {
    const { without } = view.weighing();
    const below = view.children[node].filter((child) => !without.has(child) && (nodes.counts?.[child] ?? true));
    const n = Array.isArray(column.n) ? column.n[model] : column.n;
    const missing = column.missing[model];
    return [
      element("h3", {}, "Mean of its parts"),
      element(
        "p",
        {},
        `${format.count(n - missing)} of ${format.count(n)} benchmarks have a score. `,
        missing > 0 && BrainScore.shown(column, model)[0] !== null && (BrainScore.missing() === "zero" ? "A missing score counts as 0 in the mean." : "Missing scores are left out of the mean."),
        column.reweighted && " Only selected benchmarks count; the interval is an upper bound.",
      ),
      element(
        "ul",
        { class: "parts" },
        below.map((child) => {
          const of = view.column(child);
          const [value, why] = of ? BrainScore.shown(of, model) : [null, null];
          const text = !of ? "\u2026" : value === null ? view.reason(of.code[model], child)[1] : `${format.score(value)}${why ? ` (${why})` : ""}`;
          const open = () => BrainScore.panel.open(model, child);
          return element("li", {}, element("button", { type: "button", class: "link", onclick: open }, nodes.name[child]), element("span", { class: value === null ? "why" : "value" }, text));
        }),
      ),
    ];
  };

  const links = (node, model) =>
    element(
      "p",
      { class: "links" },
      element("a", { href: BrainScore.address(`models/${models.slug[model]}.html`) }, `All about ${models.name[model]}`),
      element("a", { href: BrainScore.address(`benchmarks/${nodes.slug[node]}.html`) }, `All about ${nodes.name[node]}`),
    );

  const show = async (model, node) => {
    const turn = ++last;
    const path = [];
    for (let at = nodes.parent[node]; at >= 0; at = nodes.parent[at]) path.unshift(nodes.name[at]);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => BrainScore.panel.close() }, "\u00d7");
    const title = element("h2", { id: "panel-title", tabindex: "-1" }, element("span", {}, models.name[model]), element("span", { class: "second" }, [...path, nodes.name[node]].join(" \u203a ")));
    const rest = element("div", { "aria-busy": "true" }, element("p", {}, "Loading\u2026"));
    panel.replaceChildren(element("div", { class: "panel-head" }, title, close), rest);
    if (!panel.open) panel.show();
    title.focus({ preventScroll: true });
    try {
      await view.need(node);
      if (!nodes.leaf[node]) await Promise.all(view.children[node].map((child) => view.need(child).catch(() => null)));
      const detail = nodes.leaf[node] ? await BrainScore.load(`detail/${nodes.slug[node]}`) : null;
      if (turn !== last) return;
      const column = view.column(node);
      const simulated = nodes.simulated[node] && element("p", { class: "note" }, "Simulated measurements: not averaged.");
      const metric = nodes.metric[node] && element("p", {}, `Metric: ${nodes.metric[node]} `, element("a", { href: BrainScore.address(`benchmarks/${nodes.slug[node]}.html#metric`) }, "More about this metric"));
      const content = [headline(node, column, model), metric, simulated, standing(column, model), detail ? isOfToday(node, column, model) && sections(detail, model) : parts(node, column, model), links(node, model)];
      rest.replaceChildren(...content.flat(Infinity).filter(Boolean));
    } catch (error) {
      if (turn === last) rest.replaceChildren(element("p", { class: "note" }, error.message), links(node, model));
    }
    rest.removeAttribute("aria-busy");
  };

  BrainScore.panel = {
    /** Show the details of a model's score on a node. */
    open(model, node) {
      state.set({ cell: [models.slug[model], nodes.slug[node]] });
      return show(model, node);
    },
    close() {
      last++;
      panel.close();
      state.set({ cell: null });
      BrainScore.table.focus();
    },
    /** Show the score named in the address. */
    update() {
      const [model, node] = state.list("cell");
      if (view.modelOf.has(model) && view.nodeOf.has(node)) show(view.modelOf.get(model), view.nodeOf.get(node));
      else if (panel.open) panel.close();
    },
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && panel.open) BrainScore.panel.close();
  });
})();
