"use strict";
// Statistics computed in the browser, as in Python: Student's t, Holm's correction and correlations over models.
(() => {
  const BrainScore = (globalThis.BrainScore ??= {});

  /** The complementary error function of x >= 0: a series of positive terms below 3, then a continued fraction. */
  function erfc(x) {
    if (x < 3) {
      let [term, sum] = [x, x];
      for (let n = 1; term > sum * 1e-17 && n < 200; n += 1) {
        term *= (2 * x * x) / (2 * n + 1);
        sum += term;
      }
      return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
    }
    let fraction = x;
    for (let n = 60; n > 0; n -= 1) fraction = x + n / 2 / fraction;
    return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
  }

  const LANCZOS = [
    76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2,
    -0.5395239384953e-5,
  ];

  function logGamma(x) {
    let sum = 1.000000000190015;
    LANCZOS.forEach((each, k) => {
      sum += each / (x + 1 + k);
    });
    return (x + 0.5) * Math.log(x + 5.5) - (x + 5.5) + Math.log((Math.sqrt(2 * Math.PI) * sum) / x);
  }

  /** The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22). */
  function betaFraction(x, a, b) {
    const away = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
    let c = 1;
    let d = 1 / away(1 - ((a + b) * x) / (a + 1));
    let fraction = d;
    for (let m = 1; m < 5000; m += 1) {
      for (const term of [
        (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
        (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
      ]) {
        d = 1 / away(1 + term * d);
        c = away(1 + term / c);
        fraction *= c * d;
      }
      if (Math.abs(c * d - 1) < 1e-15) break;
    }
    return fraction;
  }

  function incompleteBeta(x, a, b) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    return x < (a + 1) / (a + b + 2)
      ? (front * betaFraction(x, a, b)) / a
      : 1 - (front * betaFraction(1 - x, b, a)) / b;
  }

  /** Return the two-sided probability of Student's t beyond +-t. */
  function twoSided(t, freedom) {
    const size = Math.abs(t);
    if (Number.isNaN(size) || Number.isNaN(freedom)) return NaN;
    if (size === Infinity) return 0;
    if (freedom === Infinity) return erfc(size / Math.SQRT2);
    return incompleteBeta(freedom / (freedom + size * size), freedom / 2, 0.5);
  }

  const quantiles = new Map();

  /** Return the value of Student's t exceeded by 5 % on both sides together. */
  function quantile(freedom) {
    if (!quantiles.has(freedom)) {
      let [low, high] = [0, 20];
      for (let k = 0; k < 80; k += 1) {
        const middle = (low + high) / 2;
        [low, high] = twoSided(middle, freedom) > 0.05 ? [middle, high] : [low, middle];
      }
      quantiles.set(freedom, (low + high) / 2);
    }
    return quantiles.get(freedom);
  }

  /** Correct probabilities for multiple tests (Holm 1979); null and NaN are not tests and stay unchanged. */
  function holm(given) {
    const order = given
      .map((_, at) => at)
      .filter((at) => Number.isFinite(given[at]))
      .sort((a, b) => given[a] - given[b]);
    const corrected = given.slice();
    let largest = 0;
    order.forEach((at, place) => {
      largest = Math.max(largest, given[at] * (order.length - place));
      corrected[at] = Math.min(1, largest);
    });
    return corrected;
  }

  /** Return ranks from 1; equal values share their mean rank. */
  function ranks(values) {
    const order = values.map((_, at) => at).sort((a, b) => values[a] - values[b]);
    const found = new Array(values.length);
    for (let start = 0; start < order.length;) {
      let end = start;
      while (end + 1 < order.length && values[order[end + 1]] === values[order[start]]) end += 1;
      for (let k = start; k <= end; k += 1) found[order[k]] = (start + end) / 2 + 1;
      start = end + 1;
    }
    return found;
  }

  function pearson(x, y) {
    const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const [mx, my] = [mean(x), mean(y)];
    let [xy, xx, yy] = [0, 0, 0];
    x.forEach((value, at) => {
      xy += (value - mx) * (y[at] - my);
      xx += (value - mx) ** 2;
      yy += (y[at] - my) ** 2;
    });
    return xx > 0 && yy > 0 ? Math.max(-1, Math.min(1, xy / Math.sqrt(xx * yy))) : NaN;
  }

  /**
   * Correlate the values of models that have both: {n, r, low, high}.
   *
   * The interval is Fisher's, for resampled models; for ranks with the variance of Bonett & Wright (2000).
   */
  function correlation(x, y, { ranked = false } = {}) {
    const both = x.map((_, at) => at).filter((at) => Number.isFinite(x[at]) && Number.isFinite(y[at]));
    const of = (values) => (ranked ? ranks(both.map((at) => values[at])) : both.map((at) => values[at]));
    const n = both.length;
    const r = n > 2 ? pearson(of(x), of(y)) : NaN;
    if (!(n > 3) || Number.isNaN(r)) return { n, r, low: NaN, high: NaN };
    const error = Math.sqrt((ranked ? 1 + (r * r) / 2 : 1) / (n - 3));
    const ends = [-1, 1].map((sign) => Math.tanh(Math.atanh(r) + sign * quantile(Infinity) * error));
    return { n, r, low: ends[0], high: ends[1] };
  }

  BrainScore.statistics = { correlation, holm, quantile, ranks, twoSided };
})();
