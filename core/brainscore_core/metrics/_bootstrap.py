"""Estimate standard errors and percentile intervals of scores by resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["bootstrap_distribution", "percentile_interval", "standard_error", "standard_error_of_mean"]

Floats = npt.NDArray[np.floating[Any]]
_BLOCK_VALUES = 2**22
"""How many resampled values are held at a time."""


def standard_error_of_mean(values: npt.ArrayLike, axis: int | tuple[int, ...] | None = None) -> Any:
    r"""Return the standard error of a mean, :math:`s / \sqrt{n}`.

    Parameters
    ----------
    values : array-like
        Numbers; NaN is left out.
    axis : int or tuple of int, optional
        Over which axes the mean is taken; None takes all.

    Returns
    -------
    float or array
        ``s`` is the sample standard deviation (divisor n - 1); NaN where fewer than two values are there.
    """
    array = np.asarray(values, dtype=float)
    count = np.sum(~np.isnan(array), axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(array, axis=axis, keepdims=True) / np.sum(~np.isnan(array), axis=axis, keepdims=True)
        variance = np.nansum((array - mean) ** 2, axis=axis) / np.where(count > 1, count - 1, np.nan)
        return np.sqrt(variance / count)


def bootstrap_distribution(
    values: npt.ArrayLike,
    dims: Sequence[str],
    over: Sequence[str],
    statistic: Callable[..., Any] | None = None,
    *,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> Floats:
    """Recompute a statistic on values drawn with replacement along some dimensions.

    Parameters
    ----------
    values : array-like
        Numbers, one axis for each name in ``dims``.
    dims : sequence of str
        The names of the axes.
    over : sequence of str
        Dimensions whose entries are drawn anew, each independently of the others: entries of a dimension stay
        together (draw stimuli, not single measurements).
    statistic : callable, optional
        ``statistic(values, axis=axes)`` reduces the trailing axes given to it: here always all of ``dims``. None
        takes the mean that leaves out NaN.
    n_bootstrap : int
        Number of draws.
    seed : int
        Of the generator: the same seed gives the same result.

    Returns
    -------
    (n_bootstrap,) array
        The statistic of each draw.

    Raises
    ------
    ValueError
        If dimensions and axes do not fit, a dimension to draw along is absent or empty, or ``n_bootstrap`` < 1.

    References
    ----------
    Efron, B. & Tibshirani, R. J. (1993). An Introduction to the Bootstrap. doi:10.1201/9780429246593
    """
    array = np.asarray(values, dtype=float)
    _check(array, dims, over, n_bootstrap)
    draws = _draws(array.shape, dims, over, n_bootstrap, seed)
    compute = statistic or _mean
    axes = tuple(range(1, array.ndim + 1))
    step = max(1, _BLOCK_VALUES // max(1, array.size))
    parts = []
    for start in range(0, n_bootstrap, step):
        block = _resampled(array, dims, {name: rows[start : start + step] for name, rows in draws.items()})
        parts.append(np.asarray(compute(block, axis=axes), dtype=float))
    return np.concatenate(parts)


def standard_error(
    values: npt.ArrayLike,
    dims: Sequence[str],
    over: Sequence[str],
    statistic: Callable[..., Any] | None = None,
    *,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> float:
    """Return the bootstrap standard error of a statistic: the sample standard deviation over draws.

    Parameters
    ----------
    values, dims, over, statistic, n_bootstrap, seed
        See `bootstrap_distribution`.

    Returns
    -------
    float
        Draws whose statistic is NaN are left out; NaN if fewer than two remain.
    """
    drawn = bootstrap_distribution(values, dims, over, statistic, n_bootstrap=n_bootstrap, seed=seed)
    drawn = drawn[~np.isnan(drawn)]
    return float(np.std(drawn, ddof=1)) if drawn.size > 1 else float("nan")


def percentile_interval(
    values: npt.ArrayLike,
    dims: Sequence[str],
    over: Sequence[str],
    statistic: Callable[..., Any] | None = None,
    *,
    level: float = 0.95,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile interval of a statistic.

    Parameters
    ----------
    values, dims, over, statistic, n_bootstrap, seed
        See `bootstrap_distribution`.
    level : float
        Share of the draws inside, in (0, 1).

    Returns
    -------
    low, high : float
        The (1 - level) / 2 and (1 + level) / 2 quantiles of the draws; NaN if all draws are NaN.

    References
    ----------
    Efron, B. & Tibshirani, R. J. (1993). An Introduction to the Bootstrap, chapter 13. doi:10.1201/9780429246593
    """
    if not 0 < level < 1:
        raise ValueError(f"The level of an interval lies between 0 and 1; got {level}.")
    drawn = bootstrap_distribution(values, dims, over, statistic, n_bootstrap=n_bootstrap, seed=seed)
    drawn = drawn[~np.isnan(drawn)]
    if not drawn.size:
        return float("nan"), float("nan")
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _mean(values: Floats, axis: tuple[int, ...]) -> Any:
    with np.errstate(invalid="ignore"):  # a draw of nothing but NaN has no mean
        return np.nansum(values, axis=axis) / np.sum(~np.isnan(values), axis=axis)


def _check(array: Floats, dims: Sequence[str], over: Sequence[str], n_bootstrap: int) -> None:
    if len(dims) != array.ndim:
        raise ValueError(f"{len(dims)} dimensions {tuple(dims)} are named for values of shape {array.shape}.")
    absent = [name for name in over if name not in dims]
    if absent or not over:
        raise ValueError(f"Cannot draw along {list(over)}: the values have the dimensions {tuple(dims)}.")
    if n_bootstrap < 1:
        raise ValueError(f"n_bootstrap must be at least 1; got {n_bootstrap}.")
    empty = [name for name in over if array.shape[list(dims).index(name)] == 0]
    if empty:
        raise ValueError(f"Cannot draw along {empty}: there is no entry.")


def _draws(
    shape: tuple[int, ...], dims: Sequence[str], over: Sequence[str], n_bootstrap: int, seed: int
) -> dict[str, npt.NDArray[np.intp]]:
    generator = np.random.default_rng(seed)
    sizes = dict(zip(dims, shape, strict=True))
    return {name: generator.integers(0, sizes[name], size=(n_bootstrap, sizes[name]), dtype=np.intp) for name in over}


def _resampled(array: Floats, dims: Sequence[str], draws: dict[str, npt.NDArray[np.intp]]) -> Floats:
    """Return (draws, *shape): for each draw, all values at the outer product of the drawn entries."""
    n_draws = len(next(iter(draws.values())))
    indexes = []
    for axis, name in enumerate(dims):
        rows = draws.get(name)
        if rows is None:
            rows = np.broadcast_to(np.arange(array.shape[axis]), (n_draws, array.shape[axis]))
        form = [n_draws] + [1] * array.ndim
        form[axis + 1] = rows.shape[1]
        indexes.append(rows.reshape(form))
    return array[tuple(indexes)]
