r"""Average scores, from neuroids to subjects to benchmarks to regions to all of them, with their errors.

Benchmarks that share stimuli or neuroids err together: their errors do not average out as those of independent numbers
do. A combination :math:`\sum_k w_k s_k` of scores has the influences :math:`\sum_k w_k x_k`, where those of one
stimulus or one unit are added, so that its variance holds the covariances that are there, see
`influence`. A score that states an error but no influences may go with the others in any way.
Either the caller says how they correlate, or the error is the largest there can be: the errors of such scores, times
their weights, are added to that of the others.

The rules of the leaderboard are arguments: a node is the plain mean of what is right below it, however much is below
that; a missing score counts as 0, unless all below a node are missing, which leaves the node without a score. So it is
on brain-score.org (``populate_final_agg_scores`` and ``fix_parent_scores`` in ``benchmarks/sql/mv.sql`` of
github.com/brain-score/brain-score.web).

The mean over subjects depends on which were sampled (`metrics.errors.mean_over_units`); the mean over a list of
benchmarks does not, because the list would be the same again (`combined`, `average_tree`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Literal

from brainscore_core.errors import ConfigurationError, ContractError
from brainscore_core.statistics.influence import LEVEL, Influence, Interval, t_quantile
from brainscore_core.statistics.sketch import InfluenceSketch

__all__ = ["Correlation", "Estimate", "Missing", "average_tree", "combined", "difference"]

Missing = Literal["zero", "left out", "undefined"]
Correlation = Callable[[str, str], float]


@dataclass(frozen=True)
class Estimate:
    """A score and how sure it is.

    Attributes
    ----------
    value : float
        NaN if there is none.
    error : float
        Standard error; NaN if it is not known.
    reason : str
        Why there is no value, or no error.
    df : float
        How many independent values the error is worth.
    influence : Influence, InfluenceSketch or None
        To match with those of other scores. None: how this one goes with others is not known.
    unmatched : float
        The part of the error that is not in `influence`, added to the error that is; it may go with others in any way.
        Without influences that is all of the error, whatever stands here.
    is_bound : bool
        Whether the error is the largest there can be, because some correlations are not known.
    """

    value: float
    error: float = float("nan")
    reason: str = ""
    df: float = float("inf")
    influence: Influence | InfluenceSketch | None = field(default=None, repr=False)
    is_bound: bool = False
    unmatched: float = 0.0

    @property
    def is_missing(self) -> bool:
        """Whether there is no value."""
        return math.isnan(self.value)

    def interval(self, level: float = LEVEL) -> Interval:
        """Return value ± error times the quantile of Student's t; NaN without an error."""
        margin = self.error * t_quantile(self.df, level) if self.error else 0.0
        return self.value - margin, self.value + margin


def combined(
    estimates: Mapping[str, Estimate], weights: Mapping[str, float], *, correlation: Correlation | None = None
) -> Estimate:
    r"""Combine scores linearly: :math:`\sum_k w_k s_k`.

    Parameters
    ----------
    estimates : mapping of str to Estimate
    weights : mapping of str to float
        Of those that count; each is in `estimates` and has a value.
    correlation : callable or None
        ``correlation(a, b)``, in [-1, 1], of the errors of two scores of which at least one has no influences. None:
        not known.

    Returns
    -------
    Estimate
        ``df`` is that of the influences; without them that of errors which all go together.

    Raises
    ------
    ConfigurationError
        If the correlations are none: outside [-1, 1], or such that a variance is negative.

    Examples
    --------
    >>> scores = {"a": Estimate(0.5, 0.03), "b": Estimate(0.7, 0.04)}
    >>> mean = combined(scores, {"a": 0.5, "b": 0.5})
    >>> round(mean.value, 6), round(mean.error, 6), mean.is_bound
    (0.6, 0.035, True)
    >>> round(combined(scores, {"a": 0.5, "b": 0.5}, correlation=lambda a, b: 0.0).error, 6)
    0.025
    """
    chosen = {name: (weight, estimates[name]) for name, weight in weights.items() if weight}
    value = math.fsum(weight * estimate.value for weight, estimate in chosen.values())
    unknown = {name: estimate for name, (_, estimate) in chosen.items() if not math.isfinite(estimate.error)}
    if unknown:
        told = "; ".join(f"{name}: {each.reason or 'no error is stated'}" for name, each in sorted(unknown.items()))
        return Estimate(value, reason=f"{len(unknown)} of {len(chosen)} scores have no error ({told[:500]})")
    matched = [weight * estimate.influence for weight, estimate in chosen.values() if estimate.influence is not None]
    total = _sum(matched) if matched else None
    others = [abs(weight) * _without_influence(estimate) for weight, estimate in chosen.values()]
    others = [error for error in others if error]
    error_of_matched = 0.0 if total is None else math.sqrt(total.variance)
    if correlation is None:
        error = math.fsum([error_of_matched, *others])
    else:
        variance = error_of_matched**2 + _variance_of_others(chosen, correlation)
        if variance < -1e-12:
            raise ConfigurationError(
                f"The variance of an average is {variance:g}: the correlations that are stated contradict each other."
            )
        error = math.sqrt(max(variance, 0.0))
    are_alone = len(others) + (total is not None) < 2
    return Estimate(
        value,
        error,
        df=_degrees_of_freedom(chosen, None if others else total),
        influence=total,
        unmatched=max(error - error_of_matched, 0.0) if others else 0.0,
        is_bound=any(estimate.is_bound for _, estimate in chosen.values()) or (correlation is None and not are_alone),
    )


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Subtract a score from another one, such as that of another model on the same benchmark.

    Stimuli and units that both share cancel where they move both alike.
    """
    if first.is_missing or second.is_missing:
        return Estimate(float("nan"), reason=first.reason or second.reason)
    return combined({"first": first, "second": second}, {"first": 1.0, "second": -1.0})


def average_tree(
    scores: Mapping[str, Estimate],
    parents: Mapping[str, str],
    *,
    missing: Missing = "zero",
    correlation: Correlation | None = None,
) -> dict[str, Estimate]:
    """Average the scores of one model from the leaves of a tree to its roots.

    Parameters
    ----------
    scores : mapping of str to Estimate
        Of leaves; one that is not there, or is NaN, is missing.
    parents : mapping of str to str
        The node above every leaf and every inner node but the roots.
    missing : {'zero', 'left out', 'undefined'}
        What a leaf or a node without a score counts as: 0, nothing (the mean is over the others), or a reason for the
        node above to have none either. With all below it missing, a node is missing under each rule.
    correlation : callable or None
        See `combined`.

    Returns
    -------
    dict of str to Estimate
        Of the inner nodes. A score of 0 for a missing one has no error.

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
            f"{misplaced[0]!r} has scores below it, so that its own is their average; leave it out of `scores`."
        )
    weights: dict[str, dict[str, float]] = {}
    averages: dict[str, Estimate] = {}
    for node in _from_below(below):
        if node not in below:
            weights[node] = {node: 1.0} if node in scores and not scores[node].is_missing else {}
            continue
        there = [child for child in below[node] if weights[child]]
        n = len(there) if missing == "left out" else len(below[node])
        weights[node] = {}
        if there and not (missing == "undefined" and len(there) < n):
            for child in there:
                for leaf, weight in weights[child].items():
                    weights[node][leaf] = weights[node].get(leaf, 0.0) + weight / n
            averages[node] = combined(scores, weights[node], correlation=correlation)
        else:
            lacking = [child for child in below[node] if not weights[child]]
            averages[node] = Estimate(float("nan"), reason=f"no score of {', '.join(lacking)}"[:1_000])
    return averages


def _sum(influences: list[Influence | InfluenceSketch]) -> Influence | InfluenceSketch:
    exact = [influence for influence in influences if isinstance(influence, Influence)]
    sketches = [influence for influence in influences if isinstance(influence, InfluenceSketch)]
    if exact and sketches:
        raise ContractError(
            "Some scores have influences, others the sketches that records keep, which cannot be matched. Take "
            "`InfluenceSketch.of` for all."
        )
    return reduce(add, exact) if exact else reduce(add, sketches)


def _variance_of_others(chosen: Mapping[str, tuple[float, Estimate]], correlation: Correlation) -> float:
    """Return what scores without influences add to the variance of those with."""
    variance = 0.0
    names = sorted(chosen)
    for place, a in enumerate(names):
        weight_a, first = chosen[a]
        variance += (weight_a * first.error) ** 2 if first.influence is None else 0.0
        for b in names[place + 1 :]:
            weight_b, second = chosen[b]
            if first.influence is not None and second.influence is not None:
                continue
            rho = correlation(a, b)
            if not abs(rho) <= 1:
                raise ConfigurationError(f"The correlation of {a!r} and {b!r} is {rho}; expected one in [-1, 1].")
            variance += 2 * rho * weight_a * weight_b * first.error * second.error
    return variance


def _without_influence(estimate: Estimate) -> float:
    return estimate.error if estimate.influence is None else estimate.unmatched


def _degrees_of_freedom(
    chosen: Mapping[str, tuple[float, Estimate]], total: Influence | InfluenceSketch | None
) -> float:
    """Return those of what all influences add up to; without them Satterthwaite's for errors that all go together."""
    if total is not None and math.isfinite(known := total.degrees_of_freedom):
        return known
    errors = [(abs(weight) * estimate.error, estimate.df) for weight, estimate in chosen.values()]
    spread = math.fsum(error / math.sqrt(df) for error, df in errors if error > 0 and df > 0)
    return (math.fsum(error for error, _ in errors) / spread) ** 2 if spread > 0 else float("inf")


def _from_below(below: Mapping[str, list[str]]) -> list[str]:
    """Return all nodes of a tree, each behind those below it."""
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
