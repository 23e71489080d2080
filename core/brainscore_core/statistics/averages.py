r"""Average scores over benchmarks and regions, with their errors.

A combination :math:`\sum_k w_k s_k` of scores has the influences :math:`\sum_k w_k x_k`, see `influence`. A score with
an error but no influences adds its weighted error, an upper bound.

As on brain-score.org, a node is the mean of its children, and a missing score counts as 0 unless all are missing
(``populate_final_agg_scores`` and ``fix_parent_scores`` in ``benchmarks/sql/mv.sql`` of
github.com/brain-score/brain-score.web). `model_scores` does the same for many models at once.

An average with missing scores is *incomplete*: it has a value but no error, and is not compared with others. Counting 0
for a benchmark that was not run gives a value that other samples would not scatter about; a mean over the benchmarks
that were run may cover easier or harder ones than the means of other models. An interval of either would be read as an
interval of the complete average, which can lie anywhere. For the same reason incomplete models have no rank, and do not
count in the ranks of complete ones.

Unlike subjects (`metrics.errors.mean_over_units`), benchmarks are not a sample: errors exclude the variance between
them.

References
----------
Wilks (1941), doi:10.1214/aoms/1177731788.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Literal

import numpy as np

from brainscore_core.errors import ConfigurationError
from brainscore_core.statistics.influence import Influence, Interval, t_quantile
from brainscore_core.statistics.sketch import InfluenceSketch, of_one_kind

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

__all__ = [
    "FEWEST_ERRORS",
    "Estimate",
    "Missing",
    "average_tree",
    "bound_errors",
    "combined",
    "with_bounds",
]

FEWEST_ERRORS = 3
"""Minimum number of models with an error for bounding the missing errors of others."""

Missing = Literal["zero", "left out", "complete"]
"""How a missing score counts in a mean, see `average_tree`."""


@dataclass(frozen=True)
class Estimate:
    """A score with its error.

    Attributes
    ----------
    value
        NaN if missing.
    error
        Standard error; NaN if unknown.
    reason
        Why there is no value or no error.
    df
        Degrees of freedom of the error.
    influence
        None: correlations with other scores are unknown.
    n_missing
        Number of scores that are missing in an average; if there are any, `reason` names them.
    apart
        Part of the error beyond `influence`, with unknown correlations: in an average, it comes from the scores without
        influences. The other scores still share errors with scores of other models.
    is_bound
        Whether the error is an upper bound, because some correlations or errors are unknown.
    """

    value: float
    error: float = float("nan")
    reason: str = ""
    df: float = float("inf")
    influence: Influence | InfluenceSketch | None = field(default=None, repr=False)
    is_bound: bool = False
    apart: float = 0.0
    n_missing: int = 0

    @property
    def is_missing(self) -> bool:
        """Whether there is no value."""
        return math.isnan(self.value)

    @property
    def is_compared(self) -> bool:
        """Whether there is a complete value, so that it can be compared with others."""
        return not (self.is_missing or self.n_missing)

    def interval(self) -> Interval:
        """Return value ± error times the quantile of Student's t; NaN without an error."""
        margin = self.error * t_quantile(self.df) if self.error else 0.0
        return self.value - margin, self.value + margin


def bound_errors(value: Floats, error: Floats, df: Floats) -> tuple[Floats, Floats, Bools]:
    r"""Bound the missing errors of scores on one benchmark by the largest of the stated ones.

    .. math:: \sigma_a \le \max_b s_b

    over the :math:`n` models :math:`b` with an error :math:`s_b`, which share stimuli, units and ceiling. If missing
    errors are not larger in general, one exceeds this with probability of at most :math:`1 / (n + 1)` (Wilks 1941).

    Parameters
    ----------
    value, error, df : ndarray, shape (n_models,)
        Scores, standard errors and their degrees of freedom; NaN: missing.

    Returns
    -------
    error, df : ndarray, shape (n_models,)
        A bound has the degrees of freedom of the largest error. Unchanged below `FEWEST_ERRORS` errors.

    Examples
    --------
    >>> nan = np.nan
    >>> bound_errors(np.array([0.5, 0.4, 0.3, 0.6, nan]), np.array([0.02, 0.04, 0.03, nan, nan]), np.full(5, 9.0))[0]
    array([0.02, 0.04, 0.03, 0.04,  nan])
    """
    has_error = np.isfinite(value) & np.isfinite(error)
    is_bound = np.isfinite(value) & ~has_error
    if not is_bound.any() or has_error.sum() < FEWEST_ERRORS:
        return error, df, np.zeros_like(is_bound)
    largest = error[has_error].max()
    freedom = df[has_error & (error == largest)].min()
    return np.where(is_bound, largest, error), np.where(is_bound, freedom, df), is_bound


def with_bounds(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Bound the missing errors of models on one benchmark, see `bound_errors`; the bounds have no influences."""
    fields = (np.array([getattr(score, name) for score in estimates], float) for name in ("value", "error", "df"))
    return [
        replace(score, error=error, df=df, influence=None, is_bound=True) if is_bound else score
        for score, error, df, is_bound in zip(estimates, *(of.tolist() for of in bound_errors(*fields)), strict=True)
    ]


def combined(estimates: Mapping[str, Estimate], weights: Mapping[str, float]) -> Estimate:
    r"""Combine scores linearly: :math:`\sum_k w_k s_k`.

    Parameters
    ----------
    weights
        Weights of the scores that count, none of them missing.

    Returns
    -------
    Estimate
        ``df`` comes from the influences; without them, from fully correlated errors.

    Examples
    --------
    >>> scores = {"a": Estimate(0.5, 0.03), "b": Estimate(0.7, 0.04)}
    >>> round(combined(scores, {"a": 0.5, "b": 0.5}).error, 6)  # the largest there can be
    0.035
    """
    weighted = {name: (weight, estimates[name]) for name, weight in weights.items() if weight}
    value = math.fsum(weight * estimate.value for weight, estimate in weighted.values())
    unknown = {name: estimate for name, (_, estimate) in weighted.items() if not math.isfinite(estimate.error)}
    if unknown:
        reasons = "; ".join(
            f"{name}: {score.reason or 'no error is stated'}" for name, score in sorted(unknown.items())
        )
        return Estimate(value, reason=f"{len(unknown)} of {len(weighted)} scores have no error ({reasons[:500]})")
    matched = [weight * estimate.influence for weight, estimate in weighted.values() if estimate.influence is not None]
    total = _sum(matched) if matched else None
    others = [
        abs(weight) * (estimate.error if estimate.influence is None else estimate.apart)
        for weight, estimate in weighted.values()
    ]
    others = [error for error in others if error]
    apart = math.fsum(others)
    return Estimate(
        value,
        (0.0 if total is None else math.sqrt(total.variance)) + apart,
        df=_degrees_of_freedom(weighted, None if others else total),
        influence=total,
        is_bound=any(estimate.is_bound for _, estimate in weighted.values()) or len(others) + (total is not None) > 1,
        apart=apart,
    )


def average_tree(
    scores: Mapping[str, Estimate],
    parents: Mapping[str, str],
    *,
    missing: Missing = "zero",
) -> dict[str, Estimate]:
    """Average the scores of one model from the leaves of a tree to its roots.

    Parameters
    ----------
    scores
        Of leaves; absent or NaN: missing.
    parents
        Parent of every leaf and inner node, except roots.
    missing : {'zero', 'left out', 'complete'}
        A missing child counts as 0, is left out, or makes its parent missing. If all children are missing, so is the
        node. In the first two cases the parent has no error (`n_missing` says how many scores it lacks).

    Returns
    -------
    dict of str to Estimate
        Averages of the inner nodes.

    Raises
    ------
    ConfigurationError
        If the tree has a circle, or a score is of an inner node.

    Examples
    --------
    >>> parents = {"V1-pls": "V1", "V1-rdm": "V1", "IT-pls": "IT", "V1": "neural", "IT": "neural"}
    >>> scores = {"V1-pls": Estimate(0.4, 0.02), "V1-rdm": Estimate(0.2, 0.02)}
    >>> {node: round(each.value, 2) for node, each in average_tree(scores, parents).items()}
    {'V1': 0.3, 'IT': nan, 'neural': 0.15}
    """
    below: dict[str, list[str]] = {}
    for child, parent in parents.items():
        below.setdefault(parent, []).append(child)
    misplaced = sorted(set(scores) & set(below))
    if misplaced:
        raise ConfigurationError(
            f"{misplaced[0]!r} has scores below it, so its score is their average; leave it out of `scores`."
        )
    weights: dict[str, dict[str, float]] = {}
    lacking: dict[str, list[str]] = {}
    averages: dict[str, Estimate] = {}
    for node in _from_below(below):
        if node not in below:
            weights[node] = {node: 1.0} if node in scores and not scores[node].is_missing else {}
            lacking[node] = [] if weights[node] else [node]
            continue
        weights[node] = _mean_weights([weights[child] for child in below[node]], missing)
        lacking[node] = [leaf for child in below[node] for leaf in lacking[child]]
        if lacking[node]:
            total = math.fsum(weight * scores[leaf].value for leaf, weight in weights[node].items())
            value, reason = total if weights[node] else math.nan, f"no score of {', '.join(lacking[node])}"[:1_000]
            averages[node] = Estimate(value, reason=reason, n_missing=len(lacking[node]))
        else:
            averages[node] = combined(scores, weights[node])
    return averages


def _mean_weights(children: Sequence[Mapping[str, float]], missing: Missing) -> dict[str, float]:
    """Return the weights of leaves in the mean of children; none if it is missing."""
    present = [child for child in children if child]
    n = len(present) if missing == "left out" else len(children)
    weights: dict[str, float] = {}
    if missing == "complete" and len(present) < n:
        return weights
    for child in present:
        for leaf, weight in child.items():
            weights[leaf] = weights.get(leaf, 0.0) + weight / n
    return weights


def _sum(influences: list[Influence | InfluenceSketch]) -> Influence | InfluenceSketch:
    exact, sketches = of_one_kind(influences)
    return reduce(add, exact) if exact else reduce(add, sketches)


def _degrees_of_freedom(
    weighted: Mapping[str, tuple[float, Estimate]], total: Influence | InfluenceSketch | None
) -> float:
    """Return degrees of freedom of the total influences; without them, Satterthwaite's for fully correlated errors."""
    if total is not None and math.isfinite(df := total.degrees_of_freedom):
        return df
    errors = [(abs(weight) * estimate.error, estimate.df) for weight, estimate in weighted.values()]
    spread = math.fsum(error / math.sqrt(df) for error, df in errors if error > 0 and df > 0)
    return (math.fsum(error for error, _ in errors) / spread) ** 2 if spread > 0 else float("inf")


def _from_below(below: Mapping[str, list[str]]) -> list[str]:
    """Return all nodes of a tree, children first."""
    order: dict[str, None] = {}

    def visit(node: str, above: tuple[str, ...]) -> None:
        if node in above:
            raise ConfigurationError(f"The tree of benchmarks has a circle: {' > '.join((*above, node))}.")
        if node not in order:
            for child in below.get(node, ()):
                visit(child, (*above, node))
            order[node] = None

    for node in below:
        visit(node, ())
    return list(order)
