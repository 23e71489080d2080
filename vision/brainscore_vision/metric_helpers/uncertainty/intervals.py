r"""Estimate the uncertainty of a score over newly sampled stimuli and neuroids by draws.

Most metrics report it from influences (`statistics.influence`). For other statistics, `half_sample_interval` recomputes
them on halves of stimuli and neuroids, drawn *without* replacement (Politis et al. 1999,
doi:10.1007/978-1-4612-1554-7). A half varies around the whole as much as a bootstrap sample, because :math:`(1/m -
1/n)\,\sigma^2 = \sigma^2/n` for :math:`m = n/2` (Friedman & Hall 2007, doi:10.1016/j.jspi.2006.06.002, section 3), but
holds every stimulus once. Only the spread is used.

As halves of both hold the noise of cells three times (Owen 2007, doi:10.1214/07-AOAS122), draws of each kind give

.. math:: V = V_{stimuli} + V_{neuroids} - V_{interaction},

for sums over cells the two-factor correction :math:`2 (V_{stimuli} + V_{neuroids}) - V_{both}` of Schütt et al. (2023,
doi:10.7554/eLife.82566), with less scatter.

Resamples are weights and draws (Efron & Tibshirani 1993, doi:10.1201/9780429246593).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.statistics.influence import LEVEL, Interval, t_quantile
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import ROUNDING
from brainscore_vision.metric_helpers.arrays.seeds import generator

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray

__all__ = [
    "HeldOut",
    "attach_error",
    "bootstrap_error",
    "bootstrap_weights",
    "half_sample_interval",
    "held_out_medians",
    "medians_of_draws",
    "percentiles",
    "weighted_correlations",
]

_COORD_OF_DIM = {"presentation": Defaults.stimulus_coord, "neuroid": Defaults.neuroid_coord}
_OF_OTHER_ERRORS = ("influence", "stimulus_error", "error_nan_reason", "interval_nan_reason")
_FEWEST = 4  # least number of units to draw halves of


class HeldOut(NamedTuple):
    """Predictions of a metric for the test stimuli of one split."""

    prediction: Floats  # (n_test_stimuli, n_neuroids), usable neuroids only
    measurement: Floats  # same shape and order
    stimuli: NDArray[Any]  # (n_test_stimuli,), their `stimulus_id`


def half_sample_interval(
    statistic: Callable[..., Score | float],
    source: xr.DataArray,
    target: xr.DataArray,
    *others: xr.DataArray,
    n_resamples: int = 200,
    seed: int = 0,
) -> Score:
    """Compute a statistic of assemblies with a 95 % interval over new stimuli and neuroids, from halves of both.

    Halves are drawn without replacement. It serves metrics whose steps or inputs hide how stimuli and neuroids move the
    score: a step of their own, ready-made dissimilarities, or predictions too large to keep.

    Parameters
    ----------
    statistic
        ``statistic(source, target, *others)`` returns a number or a 0-d Score, such as a ceiled score: ``lambda source,
        target, repetitions: explained_variance(metric(source, target), ceiling(repetitions))``.
    source, target, *others : DataAssembly
        A stimulus or neuroid omitted from `target` is omitted from all.
    n_resamples
        Draws; each computes the statistic three times, or once without neuroids.

    Returns
    -------
    Score
        A copy with attrs ``interval`` (score ± error times the quantile of Student's t), ``error``, ``error_over``
        (fewer than four neuroids are not sampled), ``interval_method``, ``n_resamples`` and ``interval_seed``.

    Raises
    ------
    AssemblyError
        For fewer than four stimuli.

    Examples
    --------
    >>> from brainscore_core.testing.synthetic import make_neuroid_assembly
    >>> model, measured = (make_neuroid_assembly(40, 10, noise=noise) for noise in (0.1, 0.9))
    >>> def mean_response(source, target):
    ...     return Score(np.corrcoef(source.mean("neuroid"), target.mean("neuroid"))[0, 1])
    >>> score = half_sample_interval(mean_response, model, measured)
    >>> low, high = score.attrs["interval"]
    >>> low < float(score) < high
    True
    """
    result = statistic(source, target, *others)
    score = (result if isinstance(result, Score) else Score(result)).copy(deep=False)
    units = {dim: np.unique(target[coord].values) for dim, coord in _COORD_OF_DIM.items() if coord in target.coords}
    if (n := len(units.get("presentation", ()))) < _FEWEST:
        raise AssemblyError(
            f"An interval is drawn from halves of the stimuli, but the target has only {n} (by stimulus_id); expected "
            f"at least {_FEWEST}."
        )
    units = {dim: values for dim, values in units.items() if len(values) >= _FEWEST}
    spread = _half_sample_spread(statistic, [source, target, *others], units, n_resamples, seed)
    margin = spread.error * t_quantile(spread.df) if spread.error else 0.0
    score.attrs = {
        **{key: value for key, value in score.attrs.items() if key not in _OF_OTHER_ERRORS},
        "interval": (float(score) - margin, float(score) + margin),
        "error": spread.error,
        "error_over": list(units),
        "interval_method": "half samples",
        "interval_seed": seed,
        "n_resamples": n_resamples,
    }
    return score


def percentiles(samples: Floats) -> Interval:
    """Return the interval that holds 95 % of the samples; NaN if none is finite."""
    finite = samples[np.isfinite(samples)]
    if not finite.size:
        return float("nan"), float("nan")
    low, high = np.quantile(finite, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def held_out_medians(parts: Sequence[HeldOut], n_resamples: int = 200, seed: int = 0) -> tuple[Floats, Floats]:
    """Summarise held-out predictions of the same neuroids, for all and for draws of stimuli and neuroids.

    Draws depend only on seed and stimuli, so models can be compared draw by draw. The median over neuroids of the
    defined correlations has the shape (n_parts,), drawn ones (n_resamples, n_parts).
    """
    n_neuroids = parts[0].prediction.shape[1]
    stimuli = np.unique(np.concatenate([part.stimuli for part in parts]))
    position = {stimulus: index for index, stimulus in enumerate(stimuli.tolist())}
    everything = np.arange(n_neuroids)[None]
    whole = _medians([_correlations(part, np.ones((1, len(stimuli))), position) for part in parts], everything)[0]
    weights = bootstrap_weights(generator(seed, "interval", "presentation"), len(stimuli), n_resamples)
    neuroids = generator(seed, "interval", "neuroid").integers(n_neuroids, size=(n_resamples, n_neuroids))
    return whole, _medians([_correlations(part, weights, position) for part in parts], neuroids)


def _correlations(part: HeldOut, weights: Floats, position: dict[object, int]) -> Floats:
    columns = [position[stimulus] for stimulus in part.stimuli.tolist()]
    return weighted_correlations(weights[:, columns], part.measurement, part.prediction)


def _medians(correlations: Sequence[Floats], neuroids: Indices) -> Floats:
    return np.stack([medians_of_draws(part[:, None, :], neuroids)[:, 0] for part in correlations], axis=1)


class _Spread(NamedTuple):
    error: float
    df: float


def _half_sample_spread(
    statistic: Callable[..., Score | float],
    assemblies: Sequence[xr.DataArray],
    units: Mapping[str, NDArray[Any]],
    n_resamples: int,
    seed: int,
) -> _Spread:
    # The model keeps its neuroids.
    places = [
        {
            dim: _places(assembly, dim, units[dim])
            for dim in units
            if _COORD_OF_DIM[dim] in assembly.coords and (of_target or dim == "presentation")
        }
        for of_target, assembly in enumerate(assemblies)
    ]
    rngs = {dim: generator(seed, "half sample", dim) for dim in units}
    drawn = [tuple(units)] if len(units) == 1 else [("presentation",), ("neuroid",), ("presentation", "neuroid")]
    samples = np.empty((len(drawn), n_resamples))
    for index in range(n_resamples):
        members = {}
        for dim, values in units.items():
            n = len(values)
            members[dim] = np.zeros(n + 1, dtype=bool)
            members[dim][rngs[dim].permutation(n)[: n // 2]] = True
            members[dim][n] = True  # for values outside the units
        for row, dims in zip(samples, drawn, strict=True):
            halves = [
                assembly.isel({dim: np.flatnonzero(members[dim][where[dim]]) for dim in dims if dim in where})
                for assembly, where in zip(assemblies, places, strict=True)
            ]
            row[index] = float(statistic(*halves))
    # Half of an odd number is rounded down.
    shares = [len(values) // 2 / (len(values) - len(values) // 2) for values in units.values()]
    counts = [len(values) - 1 for values in units.values()]
    parts = [(_variance(row) * share, n) for row, share, n in zip(samples, shares, counts, strict=False)]
    if len(units) > 1:
        interaction = _variance(samples[2] - samples[0] - samples[1]) * shares[0] * shares[1]
        parts.append((-interaction, counts[0] * counts[1]))
    return _spread(parts, n_resamples)


def _variance(samples: Floats) -> float:
    finite = samples[np.isfinite(samples)]
    return float(finite.var(ddof=1)) if len(finite) > 1 else float("nan")


def _spread(parts: Sequence[tuple[float, int]], n_resamples: int) -> _Spread:
    """Add variances with their degrees of freedom, which the number of draws limits too."""
    variance = max(sum(part for part, _ in parts), *(part for part, _ in parts))
    uncertainty = sum(part**2 * (1 / n + 1 / max(n_resamples - 1, 1)) for part, n in parts)
    df = variance**2 / uncertainty if uncertainty > 0 else float("inf")
    return _Spread(float(np.sqrt(variance)), df)


def _places(assembly: xr.DataArray, dim: str, units: NDArray[Any]) -> Indices:
    """Return the unit of each entry along a dimension.

    Values outside the target's units, such as training stimuli, are always selected.
    """
    values = assembly[_COORD_OF_DIM[dim]].values
    index = np.minimum(np.searchsorted(units, values), len(units) - 1)
    return np.where(units[index] == values, index, len(units))


_BLOCK_VALUES = 2**21
"""Drawn values held at a time (16 MiB)."""


def bootstrap_weights(rng: np.random.Generator, n: int, n_resamples: int) -> Floats:
    """Draw how often each of n entries occurs in samples of size n with replacement, shape (n_resamples, n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)


def weighted_correlations(weights: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    """Compute Pearson correlations of columns, shape (n_weightings, n_columns), under weightings of their rows.

    Weights, shape (n_weightings, n_stimuli), are not negative; integers count rows repeatedly. NaN where a column is
    constant under the weights.
    """
    w = np.asarray(weights, dtype=np.float64)
    total = w.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Standardising first saves the digits of mean square less squared mean.
        columns = [_standardized(np.asarray(side, dtype=np.float64)) for side in (first, second)]
        x, y = columns
        mean_x, mean_y = w @ x / total, w @ y / total
        covariance = w @ (x * y) / total - mean_x * mean_y
        variance_x = w @ (x * x) / total - mean_x**2
        variance_y = w @ (y * y) / total - mean_y**2
        r = covariance / np.sqrt(variance_x * variance_y)
    r[~((variance_x > ROUNDING) & (variance_y > ROUNDING))] = np.nan
    clipped: Floats = np.clip(r, -1.0, 1.0)
    return clipped


def _standardized(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.mean(centred**2, axis=0))
    standardized: Floats = centred / np.where(scale > 0, scale, 1.0)
    return standardized


def medians_of_draws(values: ArrayLike, draws: Indices) -> Floats:
    """Take the median over drawn columns, ignoring NaN; for each draw there is a table of shape (n_rows, n_columns)."""
    table = np.asarray(values, dtype=np.float64)
    n_rows = table.shape[1]
    result = np.empty((len(draws), n_rows))
    with_nan = bool(np.isnan(table).any())
    step = max(1, _BLOCK_VALUES // max(1, n_rows * draws.shape[1]))
    for start in range(0, len(draws), step):
        rows = draws[start : start + step]
        drawn = np.take_along_axis(table[start : start + step], rows[:, None, :], axis=2)
        result[start : start + step] = _nan_median(drawn) if with_nan else np.median(drawn, axis=2)
    return result


def _nan_median(values: Floats) -> Floats:
    """Take medians over the last axis without NaN, which sorting puts last."""
    ordered = np.sort(values, axis=-1)
    count = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[-1] - 1)
    middle: Floats = 0.5 * (np.take_along_axis(ordered, low, -1) + np.take_along_axis(ordered, high, -1))[..., 0]
    return middle


# Attach the published bootstrap standard error to a score. No metric of the library uses it: see `arrays.influence`.


def bootstrap_error(
    values: xr.DataArray,
    over: Sequence[str],
    aggregate: Callable[[xr.DataArray], float] | None = None,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> float:
    """Estimate a summary's standard error by drawing entries with replacement (Efron & Tibshirani 1993).

    It is the standard deviation (divisor n - 1) over draws with a finite summary, NaN if fewer than two.

    Parameters
    ----------
    over
        Sampled dimensions, drawn independently; entries along each stay together. ValueError if empty or absent.
    aggregate
        ``aggregate(drawn values) -> number``, the summary; None: the mean without NaN.
    seed
        Seed of ``numpy.random.default_rng``, which draws ``over`` in the given order, as in the published system.
    """
    absent = [dim for dim in over if dim not in values.dims]
    if absent or not over:
        raise ValueError(f"Cannot draw along {absent or list(over)}: the values have the dimensions {values.dims}.")
    rng = np.random.default_rng(seed)
    array = np.asarray(values.values, dtype=float)
    drawn = np.empty(n_bootstrap)
    for draw in range(n_bootstrap):
        rows = {dim: rng.integers(0, values.sizes[dim], values.sizes[dim]) for dim in over}
        if aggregate is not None:
            drawn[draw] = float(aggregate(values.isel(rows)))
        else:
            sample = array
            for axis, dim in enumerate(values.dims):
                sample = sample.take(rows[str(dim)], axis=axis) if dim in rows else sample
            finite = sample[~np.isnan(sample)]
            drawn[draw] = finite.mean() if finite.size else np.nan
    drawn = drawn[np.isfinite(drawn)]
    return float(np.std(drawn, ddof=1)) if drawn.size > 1 else float("nan")


def attach_error(
    score: Score,
    values: xr.DataArray,
    over: Sequence[str],
    aggregate: Callable[[xr.DataArray], float] | None = None,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> Score:
    """Write the bootstrap standard error into a score's attributes; parameters as for `bootstrap_error`.

    These are ``error``, ``error_over``, ``n_bootstrap``, and ``raw`` (the values) unless it has one.
    """
    score.attrs["error"] = bootstrap_error(values, over, aggregate, n_bootstrap, seed)
    score.attrs["error_over"] = list(over)
    score.attrs["n_bootstrap"] = int(n_bootstrap)
    score.attrs.setdefault("raw", values)
    return score
