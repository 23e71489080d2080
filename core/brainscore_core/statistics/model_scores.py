"""Average the scores of many models at once over the nodes of a tree.

Equal to `brainscore_core.statistics.averages.average_tree` for each model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.statistics.averages import bound_errors
from brainscore_core.statistics.influence import LEVEL, satterthwaite
from brainscore_core.statistics.joint_errors import JointErrors
from brainscore_core.statistics.sketch import WIDTH, sketch_arrays
from brainscore_core.statistics.tests import Comparison

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]
    Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ModelScores:
    """Scores of several models on one node, their errors, and how these errors covary.

    Attributes
    ----------
    value, error, df : ndarray, shape (n_models,)
        Score, standard error and its degrees of freedom; NaN if there is no score or no error.
    scale : ndarray, shape (n_models, 3)
    matched, is_bound : ndarray of bool, shape (n_models,)
        Whether influences are known, and whether the error is an upper bound.
    apart, total, spread : ndarray, shape (n_models,)
        Weighted sums over benchmarks of: errors without influences; all errors; all errors, each divided by the root
        of its degrees of freedom.
    of_present : ndarray, shape (n_models,)
        Score if missing ones are left out; in `value` they count as 0.
    missing : ndarray of int, shape (n_models,)
        Number of benchmarks below without a score; where it is not 0, there is no error.
    n_below
        Number of benchmarks below.
    """

    value: Floats
    error: Floats
    df: Floats
    steps: npt.NDArray[Any]  # influences in units of `scale`, see `brainscore_core.statistics.sketch`; 0 if unknown
    scale: Floats
    freedom: Floats  # degrees of freedom over stimuli and over units
    matched: Bools
    is_bound: Bools
    apart: Floats
    total: Floats
    spread: Floats
    of_present: Floats
    missing: Places
    n_below: int

    @classmethod
    def of_scores(cls, value: Floats, error: Floats, df: Floats, sketches: Sequence[str | None]) -> ModelScores:
        """Take scores on one benchmark, with the texts of the sketches of their influences.

        Each sketch is scaled to its error, which is exact; missing errors are bounded by `bound_errors`. Raises
        `CorruptFileError` if a text is not a sketch.
        """
        error, df, is_bound = bound_errors(value, error, df)
        n = len(value)
        steps, scale = np.zeros((n, 3, WIDTH), np.int8), np.zeros((n, 3))
        freedom, matched = np.full((n, 2), np.inf), np.zeros(n, dtype=bool)
        defined = np.isfinite(value) & np.isfinite(error)
        stated = np.flatnonzero(defined & ~is_bound).tolist()
        places = np.array([at for at in stated if sketches[at] is not None], dtype=np.intp)
        if len(places):
            of_known, scales, free = sketch_arrays([sketches[place] or "" for place in places.tolist()])
            exact = of_known.astype(np.float32)  # sums of 1024 products of int8 are exact
            own = np.sqrt(_variance(np.vecdot(exact, exact) * scales**2))
            has_error = own > 0
            places, own = places[has_error], own[has_error]
            steps[places], freedom[places] = of_known[has_error], free[has_error]
            scale[places] = scales[has_error] * (error[places] / own)[:, None]
            matched[places] = True
        total = np.where(defined, error, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where((total > 0) & (df > 0), total / np.sqrt(df), 0.0)
        apart = np.where(matched, 0.0, total)
        error = np.where(defined, error, np.nan)
        parts = (steps, scale, freedom, matched, is_bound, apart, total, spread)
        return cls(value, error, df, *parts, value, np.isnan(value).astype(np.intp), 1)

    def without_influences(self, places: Bools) -> ModelScores:
        """Forget the influences of some models, whose names could denote other stimuli and units."""
        places = places & self.matched
        return replace(
            self,
            scale=np.where(places[:, None], 0.0, self.scale),
            freedom=np.where(places[:, None], np.inf, self.freedom),
            matched=self.matched & ~places,
            apart=np.where(places, self.total, self.apart),
        )

    @property
    def is_compared(self) -> Bools:
        """Whether each model has a complete score, shape (n_models,)."""
        compared: Bools = self.missing == 0
        return compared

    def comparison(self) -> Comparison:
        """Compare the models that have all scores, see `averages`."""
        places = np.flatnonzero(self.is_compared)
        return Comparison(self.value[places], self.joint(places))

    def intervals(self) -> Floats:
        """Return value ± error times the quantile of Student's t, shape (n_models, 2); NaN without an error."""
        from scipy.special import stdtrit  # heavy: SciPy

        margin = np.where(self.error > 0, self.error * stdtrit(self.df, (1 + LEVEL) / 2), self.error)
        return np.column_stack([self.value - margin, self.value + margin])

    def joint(self, places: Places) -> JointErrors:
        """See `JointErrors.of_estimates`; only of the models at some places."""
        n = len(places)
        # Exact in float32 too: each sum of products of int8 is an integer of at most 2**24.
        kind_of_float = np.float32 if self.steps.dtype == np.int8 else np.float64
        moments = np.empty((3, n, n))
        for kind, of_kind in enumerate(moments):
            steps: npt.NDArray[Any] = self.steps[places, kind].astype(kind_of_float, copy=False)
            scale = self.scale[places, kind]
            np.multiply.outer(scale, scale, out=of_kind)
            of_kind *= steps @ steps.T
        matched = places[self.matched[places]]
        freedom = self.freedom[matched].min(axis=0, initial=np.inf)
        error = self.error[places]
        apart = np.where(np.isfinite(error), self.apart[places] ** 2, np.nan)
        return JointErrors(moments, (float(freedom[0]), float(freedom[1])), apart, self.df[places])


class MeanOfScores:
    """The mean over a node's children, added one at a time as each takes many megabytes."""

    def __init__(self, n_models: int) -> None:
        self._values: list[Floats] = []
        self._of_present: list[Floats] = []
        self._buckets = np.zeros((n_models, 3, WIDTH))
        self._sums = {name: np.zeros(n_models) for name in ("apart", "total", "spread")}
        self._freedom = np.full((n_models, 2), np.inf)
        self._is_present, self._matched, self._unknown, self._is_bound = np.zeros((4, n_models), dtype=bool)
        self._n_apart, self._missing = np.zeros((2, n_models), dtype=np.intp)
        self._n_below = 0

    def add(self, places: Places, scores: ModelScores) -> None:
        """Add a child, given the places of its models among all models."""
        for values, of_child in (self._values, scores.value), (self._of_present, scores.of_present):
            values.append(np.full(len(self._freedom), np.nan))
            values[-1][places] = of_child
        for row, steps, scale in zip(places.tolist(), scores.steps, scores.scale, strict=True):
            self._buckets[row] += steps * scale[:, None]
        for name, total in self._sums.items():
            total[places] += getattr(scores, name)
        self._is_present[places] = True
        self._freedom[places] = np.minimum(self._freedom[places], scores.freedom)
        self._matched[places] |= scores.matched
        self._is_bound[places] |= scores.is_bound
        self._n_apart[places] += scores.apart > 0
        self._unknown[places] |= ~np.isfinite(scores.error)
        self._missing += scores.n_below
        self._missing[places] += scores.missing - scores.n_below
        self._n_below += scores.n_below

    @property
    def places(self) -> Places:
        """Places of the models of any child."""
        return np.flatnonzero(self._is_present)

    def result(self) -> ModelScores:
        """Return the mean of the models at `places`."""
        places, n = self.places, len(self._values)
        missing = self._missing[places]
        value, of_present = (_means(of, places, n_of) for of, n_of in ((self._values, n), (self._of_present, None)))
        apart, total, spread = (of[places] / n for of in self._sums.values())
        unknown, freedom = self._unknown[places] | (missing > 0), self._freedom[places]
        matched = self._matched[places] & ~unknown
        buckets = self._buckets[places]
        scale = np.repeat(np.where(matched, 1 / n, 0.0)[:, None], 3, axis=1)
        moments = np.vecdot(buckets, buckets) * scale**2
        error = np.where(unknown, np.nan, np.sqrt(_variance(moments)) + apart)
        with np.errstate(divide="ignore", invalid="ignore"):
            df = np.where(spread > 0, (total / spread) ** 2, np.inf)
        for place in np.flatnonzero(matched & (apart == 0)):
            stimuli, units = freedom[place].tolist()
            exact = satterthwaite(moments[place].tolist(), (stimuli, units), float(error[place]) ** 2)
            df[place] = exact if math.isfinite(exact) else df[place]
        is_bound = self._is_bound[places] | (self._n_apart[places] + matched > 1) & (apart > 0)
        is_bound &= np.isfinite(error)
        parts = (buckets, scale, freedom, matched, is_bound, apart, total, spread)
        return ModelScores(value, error, df, *parts, of_present, missing, self._n_below)


def _means(of_children: Sequence[Floats], places: Places, n: int | None) -> Floats:
    """Return the sums of some models over children, divided by `n` or the number that are not NaN; NaN without any."""
    values = np.array(of_children)[:, places]
    n_present = np.isfinite(values).sum(axis=0)
    sums = np.array([math.fsum(column) for column in np.nan_to_num(values).T.tolist()])
    return np.where(n_present > 0, sums / (np.maximum(n_present, 1) if n is None else n), np.nan)


def _variance(moments: Floats) -> Floats:
    """Return variances from those over stimuli, units and cells (last axis), see `Influence.variance`."""
    of_stimuli, of_units, of_cells = np.moveaxis(moments, -1, 0)
    variance: Floats = np.maximum(np.maximum(of_stimuli + of_units - of_cells, of_stimuli), of_units)
    return variance
