/** The view of the board: the rows and columns shown, their order and their numbers, all determined by the address. */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});
  const { state, averages, format } = BrainScore;
  const board = BrainScore.taken("board");
  const { models, nodes } = board;
  const children = averages.childrenOf(nodes.parent);
  const nodeOf = new Map(nodes.slug.map((slug, node) => [slug, node]));
  const modelOf = new Map(models.slug.map((slug, model) => [slug, model]));
  const roots = nodes.parent.flatMap((parent, node) => (parent < 0 && hasLeaf(node) ? [node] : []));

  function hasLeaf(node) {
    return nodes.leaf[node] || children[node].some(hasLeaf);
  }
  const rootOf = nodes.parent.map(() => 0);
  nodes.parent.forEach((parent, node) => (rootOf[node] = parent < 0 ? node : rootOf[parent]));
  const hasValues = (node) => board.columns[node] && BrainScore.hasAny(board.columns[node]);
  const main = roots.find(hasValues) ?? board.top.find(hasValues) ?? roots[0] ?? null; // the initial sorting; null: by name

  /** Nodes open initially: those with all children in the first file, below the sorted root. */
  const top = new Set(board.top);
  const isOpenAtFirst = (node) =>
    !nodes.leaf[node] && rootOf[node] === rootOf[main] && children[node].every((child) => top.has(child));

  // -- columns --------------------------------------------------------------------------------------------------------

  const read = new Map(); // name -> [value in the address, its nodes]: cached, since each cell needs it

  /** Return the nodes named in a list in the address; do not modify the result. */
  const nodesIn = (name) => {
    const text = state.get(name);
    if (!read.has(name) || read.get(name)[0] !== text) {
      read.set(name, [text, new Set(state.list(name).flatMap((slug) => nodeOf.get(slug) ?? []))]);
    }
    return read.get(name)[1];
  };

  const isOpen = (node) => {
    const [open, closed] = [nodesIn("open"), nodesIn("closed")];
    return open.has(node) || (isOpenAtFirst(node) && !closed.has(node));
  };

  const setOpen = (node, shall) => {
    const [open, closed] = [new Set(nodesIn("open")), new Set(nodesIn("closed"))];
    open.delete(node);
    closed.delete(node);
    if (shall !== isOpenAtFirst(node)) (shall ? open : closed).add(node);
    const slugs = (set) => [...set].sort((a, b) => a - b).map((each) => nodes.slug[each]);
    state.set({ open: slugs(open), closed: slugs(closed) });
  };

  /** Return the nodes shown, parents before children. */
  const columns = () => {
    const [open, closed, without] = [nodesIn("open"), nodesIn("closed"), nodesIn("without")];
    const shown = [];
    const visit = (node) => {
      if (without.has(node) || !hasLeaf(node)) return;
      shown.push(node);
      if (open.has(node) || (isOpenAtFirst(node) && !closed.has(node))) children[node].forEach(visit);
    };
    roots.forEach(visit);
    return shown;
  };

  // -- numbers --------------------------------------------------------------------------------------------------------

  let weighed = { key: "", parts: new Map(), without: new Set(), made: new Map() };

  /** Return the day of the board shown, counted from 1970-01-01; null: today. */
  const asOf = () => {
    const day = Date.parse(state.get("at") ?? "") / 864e5;
    return Number.isInteger(day) ? day : null;
  };

  /**
   * Return for each model its scores on a benchmark up to a day, the current one of that day last: [version, score].
   * Empty if it had none.
   */
  const hadBy = (leaf, day) => {
    const { days, earlier } = BrainScore.taken("dates");
    const byModel = Map.groupBy(earlier[leaf] ?? [], ([model]) => model);
    return BrainScore.column(leaf).value.map((value, model) => {
      const had = days[leaf][model] !== null && days[leaf][model] <= day ? [[nodes.version?.[leaf] ?? null, value]] : [];
      const replaced = [];
      for (const [, from, until, score, version] of byModel.get(model) ?? []) {
        const isOfThen = until === null || day < until;
        if (isOfThen && (from > day || score === null)) return [];
        if (score !== null) replaced.push([version ?? null, score]);
        if (isOfThen) return until === null ? [...replaced.slice(0, -1), ...had, replaced.at(-1)] : replaced;
      }
      return had.length ? [...replaced, ...had] : [];
    });
  };

  /** Return the scores on a benchmark as of a day, on the version that counted then, and those on other versions. */
  const scoresThen = (leaf, day) => {
    const had = hadBy(leaf, day);
    const counting = averages.countingVersion(had.map((own) => own.map(([version]) => version)));
    const value = had.map((own) => own.findLast(([version]) => version === counting)?.[1] ?? null);
    const others = had.flatMap((own, model) => (own.length && value[model] === null ? [[model, [own.at(-1)[1], `version ${own.at(-1)[0]}`]]] : []));
    return { value, unranked: Object.fromEntries(others) };
  };

  /** Return the column of a benchmark as of a day; scores keep their intervals, ranks have none. */
  const columnThen = (leaf, day) => {
    const now = BrainScore.column(leaf);
    const { value, unranked } = scoresThen(leaf, day);
    const nothing = value.map(() => null);
    const kept = (ends) => ends.map((end, model) => (value[model] === now.value[model] ? end : null));
    return {
      ...now,
      value,
      unranked,
      low: kept(now.low),
      high: kept(now.high),
      code: value.map((score, model) => (score !== null ? "s" : unranked[model] ? "v" : now.value[model] === null && now.code[model] !== "v" ? now.code[model] : "q")).join(""),
      rank: averages.ranks(value),
      rank_low: nothing,
      rank_high: nothing,
      group: value.map(() => ""),
      reweighted: true,
    };
  };

  const isReweighted = () => state.get("weigh") === "chosen" && state.list("without").length > 0;

  const isChosenAmong = (without) => (leaf) => {
    for (let node = leaf; node >= 0; node = nodes.parent[node]) if (without.has(node)) return false;
    return true;
  };

  /** Return the averages computed here and their parts; for a past day all, over benchmarks with a score by then. */
  const planned = (day) => {
    const isChosen = isReweighted() ? isChosenAmong(nodesIn("without")) : () => true;
    if (day === null) return averages.plan(nodes, isChosen);
    const { days, earlier } = BrainScore.taken("dates");
    const hadScore = (leaf) => days[leaf].some((of) => of !== null && of <= day) || earlier[leaf]?.some(([, from, until, score]) => score !== null && from <= day && (until === null || day < until));
    const made = averages.plan(nodes, (leaf) => isChosen(leaf) && (!(nodes.counts?.[leaf] ?? true) || hadScore(leaf)));
    nodes.leaf.forEach((leaf, node) => {
      if (leaf || made.parts.has(node) || !nodes.counts?.[node]) return;
      made.parts.set(node, made.without.has(node) ? [] : children[node].filter((child) => nodes.counts[child]));
    });
    return made;
  };

  const isWaiting = () => asOf() !== null && !BrainScore.taken("dates");

  const weighing = () => {
    const day = asOf();
    const isMade = (isReweighted() || day !== null) && !isWaiting();
    const key = isMade ? `${isReweighted() ? state.get("without") : ""} ${BrainScore.missing()} ${day}` : "";
    if (weighed.key !== key) {
      const made = isMade ? planned(day) : { parts: new Map(), without: new Set() };
      weighed = { key, made: new Map(), ...made };
    }
    return weighed;
  };

  /** Return the column of a node if all its data are loaded, otherwise undefined. */
  const column = (node) => {
    if (isWaiting()) return undefined;
    const { parts, made } = weighing();
    if (asOf() !== null && nodes.leaf[node] && BrainScore.column(node)) {
      if (!made.has(node)) made.set(node, columnThen(node, asOf()));
      return made.get(node);
    }
    if (!parts.has(node)) return BrainScore.column(node);
    if (!made.has(node)) {
      const needed = parts.get(node).map(column);
      if (needed.some((each) => !each)) return undefined;
      made.set(node, averages.combine(needed, models.id.length, BrainScore.missing()));
    }
    return made.get(node);
  };

  /** Load the data of a node's column. */
  const need = async (node) => {
    if (isWaiting()) await BrainScore.load("dates");
    const parts = weighing().parts.get(node);
    return parts ? Promise.all(parts.map(need)) : BrainScore.loadColumn(node);
  };

  // -- rows -----------------------------------------------------------------------------------------------------------

  const collator = new Intl.Collator("en", { numeric: true });
  const byName = models.name.map((_, model) => model).sort((a, b) => collator.compare(models.name[a], models.name[b]));
  const placeByName = [];
  byName.forEach((model, place) => (placeByName[model] = place));
  const hasScore = models.id.map((_, model) => board.top.some((node) => BrainScore.shown(board.columns[node], model)[0] !== null));
  const searched = models.id.map((id, model) => `${models.name[model]} ${id} ${models.family[model] ?? ""}`.toLowerCase());

  /** Return the node that determines the sorting (null for names) and the direction. */
  const sorting = () => {
    const slug = state.get("sort");
    const by = slug === "model" ? null : (nodeOf.get(slug) ?? main);
    return { by, descending: state.get("desc") === null ? by !== null : state.get("desc") === "1" };
  };

  /** Return the node whose ranks are shown: the sorted one, or otherwise the first. */
  const ranked = () => sorting().by ?? main;

  const setSort = (node) => {
    const { by, descending } = sorting();
    const slug = node === null ? "model" : nodes.slug[node];
    const turned = by === node ? !descending : node !== null;
    state.set({ sort: node === main ? null : slug, desc: turned === (node !== null) ? null : turned ? "1" : "0" });
  };

  const number = (name) => {
    const text = state.get(name);
    return text === null || !Number.isFinite(Number(text)) ? null : Number(text);
  };

  /** Filters: their descriptions, and whether a model passes. */
  const filters = () => {
    const made = [];
    const add = (names, text, passes) => made.push({ names, text, passes });
    const access = state.get("access");
    if (access === "public" || access === "private") {
      add(["access"], access, (model) => models.public[model] === (access === "public"));
    }
    for (const name of ["family", "training", "licence"]) {
      const chosen = state.get(name);
      if (chosen !== null) add([name], `${name}: ${chosen}`, (model) => models[name][model] === chosen);
    }
    for (const [low, high, values, scale, told] of [
      ["pmin", "pmax", models.parameters, 1e6, (text) => `${text} M parameters`],
      ["ymin", "ymax", models.year, 1, (text) => `year ${text}`],
      ["smin", "smax", models.image_size, 1, (text) => `${text} pixels`],
    ]) {
      const [from, to] = [number(low), number(high)];
      if (from === null && to === null) continue;
      const text = from === null ? `\u2264 ${to}` : to === null ? `\u2265 ${from}` : `${from}\u2013${to}`;
      add([low, high], told(text), (model) => {
        const value = values[model];
        return value !== null && (from === null || value >= from * scale) && (to === null || value <= to * scale);
      });
    }
    const share = number("scored");
    if (share !== null && hasCounts) {
      const { missing, n } = board.columns[main];
      add(["scored"], `\u2265 ${share} % scored`, (model) => 100 * (n[model] - missing[model]) >= share * n[model]);
    }
    return made;
  };
  const hasCounts = main !== null && !nodes.leaf[main]; // counts of scored benchmarks exist for averages

  const pinned = () => state.list("pin").flatMap((slug) => modelOf.get(slug) ?? []);

  const togglePin = (model) => {
    const slugs = state.list("pin");
    const slug = models.slug[model];
    state.set({ pin: slugs.includes(slug) ? slugs.filter((each) => each !== slug) : [...slugs, slug] });
  };

  const compare = () => {
    const { by, descending } = sorting();
    const sign = descending ? -1 : 1;
    const of = by === null ? null : column(by);
    return (a, b) => {
      if (of) {
        const [[x, isBeside], [y, isOtherBeside]] = [BrainScore.shown(of, a), BrainScore.shown(of, b)];
        if (x !== null && y !== null && (isBeside === null) !== (isOtherBeside === null)) return isBeside === null ? -1 : 1;
        if (x === null || y === null) {
          if (x !== y) return x === null ? 1 : -1; // models without a score come last in either direction
          if (hasScore[a] !== hasScore[b]) return hasScore[a] ? -1 : 1;
        } else if (x !== y) return x < y ? -sign : sign;
        return placeByName[a] - placeByName[b];
      }
      return by === null ? sign * (placeByName[a] - placeByName[b]) : placeByName[a] - placeByName[b];
    };
  };

  /** Return whether a text matches a search: all words, with OR between alternatives and NOT before excluded words. */
  const searching = (asked) => {
    const alternatives = asked.split(/\sOR(?=\s|$)/).map((some) => {
      const words = some.split(/\s+/).filter((word) => word && word !== "AND");
      return words.flatMap((word, i) => (word === "NOT" ? [] : [[word.toLowerCase(), words[i - 1] !== "NOT"]]));
    });
    const meant = alternatives.filter((words) => words.length);
    return (text) => !meant.length || meant.some((words) => words.every(([word, shall]) => text.includes(word) === shall));
  };

  /** Return the models in order: pinned ones, which filters never hide, then the others. */
  const rows = () => {
    const isMeant = searching(state.get("q") ?? "");
    const passing = filters();
    const atTop = new Set(pinned());
    const passes = (model) => isMeant(searched[model]) && passing.every((filter) => filter.passes(model));
    const found = byName.filter(passes);
    const order = compare();
    return {
      pinned: [...atTop].sort(order),
      rest: found.filter((model) => !atTop.has(model)).sort(order),
      found: found.length,
    };
  };

  // -- words ----------------------------------------------------------------------------------------------------------

  const REASONS = {
    n: ["n/a", "not applicable"],
    f: ["failed", "failed"],
    q: ["not run", "not run yet"],
    r: ["running", "running now"],
    v: ["version", "scored on another version of the benchmark"],
    h: ["private", "private: this score is not shown"],
    p: ["incomplete", "some of its benchmarks have no score"],
    "-": ["none", "none of its benchmarks has a score"],
  };

  /** Return why there is no score: [short form, in words]. */
  const reason = (code, node) => {
    const root = rootOf[node];
    const isApart = !nodes.leaf[node] && (nodes.simulated[root] || nodes.id[root] === "other");
    return isApart ? ["no mean", "not averaged"] : (REASONS[code] ?? ["none", "no score"]);
  };

  /** Return a short description of the amount of data behind a node's scores. */
  const countOf = (node) => {
    if (!nodes.leaf[node]) {
      const { without } = weighing();
      const isApart = nodes.counts?.[rootOf[node]] === false; // then the whole tree is apart and not averaged
      const count = (each) => (without.has(each) ? 0 : nodes.leaf[each] ? Number(isApart || (nodes.counts?.[each] ?? true)) : children[each].reduce((n, c) => n + count(c), 0));
      return `${format.count(count(node))} benchmarks`;
    }
    if (nodes.n_neuroids[node] !== null && nodes.kind[node] === "neural") return `${format.count(nodes.n_neuroids[node])} neuroids`;
    if (nodes.n_subjects[node] !== null) return `${format.count(nodes.n_subjects[node])} subjects`;
    return nodes.n_stimuli[node] === null ? "n not stated" : `${format.count(nodes.n_stimuli[node])} stimuli`;
  };

  BrainScore.view = {
    board, models, nodes, children, roots, rootOf, main, nodeOf, modelOf, hasLeaf, columns, isOpen, setOpen, column, need, weighing,
    sorting, setSort, ranked, filters, rows, pinned, togglePin, reason, countOf, isReweighted, nodesIn, isChosenAmong, asOf, hasCounts,
  };
})();
