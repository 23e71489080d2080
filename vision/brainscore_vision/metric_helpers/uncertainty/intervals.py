r"""Estimate how uncertain a score is about stimuli and neuroids that could have been sampled instead.

Three ways, from cheap to general:

- `raw_interval` draws neuroids and splits of the values that a score keeps in ``attrs['raw']``.
- Where a metric offers what it predicted for held-out stimuli (`HoldsOut`), these stimuli are drawn with replacement.
  Nothing is fitted again, so no copy of a stimulus is in training and test at once.
- `half_sample_interval` computes anything anew on halves of the stimuli and neuroids, drawn *without* replacement. A
  half of n varies around the whole as much as a bootstrap sample of n does, because
  :math:`(1/m - 1/n)\,\sigma^2 = \sigma^2/n` for :math:`m = n/2`, and holds every stimulus once: a regression cannot
  have seen its test stimuli, and a dissimilarity matrix has no zeros between copies. A score on half the stimuli is
  lower where something is fitted; only its spread is used, around the score on all of them.

References
----------
Efron & Tibshirani (1993), An Introduction to the Bootstrap, doi:10.1201/9780429246593. Politis, Romano & Wolf (1999),
Subsampling, doi:10.1007/978-1-4612-1554-7. Friedman & Hall (2007), On bagging and nonlinear estimation, section 3,
doi:10.1016/j.jspi.2006.06.002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.labelled.alignment import coordinate
from brainscore_vision.metric_helpers.uncertainty.resampling import (
    bootstrap_weights,
    means_of_drawn_splits,
    medians_of_draws,
    weighted_correlations,
)
from brainscore_vision.metric_helpers.uncertainty.seeds import generator

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray

__all__ = ["HeldOut", "HoldsOut", "bootstrap_interval", "half_sample_interval", "raw_interval", "with_interval"]

Interval = tuple[float, float]
_COORD_OF_DIM = {"presentation": Defaults.stimulus_coord, "neuroid": Defaults.neuroid_coord}
_FEWEST = 4  # of how many stimuli, neuroids, ... at least halves are drawn


class HeldOut(NamedTuple):
    """What a metric predicted for the test stimuli of one split."""

    prediction: Floats  # (n_test_stimuli, n_neuroids), of the neuroids that count
    measurement: Floats  # as the prediction, in the same order
    stimuli: NDArray[Any]  # (n_test_stimuli,), their `stimulus_id`


@runtime_checkable
class HoldsOut(Protocol):
    """A metric that correlates predictions of held-out stimuli: median over neuroids, mean over splits."""

    def held_out(self, source: xr.DataArray, target: xr.DataArray) -> Sequence[HeldOut]:
        """Return predictions and measurements of the test stimuli of every split.

        Raises
        ------
        NotImplementedError
            If a subclass or an argument replaced what predicts.
        """


def bootstrap_interval(
    metric: Callable[..., Score],
    source: xr.DataArray,
    target: xr.DataArray,
    *,
    over: Sequence[str] | None = None,
    n_resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> Score:
    """Compute a score with an interval for other stimuli and neuroids.

    Parameters
    ----------
    source, target : DataAssembly
        Of the model and of the measurement, with `stimulus_id` on presentation.
    over : sequence of str or None
        What is resampled: ``'presentation'`` (stimuli, each with all its presentations), ``'neuroid'`` (of the target;
        the model's are its own and stay), or a coordinate of the target such as ``'subject'``. None: presentation
        and, if the target has it, neuroid.
    level : float
        Coverage aimed at, in (0, 1).
    seed : int
        Root of the draws, see `brainscore_vision.metric_helpers.uncertainty.seeds`.

    Returns
    -------
    Score
        What the metric returns, a copy, with attrs ``interval`` (low, high), ``error`` (standard deviation over
        resamples), ``error_over``, ``n_resamples``, ``interval_level``, ``interval_seed``, and ``interval_method``:
        ``'held-out predictions'`` if the metric is a `HoldsOut` whose score is the mean over splits of the median over
        neuroids of correlations, else ``'half samples'``.

    Raises
    ------
    AssemblyError
        If something to resample is missing or has fewer than four values.

    Examples
    --------
    >>> from brainscore_core.testing.synthetic import make_neuroid_assembly
    >>> model, measured = (make_neuroid_assembly(40, 10, noise=noise) for noise in (0.1, 0.9))
    >>> def mean_response(source, target):
    ...     return Score(np.corrcoef(source.mean("neuroid"), target.mean("neuroid"))[0, 1])
    >>> score = bootstrap_interval(mean_response, model, measured)
    >>> low, high = score.attrs["interval"]
    >>> low < float(score) < high, score.attrs["interval_method"]
    (True, 'half samples')
    """
    names = _default_over(target) if over is None else list(over)
    score = metric(source, target)
    parts = _held_out_parts(metric, source, target) if set(names) <= {"presentation", "neuroid"} else None
    if parts:
        samples = _held_out_samples(parts, float(score), names, n_resamples, seed)
        if samples is not None:
            return with_interval(score, samples, names, level=level, seed=seed, method="held-out predictions")
    samples = _half_samples(metric, [source, target], float(score), names, n_resamples, seed)
    return with_interval(score, samples, names, level=level, seed=seed, method="half samples")


def half_sample_interval(
    statistic: Callable[..., Score | float],
    source: xr.DataArray,
    target: xr.DataArray,
    *others: xr.DataArray,
    over: Sequence[str] | None = None,
    n_resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> Score:
    """Compute any statistic of assemblies with an interval, from halves drawn without replacement.

    Parameters
    ----------
    statistic : callable
        ``statistic(source, target, *others)`` returns a number or a 0-d Score; for instance a ceiled score,
        ``lambda source, target, repetitions: explained_variance(metric(source, target), ceiling(repetitions))``.
    source : DataAssembly
        Of the model: its stimuli are drawn, all else is its own and stays.
    target, *others : DataAssembly
        Measurements. What is left out of `target` (a stimulus, a neuroid) is left out of all.
    """
    names = _default_over(target) if over is None else list(over)
    result = statistic(source, target, *others)
    score = result if isinstance(result, Score) else Score(result)
    samples = _half_samples(statistic, [source, target, *others], float(score), names, n_resamples, seed)
    return with_interval(score, samples, names, level=level, seed=seed, method="half samples")


def raw_interval(
    raw: xr.DataArray,
    *,
    n_splits_drawn: int | None = None,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Draw neuroids and splits of raw values; the statistic is the median over neuroids, then the mean over splits.

    Parameters
    ----------
    raw : Score or DataArray, dims (split, neuroid) or (neuroid)
        NaN does not count.
    n_splits_drawn : int or None
        Splits in each resample; None: as many as there are. Fewer where splits depend on each other.
    """
    values = np.asarray(raw.transpose(..., "neuroid").values, dtype=float)
    values = values.reshape(-1, values.shape[-1])
    rng = generator(seed, "interval", "neuroid")
    draws = rng.integers(values.shape[1], size=(n_resamples, values.shape[1]))
    rng = generator(seed, "interval", "split")
    return _percentiles(means_of_drawn_splits(values, draws, n_splits_drawn or len(values), rng), level)


def with_interval(score: Score, samples: Floats, over: Sequence[str], *, level: float, seed: int, method: str) -> Score:
    """Return a copy of a score with the interval and the error that samples, shape (n_resamples,), show."""
    low, high = _percentiles(samples, level)
    result = score.copy(deep=False)
    result.attrs = {
        **score.attrs,
        "interval": (low, high),
        "error": float(np.nanstd(samples, ddof=1)) if np.isfinite(samples).sum() > 1 else float("nan"),
        "error_over": list(over),
        "interval_level": level,
        "interval_method": method,
        "interval_seed": seed,
        "n_resamples": len(samples),
    }
    return result


def _percentiles(samples: Floats, level: float) -> Interval:
    if not 0 < level < 1:
        raise ValueError(f"The level of an interval lies between 0 and 1; got {level}.")
    finite = samples[np.isfinite(samples)]
    if not finite.size:
        return float("nan"), float("nan")
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _default_over(target: xr.DataArray) -> list[str]:
    return [dim for dim in ("presentation", "neuroid") if dim in target.dims]


# --- held-out predictions


def _held_out_parts(metric: object, source: xr.DataArray, target: xr.DataArray) -> Sequence[HeldOut] | None:
    """Return what the metric predicted of the target; None if it does not say, or predicts the source."""
    if not isinstance(metric, HoldsOut):
        return None
    try:
        parts = metric.held_out(source, target)
    except NotImplementedError:  # a part of the metric was replaced, so it does not know
        return None
    forward = bool(parts) and bool(np.isin(parts[0].measurement, np.asarray(target.values, dtype=float)).all())
    return parts if forward else None


def _held_out_samples(
    parts: Sequence[HeldOut], score: float, over: Sequence[str], n_resamples: int, seed: int
) -> Floats | None:
    """Draw stimuli and neuroids; None if the score is another summary of the predictions."""
    n_neuroids = parts[0].prediction.shape[1]
    stimuli = np.unique(np.concatenate([part.stimuli for part in parts]))
    position = {stimulus: index for index, stimulus in enumerate(stimuli.tolist())}
    everything = np.arange(n_neuroids)[None]
    whole = [_correlations(part, np.ones((1, len(stimuli))), position) for part in parts]
    if not np.isclose(_summary(whole, everything)[0], score, rtol=1e-6, atol=1e-9):
        return None
    weights = np.ones((n_resamples, len(stimuli)))
    if "presentation" in over:
        weights = bootstrap_weights(generator(seed, "interval", "presentation"), len(stimuli), n_resamples)
    neuroids = np.broadcast_to(everything, (n_resamples, n_neuroids))
    if "neuroid" in over:
        neuroids = generator(seed, "interval", "neuroid").integers(n_neuroids, size=(n_resamples, n_neuroids))
    samples = _summary([_correlations(part, weights, position) for part in parts], neuroids)
    # Few test stimuli, some of them drawn twice, correlate a little less: the bias of the draws is not that of a score.
    centred: Floats = samples - np.nanmean(samples) + score
    return centred


def _correlations(part: HeldOut, weights: Floats, position: dict[object, int]) -> Floats:
    columns = [position[stimulus] for stimulus in part.stimuli.tolist()]
    return weighted_correlations(weights[:, columns], part.measurement, part.prediction)


def _summary(correlations: Sequence[Floats], neuroids: Indices) -> Floats:
    """Median over drawn neuroids, mean over splits; correlations of shape (n_resamples, n_neuroids) for each split."""
    medians = [medians_of_draws(each[:, None, :], neuroids)[:, 0] for each in correlations]
    result: Floats = np.mean(medians, axis=0)
    return result


# --- halves without replacement


def _half_samples(
    statistic: Callable[..., Score | float],
    assemblies: Sequence[xr.DataArray],
    score: float,
    over: Sequence[str],
    n_resamples: int,
    seed: int,
) -> Floats:
    """Compute the statistic of halves and return how it scatters, around the score of the whole."""
    target = assemblies[1]
    units = {name: _units(target, name) for name in over}
    places = [
        {name: _places(each, name, units[name]) for name in over if of_target or name == "presentation"}
        for of_target, each in enumerate(assemblies)
    ]
    rngs = {name: generator(seed, "half sample", name) for name in over}
    samples = np.empty(n_resamples)
    for index in range(n_resamples):
        kept = {name: _half(rngs[name], len(values)) for name, values in units.items()}
        halves = [_selected(each, where, kept) for each, where in zip(assemblies, places, strict=True)]
        samples[index] = float(statistic(*halves))
    # Of odd numbers a half is a little less than a half.
    shares = [len(values) // 2 / (len(values) - len(values) // 2) for values in units.values()]
    scattered: Floats = score + (samples - np.nanmean(samples)) * np.sqrt(np.mean(shares))
    return scattered


def _units(target: xr.DataArray, name: str) -> NDArray[Any]:
    values = np.unique(coordinate(target, _COORD_OF_DIM.get(name, name)))
    if len(values) < _FEWEST:
        raise AssemblyError(
            f"An interval over {name!r} draws halves of its values, but the target has only {len(values)}; expected at "
            f"least {_FEWEST}. Leave it out of `over`."
        )
    return values


def _half(rng: np.random.Generator, n: int) -> NDArray[np.bool_]:
    """Choose half of n things, rounded down; the last entry, True, is for what is not among them."""
    kept = np.zeros(n + 1, dtype=bool)
    kept[rng.permutation(n)[: n // 2]] = True
    kept[n] = True
    return kept


def _places(assembly: xr.DataArray, name: str, units: NDArray[Any]) -> tuple[str, Indices] | None:
    """Return the dimension of a coordinate and which unit each entry is; None where the assembly lacks it.

    What is no unit of the target, such as a training stimulus, has the number behind the last: it always stays.
    """
    coord = _COORD_OF_DIM.get(name, name)
    if coord not in assembly.coords:
        return None
    values = coordinate(assembly, coord)
    index = np.minimum(np.searchsorted(units, values), len(units) - 1)
    return str(assembly[coord].dims[0]), np.where(units[index] == values, index, len(units))


def _selected(
    assembly: xr.DataArray,
    places: dict[str, tuple[str, Indices] | None],
    kept: dict[str, NDArray[np.bool_]],
) -> xr.DataArray:
    rows: dict[str, NDArray[np.bool_]] = {}
    for name, place in places.items():
        if place is not None:
            dim, index = place
            rows[dim] = rows.get(dim, True) & kept[name][index]
    return assembly.isel({dim: np.flatnonzero(mask) for dim, mask in rows.items()})
