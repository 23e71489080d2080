/**
 * Averages and ranks over selected benchmarks, by the rules of `brainscore_core.statistics.averages`.
 *
 * A node is the mean of its children; if none of them has a score, it has none either. Benchmarks that are not
 * selected are not in the tree.
 */
"use strict";
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});

  /** Add numbers exactly, like `math.fsum` (Shewchuk 1997, doi:10.1007/PL00009321). */
  const fsum = (numbers) => {
    const partials = [];
    for (let x of numbers) {
      let kept = 0;
      for (let y of partials) {
        if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
        const high = x + y;
        const low = y - (high - x);
        if (low) partials[kept++] = low;
        x = high;
      }
      partials.length = kept;
      partials.push(x);
    }
    let place = partials.length - 1;
    if (place < 0) return 0;
    let total = partials[place];
    let low = 0;
    while (place > 0 && low === 0) {
      const before = total;
      total = before + partials[--place];
      low = partials[place] - (total - before);
    }
    // A tie of half a unit in the last place is rounded by the sign of the remaining parts.
    if (place > 0 && ((low < 0 && partials[place - 1] < 0) || (low > 0 && partials[place - 1] > 0))) {
      const twice = low * 2;
      const moved = total + twice;
      if (twice === moved - total) total = moved;
    }
    return total;
  };

  /** Return the rank of each value, 1 for the largest; equal values share a rank, null has none. */
  const ranks = (values) => {
    const there = values.flatMap((value, place) => (value === null ? [] : [place]));
    there.sort((a, b) => values[b] - values[a]);
    const found = values.map(() => null);
    there.forEach((place, i) => {
      found[place] = i && values[place] === values[there[i - 1]] ? found[there[i - 1]] : i + 1;
    });
    return found;
  };

  /**
   * Return which version of a benchmark counts, as `brainscore_core.records.comparison.counting_version`.
   * @param {(number|null)[][]} versions for each model, the versions on which it has a score
   */
  const countingVersion = (versions) => {
    const models = versions.filter((own) => own.length);
    const numbers = new Map();
    for (const own of models) for (const version of new Set(own)) numbers.set(version, (numbers.get(version) ?? 0) + 1);
    const ordered = [...numbers.keys()].sort((a, b) => (b ?? -1) - (a ?? -1));
    const most = Math.max(...numbers.values());
    return ordered.find((version) => 10 * numbers.get(version) >= 9 * models.length) ?? ordered.findLast((version) => numbers.get(version) === most) ?? null;
  };

  /** Return the children of each node. */
  const childrenOf = (parents) => {
    const children = parents.map(() => []);
    parents.forEach((parent, node) => parent >= 0 && children[parent].push(node));
    return children;
  };

  /**
   * Find the nodes that enter the average of each node over the selected benchmarks.
   * @param {{parent: number[], leaf: boolean[], counts: ?boolean[]}} nodes parents before children; a benchmark that
   *   doesn't count (simulated, or without any score) is not averaged
   * @param {(leaf: number) => boolean} isChosen
   * @returns {{parts: Map<number, number[]>, without: Set<number>}} parts: for each node with some but not all of its
   *   benchmarks selected, the children that count; without: the nodes without selected benchmarks
   */
  const plan = (nodes, isChosen) => {
    const children = childrenOf(nodes.parent);
    const [whole, counts] = [[], []];
    const parts = new Map();
    const without = new Set();
    for (let node = nodes.parent.length - 1; node >= 0; node--) {
      if (nodes.leaf[node]) {
        whole[node] = Boolean(isChosen(node));
        counts[node] = whole[node] && (nodes.counts?.[node] ?? true);
        if (!whole[node]) without.add(node);
        continue;
      }
      const kept = children[node].filter((child) => counts[child]);
      whole[node] = children[node].every((child) => whole[child]);
      counts[node] = kept.length > 0;
      if (children[node].every((child) => without.has(child))) without.add(node);
      else if (!whole[node]) parts.set(node, kept);
    }
    return { parts, without };
  };

  /** Return [node, weight] for the fully selected nodes that enter a node's average; see `plan`. */
  const weights = (parts, node, weight = 1) => {
    const below = parts.get(node);
    return below ? below.flatMap((child) => weights(parts, child, weight / below.length)) : [[node, weight]];
  };

  /**
   * Average columns.
   * @param {object[]} parts columns
   * @param {number} size number of models
   * @param {string} missing how a missing score counts: "complete", "zero" or "left-out", see `average_tree`; with
   *   "complete", only complete models have a value, and the others an unranked mean over their scores
   * @returns {object} a Column. Its interval is an upper bound, for fully correlated errors: the correlations are known
   *   only where the records are, not here; for the same reason ranks have no interval and there are no groups.
   */
  const combine = (parts, size, missing = "complete") => {
    const models = Array.from({ length: size }, (_, model) => model);
    const mean = (name, model) => {
      const there = parts.filter((column) => column.value[model] !== null);
      if (!there.length || (missing === "complete" && there.length < parts.length)) return null;
      if (name !== "value" && count("missing", model) > 0) return null; // an incomplete average has no interval
      if (there.some((column) => column[name][model] === null)) return null;
      return fsum(there.map((column) => column[name][model])) / (missing === "left-out" ? there : parts).length;
    };
    const countOf = (column, name, model) => {
      if (column[name]) return column[name][model];
      return name === "n" ? 1 : Number(column.value[model] === null); // a benchmark
    };
    const count = (name, model) => parts.reduce((total, column) => total + countOf(column, name, model), 0);
    /** Return the mean over a model's existing parts; a score on another version of a benchmark is not a part. */
    const presentMean = (model) => {
      const there = parts.map((column) => (column.code[model] === "v" ? null : BrainScore.shown(column, model)[0])).filter((each) => each !== null);
      return there.length ? [fsum(there) / there.length, `${count("n", model) - count("missing", model)} of ${count("n", model)}`] : null;
    };
    const value = models.map((model) => mean("value", model));
    const incomplete = missing === "complete" ? models.filter((model) => value[model] === null && presentMean(model)) : [];
    const lacking = models.map((model) => count("missing", model));
    const n = models.map((model) => count("n", model));
    return {
      value,
      low: models.map((model) => mean("low", model)),
      high: models.map((model) => mean("high", model)),
      code: models.map((model) => (lacking[model] === n[model] ? "-" : lacking[model] ? "p" : "a")).join(""),
      missing: lacking,
      n,
      rank: ranks(value.map((each, model) => (lacking[model] ? null : each))),
      rank_low: models.map(() => null),
      rank_high: models.map(() => null),
      group: models.map(() => ""),
      unranked: Object.fromEntries(incomplete.map((model) => [model, presentMean(model)])),
      reweighted: true,
    };
  };

  BrainScore.averages = { fsum, ranks, countingVersion, childrenOf, plan, weights, combine };
})();
