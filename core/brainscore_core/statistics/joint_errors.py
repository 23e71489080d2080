r"""Covariances of several models' scores over new stimuli and new units, for all pairs at once.

Shared errors cancel in a difference. With the influences :math:`x_{aij}` on the score of model :math:`a` (see
`influence`), there are covariances over stimuli, over units and over cells:

.. math:: S_{ab} = \sum_i x_{ai\cdot} x_{bi\cdot}, \quad U_{ab} = \sum_j x_{a\cdot j} x_{b\cdot j}, \quad
    C_{ab} = \sum_{ij} x_{aij} x_{bij}

and the covariance over new stimuli and units is :math:`S + U - C`, since :math:`S` and :math:`U` both include the noise
of cells. It is the limit of the corrected bootstrap of Schütt et al. (2023).

**Equal models tie.** The error of a difference from influences cannot be arbitrarily small, or copies of a model
differ with p = 0: each of S, U and C of a difference is at least `RESOLUTION` squared times its sum over the two
scores, and the degrees of freedom at this bound are the scores'. Influences cannot resolve more, for two reasons.

- Records keep sketches, which round each of 1,024 buckets to a step :math:`s` of 1/127 of the largest. This adds a
  variance of :math:`s^2 / 12` to each; the largest of normal buckets is 3.4 standard deviations, so .008 of a score's
  error is rounding. Copies round to equal steps, so their difference seems to be exactly 0. A difference with
  :math:`\sqrt 2` hundredths of the error changes 40 % of the steps if buckets are normal, and some 46 of 1,024 however
  few of them dominate (the largest is at most 32 standard deviations), so from there on there is an estimate.
- The influences of a median are those of a smooth weighted mean of several neuroids, but a small change of features
  moves the median with one of them: differences of a regression between copies with noise of 1e-5 scatter 1.6 times as
  much as half of their influences say. From a few thousandths of the score's error on, other neuroids become the
  median, and the error is right or too large.

Rounding of the features (float32: 1e-7 of the error of a regression) lies far below. `ROUNDING` is for scores
without any error, such as those of two models that are right throughout.

References
----------
Schütt et al. (2023), doi:10.7554/eLife.82566.
Owen (2007), doi:10.1214/07-AOAS122.
Satterthwaite (1946), doi:10.2307/3002019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.statistics.sketch import of_one_kind

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.statistics.averages import Estimate
    from brainscore_core.statistics.influence import Influence

    Floats = npt.NDArray[np.float64]

__all__ = ["RESOLUTION", "ROUNDING", "JointErrors"]

Freedom = tuple[float, float]

RESOLUTION = 0.01
"""Minimum error of a difference, in units of the root of the summed variances of the two scores; see the module."""

ROUNDING = 1e-7
"""Minimum error of a difference, in units of the score: the precision of 32-bit numbers."""

_ROWS = 32


@dataclass(frozen=True, eq=False, repr=False)
class JointErrors:
    """Covariances of the scores of several models.

    Attributes
    ----------
    moments : ndarray, shape (3, n_models, n_models)
        S, U and C: covariances over stimuli, over units and over cells.
    freedom : (float, float)
        Degrees of freedom of S and U; infinite: unknown, or not a sample.
    apart : ndarray, shape (n_models,)
        Variances with unknown covariances, not in `moments`; NaN: no error.
    df : ndarray, shape (n_models,)
        Degrees of freedom of each error, where `freedom` is infinite.

    Examples
    --------
    Two models with correlated scores for 200 stimuli and 8 subjects:

    >>> from brainscore_core.statistics.influence import Influence
    >>> rng = np.random.default_rng(0)
    >>> common = rng.standard_normal((200, 1)) + rng.standard_normal(8)
    >>> tables = common + 0.3 * rng.standard_normal((2, 200, 8))
    >>> errors = JointErrors.of_influences([Influence.of_mean(table, np.arange(200), np.arange(8)) for table in tables])
    >>> bool(errors.pair_errors[0, 1] < 0.2 * errors.errors[0])
    True
    """

    moments: Floats
    freedom: Freedom
    apart: Floats
    df: Floats

    def __repr__(self) -> str:
        return f"<JointErrors of {len(self.apart)} models>"

    @classmethod
    def of_moments(cls, moments: Floats, freedom: Freedom) -> JointErrors:
        """Take S, U and C, shape (3, n_models, n_models), of scores without other errors."""
        own: Floats = moments.diagonal(axis1=1, axis2=2).sum(axis=0)
        return cls(moments, freedom, np.where(np.isfinite(own), 0.0, np.nan), np.full(len(own), np.inf))

    @classmethod
    def of_influences(cls, influences: Sequence[Influence]) -> JointErrors:
        """Take influences on the scores; equal names are the same stimuli and units."""
        nothing = reduce(add, (0.0 * influence for influence in influences))
        aligned = [nothing + influence for influence in influences]  # all have the same names in one order
        stimuli, units = (
            np.stack([getattr(influence, of) for influence in aligned]) for of in ("by_stimulus", "by_unit")
        )
        cells = np.stack([influence.cells.ravel() for influence in aligned])
        even = np.stack([influence._of_units for influence in aligned])  # noqa: SLF001
        sums = np.zeros_like(even)
        sums[:, aligned[0]._columns] = [influence.cells.sum(axis=0) for influence in aligned]  # noqa: SLF001
        n = len(aligned[0].stimuli)
        crossed = even @ sums.T / n
        of_cells = cells @ cells.T + crossed + crossed.T + even @ even.T / n
        n_free, q_free = (min(influence.freedoms[place] for influence in aligned) for place in (0, 1))
        moments = np.stack([stimuli @ stimuli.T, units @ units.T, of_cells])
        return cls.of_moments(moments if n_free and q_free else np.full_like(moments, np.nan), (n_free, q_free))

    @classmethod
    def of_estimates(cls, estimates: Sequence[Estimate]) -> JointErrors:
        """Take scores or averages of models on one node.

        Errors without influences go into `apart`; a missing score has none.
        """
        sizes = range(len(estimates))
        matched = [place for place in sizes if estimates[place].influence is not None]
        apart = np.array(
            [(estimate.error if estimate.influence is None else estimate.apart) ** 2 for estimate in estimates]
        )
        apart[[estimate.is_missing or not math.isfinite(estimate.error) for estimate in estimates]] = np.nan
        moments, freedom = np.zeros((3, len(estimates), len(estimates))), (math.inf, math.inf)
        if matched:
            within = cls._of_matched([estimates[place].influence for place in matched])
            moments[np.ix_(range(3), matched, matched)], freedom = within.moments, within.freedom
        return cls(moments, freedom, apart, np.array([estimate.df for estimate in estimates], dtype=np.float64))

    @classmethod
    def _of_matched(cls, influences: Sequence[object]) -> JointErrors:
        exact, sketches = of_one_kind(influences)
        if exact:
            return cls.of_influences(exact)
        buckets = np.stack([sketch.buckets for sketch in sketches], axis=1)
        stimuli, units = (min(sketch.freedom[place] for sketch in sketches) for place in (0, 1))
        return cls.of_moments(np.stack([bucket @ bucket.T for bucket in buckets]), (stimuli, units))

    @property
    def errors(self) -> Floats:
        """Standard error of each score, shape (n_models,); NaN if there is none."""
        parts = np.maximum(self.moments.diagonal(axis1=1, axis2=2), 0.0)
        errors: Floats = np.sqrt(_variance(parts) + self.apart)
        return errors

    @cached_property
    def is_matched(self) -> npt.NDArray[np.bool_]:
        """Whether the covariance of a pair is known, shape (n_models, n_models)."""
        whole = self.apart == 0
        matched: npt.NDArray[np.bool_] = whole[:, None] & whole
        return matched

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        n_models, (n, q) = len(self.apart), self.freedom
        own = self.moments.diagonal(axis1=1, axis2=2)
        least = RESOLUTION**2 * own
        errors, freedom = np.empty((n_models, n_models)), np.empty((n_models, n_models))
        with np.errstate(invalid="ignore", divide="ignore"):
            spread_apart = self.apart**2 / self.df
            for start in range(0, n_models, _ROWS):  # a few rows at a time stay in the cache of the processor
                rows, rest = slice(start, start + _ROWS), slice(start, None)  # mirrored below the diagonal
                parts = own[:, rows, None] + own[:, None, rest] - 2 * self.moments[:, rows, rest]
                np.maximum(parts, least[:, rows, None] + least[:, None, rest], out=parts)
                within, apart = _variance(parts), self.apart[rows, None] + self.apart[rest]
                cells = np.minimum(parts[2], within)  # see `satterthwaite`
                over_stimuli, over_units = (np.maximum(part, cells) for part in parts[:2])
                spread = over_stimuli**2 / n + over_units**2 / q + parts[2] ** 2 / (n * q)
                spread += spread_apart[rows, None] + spread_apart[rest]
                variance = np.maximum(within + apart, ROUNDING**2)
                df = variance**2 / spread
                if math.isinf(n) and math.isinf(q):  # without degrees of freedom of the moments
                    df = np.where(within > 0, np.minimum(df, np.minimum(self.df[rows, None], self.df[rest])), df)
                for table, of_rows in (errors, np.sqrt(variance)), (freedom, df):
                    table[rows, rest], table[rest, rows] = of_rows, of_rows.T
        np.fill_diagonal(errors, 0.0)
        np.fill_diagonal(freedom, np.inf)
        return errors, freedom

    @property
    def pair_errors(self) -> Floats:
        """Standard error of the difference of each pair, shape (n_models, n_models); NaN if one has no error.

        Never below `RESOLUTION` and `ROUNDING`, except 0 on the diagonal.
        """
        return self._pairs[0]

    @property
    def pair_freedom(self) -> Floats:
        """Degrees of freedom of `pair_errors` (Satterthwaite); infinite on the diagonal."""
        return self._pairs[1]


def _variance(parts: Floats) -> Floats:
    """Return the variance over both factors from S, U and C (axis 0), never below that over one."""
    of_cells: Floats = np.minimum(parts[2], np.minimum(parts[0], parts[1]))
    variance: Floats = parts[0] + parts[1] - of_cells
    return variance
