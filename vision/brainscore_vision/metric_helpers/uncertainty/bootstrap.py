"""Attach a bootstrap standard error to a score; for intervals see `uncertainty.intervals`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.metrics import Score

__all__ = ["attach_error", "bootstrap_error"]


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
