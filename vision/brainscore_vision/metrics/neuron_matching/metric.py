"""Score how similar single neuroids are, each with its own partners on the other side.

Partners are those whose correlations over training stimuli add up to most; they are correlated over test stimuli:

- `one_to_one`: every neuroid of the target has one of the source for itself, ``score = mean_s median_j r(x_pi(j),
  y_j)`` with ``pi = argmax sum_j r(x_pi(j), y_j)`` over injective maps.
- `soft_matching`: masses are moved from source neuroids, 1 / p each, to target neuroids, 1 / q each: ``score = mean_s
  sum_ij T_ij r(x_i, y_j)`` with the plan T that maximises this sum on training stimuli. With
  p = q it is an assignment.

- Input: as for all metrics.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid), for
  `soft_matching` ``q sum_i T_ij r(x_i, y_j)``. NaN if either side is the same for all stimuli.
- Invariances: order of stimuli and of neuroids; shift and positive scaling of each neuroid on either side. Not of
  rotations: what single neuroids are tuned to counts. `soft_matching` also: exchange of the sides with the same splits,
  and copies of all neuroids of a side.
- When: single neuroids are to correspond. `neuron_to_neuron` lets target neuroids share a few good units; `one_to_one`
  needs as many as were recorded; `soft_matching` is lower for models with units that the recording lacks.
- Time: twice and some twenty times that of `neuron_to_neuron` (`perf/costs.py`).
- Ceiling: `internal_consistency`, with `explained_variance`.

References
----------
Khosla & Williams (2024), arXiv:2311.09466.
Li et al. (2016), arXiv:1511.07543.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from brainscore_core.metrics import Metric, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns, mean_known, pearson_columns
from brainscore_vision.metric_helpers.arrays.influence import correlation_influence, mean_influence
from brainscore_vision.metric_helpers.arrays.regression.single import assign, training_correlations
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.splits import CrossValidation
from brainscore_vision.metric_helpers.regression.estimators import Assignment, PearsonR
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression
from brainscore_vision.metric_helpers.regression.sides import Side, as_array, in_ordinary_units, take_rows
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error, unique_names

if TYPE_CHECKING:
    from brainscore_core.metrics import Quantity
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray, Splits
    from brainscore_vision.metric_helpers.regression.sides import Features

# Match neuroids of two sides of any sizes, split into parts if necessary, for the largest correlation.
#
# Source neuroids have mass 1 / p, target neuroids 1 / q. The optimal transport plan :math:`T`,
#
# .. math:: \max_T \sum_{ij} T_{ij}\, r(x_i, y_j), \quad T_{ij} \ge 0,\ \sum_j T_{ij} = 1 / p,\ \sum_i T_{ij} = 1 / q
#
# is an assignment for equal sizes, otherwise a linear programme. Its entropic form settles clear pairs; pairs that gain
# at the dual prices are added until the plan is optimal.
#
# References
# ----------
# Khosla & Williams (2024), Soft matching distance, arXiv:2311.09466. Ford & Fulkerson (1958), doi:10.1287/mnsc.5.1.97,
# for adding pairs while they gain. Cuturi (2013), Sinkhorn distances, NIPS 26, for the smooth form.


CANDIDATES = 6  # pairs of each neuroid of the larger side in the first programme
ENTROPY, ENTROPIC_STEPS = 0.01, 100  # of the smooth form that proposes them
TOLERANCE = 1e-9  # least gain of an added pair
UNSURE, FILLED = 0.2, 0.9  # least share of unsettled rows; largest settled share of a column's room
OPTIONS = {"presolve": False}  # presolving takes several times longer than the programme


@dataclass(frozen=True)
class TransportPlan:
    """Positions of matched pairs, and their mass: above 0, with sum 1."""

    source: Indices
    target: Indices
    mass: Floats


def transport_plan(correlations: Floats) -> TransportPlan:
    """Find the plan with the largest correlation, given finite correlations of target by source neuroids.

    Examples
    --------
    >>> plan = transport_plan(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    >>> table = np.zeros((3, 2))
    >>> table[plan.target, plan.source] = plan.mass
    >>> table.round(3)
    array([[0.333, 0.   ],
           [0.167, 0.167],
           [0.   , 0.333]])
    """
    q, p = correlations.shape
    if p == q:
        return TransportPlan(assign(correlations), np.arange(q), np.full(q, 1 / q))
    rows, columns, mass = _programme(np.ascontiguousarray(correlations if q > p else correlations.T))
    target, source = (rows, columns) if q > p else (columns, rows)
    return TransportPlan(source, target, mass)


@dataclass(frozen=True)
class Matched:
    r"""Similarity of matched neuroids on the test stimuli of a split.

    Attributes
    ----------
    scores : ndarray, shape (n_neuroids,)
        Mean correlation of each target neuroid with its matches, :math:`q \sum_i T_{ij} r_{ij}`, in [-1, 1]. Their mean
        is the score.
    influence : ndarray, shape (n_test, n_neuroids)
        Influence of each cell of the measurement on that mean; NaN for fewer than three stimuli.
    """

    scores: Floats
    influence: Floats


def soft_matching_splits(source: ArrayLike | ColumnBlocks, target: ArrayLike, splits: Splits) -> list[Matched]:
    """Correlate the held-out responses of neuroids matched in training, for every split.

    Neuroids that are constant in training are not matched. Scores of target neuroids constant in training or test are
    NaN; a source neuroid constant in test correlates by 0.
    """
    blocks = ColumnBlocks.of(source)
    y = np.asarray(target, dtype=np.float64)
    result = []
    for split, correlations in zip(splits, training_correlations(blocks, y, splits), strict=True):
        test = np.asarray(split[1], dtype=np.intp)
        defined = np.isfinite(correlations)
        rows, columns = np.flatnonzero(defined.any(axis=1)), np.flatnonzero(defined.any(axis=0))
        scores, influence = np.full(y.shape[1], np.nan), np.zeros((len(test), y.shape[1]))
        if len(rows):
            plan = transport_plan(correlations[np.ix_(rows, columns)])
            of_target = rows[plan.target]
            matched, measured = blocks.columns(columns[plan.source])[test], y[np.ix_(test, of_target)]
            r = pearson_columns(matched, measured)
            cells = correlation_influence(matched, measured)[1] if len(test) > 2 else np.full(matched.shape, np.nan)
            scores[rows] = len(rows) * np.bincount(plan.target, plan.mass * np.nan_to_num(r), minlength=len(rows))
            scores[constant_columns(y[test])] = np.nan
            cells[:, np.isnan(r)] = 0.0
            np.add.at(influence.T, of_target, (plan.mass * cells).T)
        result.append(Matched(scores, influence))
    return result


def _programme(gain: Floats) -> tuple[Indices, Indices, Floats]:
    m, k = gain.shape
    every = np.arange(m)
    if k == 1:
        return every, np.zeros(m, dtype=np.intp), np.full(m, 1 / m)
    net = gain - _entropic_prices(gain)
    settled, best = _settled(net)
    while True:
        free, done = np.flatnonzero(~settled), np.flatnonzero(settled)
        room = m / k - np.bincount(best[done], minlength=k)
        rows, columns, mass, prices = _solved(gain[free], net[free], room)
        net = gain - prices
        wrong = settled & (net.max(axis=1) - net[every, best] > TOLERANCE)
        if not wrong.any():
            mass = np.concatenate([mass, np.ones(len(done))])
            return np.concatenate([free[rows], done]), np.concatenate([columns, best[done]]), mass / mass.sum()
        settled &= ~wrong


def _settled(net: Floats) -> tuple[NDArray[np.bool_], Indices]:
    """Return which rows clearly prefer a column that surely has room for them, and the column."""
    m, k = net.shape
    best = net.argmax(axis=1)
    second, first = np.partition(net, k - 2, axis=1)[:, k - 2 :].T
    margin = first - second
    settled = margin >= np.quantile(margin, UNSURE)
    order = np.lexsort((-margin, best))
    place = np.arange(m) - np.searchsorted(best[order], best[order])
    settled[order[place >= int(FILLED * m / k)]] = False
    return settled, best


def _solved(gain: Floats, net: Floats, room: Floats) -> tuple[Indices, Indices, Floats, Floats]:
    """Solve for rows of mass 1 and columns with some room; return pairs, their mass, and prices of columns."""
    m = len(gain)
    candidates = _candidates(gain, net, room)
    supply = np.concatenate([np.ones(m), room])
    while True:
        rows, columns = np.nonzero(candidates)
        pair = np.arange(len(rows))
        matrix = csr_array(
            (np.ones(2 * len(rows)), (np.concatenate([rows, m + columns]), np.concatenate([pair, pair]))),
            shape=(len(supply), len(rows)),
        )
        solved = linprog(-gain[rows, columns], A_eq=matrix, b_eq=supply, method="highs-ds", options=OPTIONS)
        if solved.status != 0:
            raise RuntimeError(
                f"The linear programme that matches {m} to {len(room)} neuroids could not be solved: {solved.message}"
            )
        dual = -solved.eqlin.marginals
        missed = (gain - dual[:m, None] - dual[m:] > TOLERANCE) & ~candidates
        if not missed.any():
            used = solved.x > TOLERANCE
            return rows[used], columns[used], solved.x[used], dual[m:]
        candidates |= missed
        _add_best(candidates, gain - dual[m:])


def _candidates(gain: Floats, net: Floats, room: Floats) -> NDArray[np.bool_]:
    """Select initial pairs: the best of each row and column, and those of a feasible plan."""
    m, k = gain.shape
    candidates = np.zeros((m, k), dtype=bool)
    _add_best(candidates, net)
    some = min(m, 2 * (m // k + 1))
    candidates[np.argpartition(-gain, some - 1, axis=0)[:some], np.arange(k)] = True
    # North-west corner rule: rows and columns fill up one after the other.
    ends = np.cumsum(room)
    first, last = np.searchsorted(ends, np.arange(m), side="right"), np.searchsorted(ends, np.arange(1, m + 1))
    columns = np.arange(k)
    candidates |= (np.minimum(first, k - 1)[:, None] <= columns) & (columns <= last[:, None])
    return candidates


def _entropic_prices(gain: Floats) -> Floats:
    """Approximate the prices of columns by Sinkhorn's iteration."""
    kernel = np.exp((gain - gain.max()) / ENTROPY)
    columns = np.ones(gain.shape[1])
    for _ in range(ENTROPIC_STEPS):
        rows = 1.0 / (kernel @ columns)
        columns = 1.0 / (rows @ kernel)
    prices: Floats = -ENTROPY * np.log(columns)
    return prices


def _add_best(candidates: NDArray[np.bool_], net: Floats) -> None:
    few = min(net.shape[1], CANDIDATES)
    candidates[np.arange(len(net))[:, None], np.argpartition(-net, few - 1, axis=1)[:, :few]] = True


Options = Mapping[str, Any] | None  # arguments of `CrossValidation`


def one_to_one(crossvalidation_kwargs: Options = None) -> CrossRegressedCorrelation:
    """Make the metric ``one_to_one``, which raises a ValueError if the target has more neuroids than the source."""
    return CrossRegressedCorrelation(
        XarrayRegression(Assignment()), XarrayCorrelation(PearsonR()), crossvalidation_kwargs
    )


class SoftMatching(Metric):
    """Correlation of neuroids that are matched in parts."""

    quantity: ClassVar[Quantity] = "correlation"
    of_any_unit: ClassVar = ("source", "target")  # see `in_ordinary_units`

    def __init__(self, crossvalidation_kwargs: Options = None) -> None:
        kwargs = {"train_size": 0.9, "test_size": None, **(crossvalidation_kwargs or {})}
        self.cross_validation = CrossValidation(**kwargs)

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare; the source may be `StreamedFeatures`."""
        x, y = Side.of(source, "source"), Side.of(target, "target")
        neuroids = y.neuroids()
        stimuli, shown_to_model = (coordinate(side.labels, Defaults.stimulus_coord) for side in (y, x))
        plan = self.cross_validation.plan(y.labels)
        features = take_rows(x.finite(), matching_order(stimuli, shown_to_model))
        (features,) = in_ordinary_units([features], "source", self)
        (responses,) = in_ordinary_units([as_array(y.columns(neuroids.used))], "target", self)
        splits = plan.presentations(y.labels)
        matches = soft_matching_splits(features, responses, splits)
        raw = y.labelled(np.stack([match.scores for match in matches]), neuroids)
        means = mean_known(raw.values, axis=1)
        score = attach_split_error(Score(means.mean()), means)
        names, place = np.unique(stimuli, return_inverse=True)
        cells = np.zeros((len(names), int(neuroids.used.sum())))
        for (_, test), match in zip(splits, matches, strict=True):
            np.add.at(cells, place[test], match.influence / len(matches))
            cells += mean_influence(match.scores) / (len(matches) * len(names))
        units = unique_names(neuroids.names[neuroids.used])
        attach_influence(
            score, Influence(cells if np.isfinite(score) else cells * np.nan, names, units), scale="fisher"
        )
        if undefined := sum(int(np.isnan(match.scores).sum()) for match in matches):
            score.attrs["n_undefined"] = undefined
        score.attrs.update(raw=raw, **plan.notes, **neuroids.attrs)
        score.attrs.update(n_stimuli=len(names), quantity=self.quantity)
        return score
