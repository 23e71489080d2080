"use strict";
// Compare two to five models: their scores, and differences with intervals and corrected probabilities.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { averages, charts, figures, element, format, state, statistics } = BrainScore;
  const MOST = 5;
  const LEVEL = 0.05;

  // -- errors of differences, as brainscore_web.leaderboard.pairs writes them ------------------------------------------

  const SMALLEST = 1e-5;
  const LARGEST = 10;
  const BLOCK = 16;
  const FREEDOMS = [
    1,
    1.5,
    2,
    2.5,
    3,
    3.5,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    14,
    16,
    18,
    20,
    24,
    28,
    32,
    40,
    50,
    64,
    90,
    128,
    200,
    300,
    500,
    1000,
    Infinity,
  ];

  /** Return {error, freedom, isMatched} of a code; null without an error. */
  function decode(code) {
    if (!code) return null;
    const place = code & 1023;
    return {
      error: place === 1 ? 0 : SMALLEST * (LARGEST / SMALLEST) ** ((place - 2) / 1021),
      freedom: FREEDOMS[(code >> 10) & 31],
      isMatched: code < 1 << 15,
    };
  }

  const tables = new WeakMap();

  /** Return the codes of a tile as bytes: for each node, BLOCK rows of BLOCK codes of two bytes each. */
  async function unpacked(file) {
    if (!tables.has(file)) {
      const content = Uint8Array.from(atob(file.codes), (char) => char.charCodeAt(0));
      const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate"));
      tables.set(file, new DataView(await new Response(stream).arrayBuffer()));
    }
    return tables.get(file);
  }

  /**
   * Load the scores of some models and the codes of their pairs: {value, code}.
   *
   * `value(node, model)` is the score, null without one; `code(node, a, b)` is the code of a pair, 0 without an error.
   */
  async function load(places) {
    const { slug } = BrainScore.taken("board").models;
    const ofModels = Promise.all(places.map(async (at) => [at, await BrainScore.load(`models/${slug[at]}`)]));
    const blocks = [...new Set(places.map((at) => Math.floor(at / BLOCK)))].sort((a, b) => a - b);
    const names = blocks.flatMap((first, at) => blocks.slice(at).map((second) => `${first}-${second}`));
    const tiles = new Map(
      await Promise.all(
        names.map(async (name) => {
          const file = await BrainScore.load(`pairs/${name}`);
          return [name, { rows: new Map(file.nodes.map((node, row) => [node, row])), table: await unpacked(file) }];
        }),
      ),
    );
    const values = new Map(await ofModels);
    const code = (node, a, b) => {
      const [low, high] = a < b ? [a, b] : [b, a];
      const tile = tiles.get(`${Math.floor(low / BLOCK)}-${Math.floor(high / BLOCK)}`);
      const row = tile.rows.get(node);
      if (row === undefined) return 0;
      return tile.table.getUint16(2 * ((row * BLOCK + (low % BLOCK)) * BLOCK + (high % BLOCK)), true);
    };
    return { value: (node, at) => values.get(at).values[node], code };
  }

  /**
   * Determine for each node the nodes over which differences are averaged: those with benchmarks common to all models.
   *
   * `value(node, model)` is null without a score. Returns a map of nodes to {parts: [[node, weight]], n: the
   * number of these benchmarks, of: the number of all}; an average that is complete for all models is its own only part.
   */
  function common(nodes, places, value) {
    const counts = (leaf) => nodes.counts?.[leaf] ?? true;
    const has = (leaf) => places.every((at) => value(leaf, at) !== null);
    const { parts, without } = averages.plan(nodes, (leaf) => !counts(leaf) || has(leaf));
    const found = new Map();
    for (let node = nodes.parent.length - 1; node >= 0; node -= 1) {
      const own = without.has(node) ? [] : [[node, 1]];
      const number = nodes.leaf[node] && counts(node) ? [Number(has(node)), 1] : [0, 0];
      const entry = { parts: nodes.leaf[node] ? [[node, 1]] : parts.has(node) ? averages.weights(parts, node) : own, n: number[0], of: number[1] };
      found.set(node, entry);
    }
    for (let node = nodes.parent.length - 1; node >= 0; node -= 1) {
      const above = found.get(nodes.parent[node]);
      if (!above) continue;
      above.n += found.get(node).n;
      above.of += found.get(node).of;
    }
    return found;
  }

  /**
   * Compare all pairs of models on a node, or on average over some: [{a, b, difference, low, high, p, holm, isMatched}].
   *
   * parts: [[node, weight]]. The covariance between nodes is not known here: the error of their mean is an upper bound.
   */
  function differences(parts, places, value, code) {
    const found = [];
    places.forEach((a, first) =>
      places.slice(first + 1).forEach((b) => {
        const isThere = parts.length > 0 && parts.every(([node]) => value(node, a) !== null && value(node, b) !== null);
        const known = isThere ? parts.map(([node, weight]) => [decode(code(node, a, b)), weight]) : [];
        const hasError = known.length > 0 && known.every(([each]) => each);
        const mean = (of) => averages.fsum(known.map(([each, weight]) => weight * of(each)));
        const difference = isThere
          ? averages.fsum(parts.map(([node, weight]) => weight * (value(node, a) - value(node, b))))
          : null;
        const error = hasError ? mean((each) => each.error) : NaN;
        const spread = hasError ? mean((each) => each.error / Math.sqrt(each.freedom)) : NaN;
        const only = known.length === 1 ? known[0][0]?.freedom : null;
        const freedom = only ?? (spread > 0 ? (error / spread) ** 2 : Infinity);
        const margin = hasError ? error * statistics.quantile(freedom) : NaN;
        found.push({
          a,
          b,
          difference,
          low: difference - margin,
          high: difference + margin,
          isMatched: hasError && known.every(([each]) => each.isMatched),
          p: hasError ? statistics.twoSided(difference === 0 ? 0 : difference / error, freedom) : NaN,
        });
      }),
    );
    statistics.holm(found.map(({ p }) => p)).forEach((value, at) => {
      found[at].holm = value;
    });
    return found;
  }

  BrainScore.pairs = { common, decode, differences, load };

  // -- the page --------------------------------------------------------------------------------------------------------

  document.addEventListener("DOMContentLoaded", () => {
    const board = BrainScore.taken("board");
    if (document.documentElement.dataset.page !== "compare" || !board) return;
    const { models, nodes, top } = board;
    const byId = (id) => document.getElementById(id);
    const [add, reference, rowsOf, told] = ["add", "reference", "rows", "told"].map(byId);
    const regions = top.filter((node) => !nodes.leaf[node]);
    const placeOf = new Map(models.slug.map((slug, at) => [slug, at]));
    const href = (node) => `benchmarks/${nodes.slug[node]}.html`;
    let turn = 0;

    const chosen = () =>
      state
        .list("models")
        .map((slug) => placeOf.get(slug))
        .filter((at) => at !== undefined)
        .slice(0, MOST);
    const choose = (places) => {
      state.set({ models: places.map((at) => models.slug[at]) });
      show();
    };

    byId("model-names").append(
      ...models.name.map((name, at) => element("option", { value: name }, models.id[at] === name ? "" : models.id[at])),
    );
    byId("choose").hidden = false;
    byId("choose").addEventListener("submit", (event) => {
      event.preventDefault();
      const asked = add.value.trim().toLowerCase();
      const places = chosen();
      if (!asked) return;
      const matches = (of) =>
        models.id.findIndex((id, at) => !places.includes(at) && of(id.toLowerCase(), models.name[at].toLowerCase()));
      let at = matches((id, name) => id === asked || name === asked);
      if (at < 0) at = matches((id, name) => id.includes(asked) || name.includes(asked));
      if (at < 0) {
        told.textContent = `No other model is called “${add.value.trim()}”.`;
      } else if (places.length >= MOST) {
        told.textContent = `At most ${MOST} models can be compared; remove one first.`;
      } else {
        add.value = "";
        told.textContent = `${models.name[at]} was added.`;
        choose([...places, at]);
      }
    });
    reference.addEventListener("change", () => {
      state.set({ ref: reference.value });
      show();
    });
    rowsOf.addEventListener("change", () => {
      state.set({ rows: rowsOf.value === "top" ? null : rowsOf.value });
      show();
    });
    state.onChange(show);

    function chips(places) {
      byId("chosen").replaceChildren(
        element(
          "ul",
          { class: "chips" },
          places.map((at, k) =>
            element(
              "li",
              {},
              element("span", { class: `swatch hue-${k + 1}`, "aria-hidden": "true" }),
              element("a", { href: `models/${models.slug[at]}.html` }, models.name[at]),
              element(
                "button",
                {
                  type: "button",
                  class: "quiet small",
                  "aria-label": `Remove ${models.name[at]}`,
                  onclick: () => choose(places.filter((each) => each !== at)),
                },
                "×",
              ),
            ),
          ),
        ),
        places.length < 2
          ? element(
              "p",
              { class: "note" },
              places.length ? "Add another model to compare it with." : "Add two to five models.",
            )
          : "",
      );
    }

    async function show() {
      turn += 1;
      const mine = turn;
      const places = chosen();
      chips(places);
      const unknown = state.list("models").filter((slug) => !placeOf.has(slug));
      if (unknown.length) told.textContent = `No model of this board is called ${unknown.map((slug) => `\u201c${slug}\u201d`).join(", ")}.`;
      const shown = (shall) => (byId("overview").hidden = byId("differences").hidden = !shall);
      document.documentElement.dataset.ready = "";
      if (places.length < 2) return shown(false);
      delete document.documentElement.dataset.ready;
      const base = Math.max(
        0,
        places.findIndex((at) => models.slug[at] === state.get("ref")),
      );
      reference.replaceChildren(
        ...places.map((at, k) => element("option", { value: models.slug[at], selected: k === base }, models.name[at])),
      );
      rowsOf.value = ["all", "told"].includes(state.get("rows")) ? state.get("rows") : "top";
      const wanted = rowsOf.value === "top" ? regions : nodes.id.map((_, node) => node);
      let columns;
      let known;
      try {
        const needed = [...new Set([...wanted, ...regions])];
        columns = new Map(await Promise.all(needed.map(async (node) => [node, await BrainScore.loadColumn(node)])));
        known = await load(places);
      } catch (error) {
        told.textContent = error.message;
        return undefined;
      }
      if (mine !== turn) return undefined; // the selection has changed in the meantime
      const { value, code } = known;
      const shared = common(nodes, places, value);
      /** Return the score of a model as compared on this page: averages are over the benchmarks that all models have. */
      const score = (node, at) => {
        const { parts } = shared.get(node);
        const column = columns.get(node);
        if (parts.length === 1 && parts[0][0] === node) return { value: value(node, at), low: column.low[at], high: column.high[at] };
        return { value: parts.length ? averages.fsum(parts.map(([part, weight]) => weight * value(part, at))) : null, low: null, high: null };
      };
      const compared = wanted
        .map((node) => ({
          node,
          column: columns.get(node),
          shared: shared.get(node),
          pairs: differences(shared.get(node).parts, places, value, code),
        }))
        .filter(({ column }) => places.some((at) => BrainScore.shown(column, at)[0] !== null))
        .filter(({ pairs }) => rowsOf.value !== "told" || pairs.some(({ holm }) => holm <= LEVEL));
      overview(places, score, shared);
      drawn(places, base, compared);
      table(places, base, compared, score);
      shown(true);
      document.documentElement.dataset.ready = "";
      return undefined;
    }

    function overview(places, score, shared) {
      const shown = regions.filter((node) => shared.get(node).parts.length > 0 && score(node, places[0]).value !== null);
      const series = places.map((at, k) => ({
        name: models.name[at],
        hue: k + 1,
        values: shown.map((node) => score(node, at)),
      }));
      byId("chart-slope").replaceChildren(
        figures.figure("compare-scores", "Scores with 95 % intervals, over the benchmarks that all models have; without an interval if some are missing", (width) =>
          charts.slope(
            shown.map((node) => nodes.name[node]),
            series,
            {
              width,
              label: "Score",
              title: "Scores of the selected models",
              description: series
                .map(
                  ({ name, values }) =>
                    `${name}: ${values.map(({ value }) => format.score(value) || "none").join(", ")}`,
                )
                .join("; "),
            },
          ),
        ),
        figures.legend(
          series.map(({ name, hue }, k) => ({ name, hue, href: `models/${models.slug[places[k]]}.html` })),
        ),
      );
    }

    /** Return a model's score minus the reference's, whichever way round the pair was computed. */
    function towards(pairs, at, base) {
      const pair = pairs.find(({ a, b }) => (a === at && b === base) || (a === base && b === at));
      return pair.a === at
        ? pair
        : { ...pair, difference: pair.difference === null ? null : -pair.difference, low: -pair.high, high: -pair.low };
    }

    function drawn(places, base, compared) {
      const most = 60;
      const rows = compared.slice(0, most).map(({ node, pairs }) => ({
        label: nodes.name[node],
        strong: !nodes.leaf[node],
        marked: places
          .map((at, k) => ({ at, k }))
          .filter(({ k }) => k !== base)
          .map(({ at, k }) => {
            const { difference, low, high, holm } = towards(pairs, at, places[base]);
            const isTold = holm <= LEVEL;
            return {
              value: difference,
              low,
              high,
              hue: k + 1,
              hollow: !isTold,
              text:
                difference === null
                  ? ""
                  : `${models.name[at]} − ${models.name[places[base]]}: ${format.score(difference)} [${format.interval(low, high)}], ${isTold ? "differ" : "do not differ significantly"} (${nodes.name[node]})`,
            };
          }),
      }));
      if (!rows.length) {
        byId("chart-differences").replaceChildren(
          element(
            "p",
            { class: "note" },
            rowsOf.value === "told"
              ? "No pair differs significantly in any row."
              : "None of these models has a score here.",
          ),
        );
        return;
      }
      byId("chart-differences").replaceChildren(
        figures.figure(
          "compare-differences",
          `Score minus that of ${models.name[places[base]]}, with 95 % intervals; filled where it differs significantly${compared.length > most ? ` (first ${most} of ${compared.length} rows)` : ""}`,
          (width) =>
            charts.strip(rows, {
              width,
              zero: true,
              title: `Differences from ${models.name[places[base]]}`,
              label: "Difference of scores",
            }),
        ),
      );
    }

    function table(places, base, compared, score) {
      const others = places.filter((_, k) => k !== base);
      const cell = (pair, { n: number, of }) => {
        if (pair.difference === null) return element("td", { class: "reason" }, of > 1 ? "no benchmark in common" : "not both have a score");
        const isTold = pair.holm <= LEVEL;
        return element(
          "td",
          { class: isTold ? "differs" : null },
          element("span", { class: "value" }, `${pair.difference > 0 ? "+" : ""}${format.score(pair.difference)}`),
          element(
            "span",
            { class: "quiet-text" },
            Number.isNaN(pair.low)
              ? " no error stated"
              : ` [${format.interval(pair.low, pair.high)}]${pair.isMatched ? "" : " ~"}, p ${pair.holm < 0.001 ? "< 0.001" : `= ${pair.holm.toFixed(3)}`}`,
          ),
          number < of && element("span", { class: "quiet-text" }, `over ${number} of ${of} benchmarks`),
        );
      };
      byId("table-differences").replaceChildren(
        element(
          "table",
          { class: "facts-table scores differences" },
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              element("th", { scope: "col", class: "of-rows" }, "Benchmark"),
              places.map((at) => element("th", { scope: "col" }, models.name[at])),
              others.map((at) => element("th", { scope: "col" }, `${models.name[at]} − ${models.name[places[base]]}`)),
            ),
          ),
          element(
            "tbody",
            {},
            compared.map(({ node, column, shared, pairs }) =>
              element(
                "tr",
                { class: `depth-${Math.min(5, nodes.depth[node])}${nodes.leaf[node] ? "" : " parent"}` },
                element("th", { scope: "row" }, element("a", { href: href(node) }, nodes.name[node])),
                places.map((at) => {
                  const { value } = score(node, at);
                  const isMissing = !nodes.leaf[node] && column.missing[at];
                  return element(
                    "td",
                    { class: value === null ? "reason" : null },
                    value === null ? BrainScore.REASONS[column.code[at]] : format.score(value),
                    isMissing ? element("span", { class: "quiet-text" }, ` ${column.missing[at]} of ${column.n[at]} missing`) : "",
                  );
                }),
                others.map((at) => cell(towards(pairs, at, places[base]), shared)),
              ),
            ),
          ),
        ),
      );
    }

    show();
  });
})();
