r"""Standard errors and intervals of scores over new stimuli and new units, without draws.

A score is computed from a table of stimuli by *units* (neuroids or subjects). To first order it is a constant plus a
sum over cells, :math:`\sum_{ij} x_{ij}`, where :math:`x_{ij}` is the *influence* of a cell: the change of the score
with the cell's weight. Both stimuli and units are samples, so the variance is that of sums clustered two ways (Cameron
et al. 2011):

.. math:: V = \sum_i \Big(\sum_j x_{ij}\Big)^2 + \sum_j \Big(\sum_i x_{ij}\Big)^2 - \sum_{ij} x_{ij}^2

The bootstrap of stimuli tends to the first term, that of units to the second; both include the noise of cells, hence
the third. V is the limit of the two-factor-corrected dual bootstrap, :math:`2 (V_{stimuli} + V_{units}) - V_{both}`
(Schütt et al. 2023), since drawing both counts that noise three times (Owen 2007).

Functions of several scores (a ratio to a ceiling, a difference, a mean) add their influences by stimulus and unit, so
that shared errors count once.

References
----------
Cameron et al. (2011), doi:10.1198/jbes.2010.07136, equation 2.5.
Schütt et al. (2023), doi:10.7554/eLife.82566.
Owen (2007), doi:10.1214/07-AOAS122.
Satterthwaite (1946), doi:10.2307/3002019.
Bell & McCaffrey (2002), Survey Methodology 28:169.
Imbens & Kolesár (2016), doi:10.1162/REST_a_00552.
"""

# Why cells, and not draws
#
# Problem. A score is meant for new stimuli and new units at once, and is compared, averaged and divided by a ceiling:
# errors that two scores share must count once. A single number for an error cannot be combined like that.
#
# Sources. Above; Hampel (1974), doi:10.1080/01621459.1974.10482962, for influences as derivatives by a weight.
#
# What else was tried or considered, and why not.
# - Draws of held-out stimuli and of units (tried, 2026-11-21 to 2026-11-23): each draw repeats the comparison, copies
#   of a stimulus would be in training and test, draws of both count the noise of cells three times, and two scores can
#   be combined only if they shared their draws. V is the limit of the corrected draws.
# - Influences of stimuli and of units only (considered): both margins include the noise of cells, so their sum is too
#   large by the third term. Cells are needed.
# - The largest of the two single errors (considered): too small if both matter. It is the lower bound of V here, since
#   by chance V can fall below it.
# - Normal quantiles (considered): intervals are too narrow for few units or clusters. Degrees of freedom are
#   Satterthwaite's.
#
# Cost. O(cells) for a variance or a sum, in time and memory; a median has cells only for the units near it. Names are
# matched by a dictionary. Records store a sketch of fixed size (`sketch`), and all pairs of models are compared by
# products of these (`joint_errors`).
#
# Where it breaks. To first order only: a statistic with a kink, or far from linear for a unit's whole weight, needs an
# influence made for it. Few units that dominate make V itself uncertain (`tail_freedom`). Fewer than two stimuli or
# units have no error. Scores of different kinds of units must not be added under the same names: see `within`.

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.intp]
    Labels = npt.NDArray[Any]

__all__ = [
    "LEVEL",
    "TAIL_FACTOR",
    "Influence",
    "Interval",
    "Scale",
    "fieller_from_variances",
    "fieller_interval",
    "satterthwaite",
    "t_quantile",
    "tail_freedom",
]

LEVEL = 0.95
"""Coverage of intervals."""

TAIL_FACTOR = 0.75
"""See `tail_freedom`."""

Interval = tuple[float, float]
Scale = Literal["identity", "fisher"]


@dataclass(frozen=True, eq=False, repr=False)
class Influence:
    """Influences of all cells of a measurement on a score.

    A median depends on the cells of the few units near it; other units only count, without stored cells.

    Attributes
    ----------
    cells : ndarray, shape (n_stimuli, n_columns)
        Influences in units of the score; with `of_units` they sum to about 0. Margins are scaled so that their sums of
        squares are unbiased variances.
    stimuli, units : ndarray, shapes (n_stimuli,) and (n_units,)
        Unique names.
    unit
        Kind of unit, such as ``'neuroid'`` or ``'subject'``.
    columns : ndarray of int, shape (n_columns,), or None
        Places of the units of `cells`; None: all.
    of_units : ndarray, shape (n_units,), or None
        Influences of whole units, spread evenly over stimuli; None: none.
    freedom, stimulus_freedom
        Upper bounds of the degrees of freedom over units (medians depend on few) and over stimuli (unequal clusters),
        besides their numbers minus one.
    stimulus
        Kind of rows: ``'stimulus'``, or the coordinate of their clusters, see `over_clusters`.
    interval_freedom
        As `freedom`, in the score's own interval only, if few units dominate, see `tail_freedom`.

    Examples
    --------
    Influences on the mean of a table of independent entries:

    >>> table = np.random.default_rng(0).standard_normal((50, 30))
    >>> influence = Influence.of_mean(table, np.arange(50), np.arange(30))
    >>> influence
    <Influence of 50 stimuli x 30 neuroids>
    >>> 0.6 < float(influence.error / table.std() * np.sqrt(table.size)) < 1.6
    True
    """

    cells: Floats
    stimuli: Labels
    units: Labels
    unit: str = "neuroid"
    columns: Indices | None = None
    of_units: Floats | None = None
    freedom: float = np.inf
    stimulus: str = "stimulus"
    stimulus_freedom: float = np.inf
    interval_freedom: float = np.inf

    def __post_init__(self) -> None:
        if self.cells.shape != (len(self.stimuli), len(self._columns)):
            raise ValueError(
                f"Influences have a row for each stimulus and a column for each {self.unit}; got shape "
                f"{self.cells.shape} for {len(self.stimuli)} stimuli and {len(self.units)} {self.unit}s."
            )

    def __repr__(self) -> str:
        rows = "stimuli" if self.stimulus == "stimulus" else f"{self.stimulus}s"
        return f"<Influence of {len(self.stimuli)} {rows} x {len(self.units)} {self.unit}s>"

    @classmethod
    def of_mean(cls, table: Floats, stimuli: Labels, units: Labels, unit: str = "neuroid") -> Influence:
        """Return the influences on the mean of a table, shape (n_stimuli, n_units); all NaN if it contains NaN.

        Examples
        --------
        >>> influence = Influence.of_mean(np.array([[1.0, 1.0], [3.0, 3.0]]), np.arange(2), np.arange(2))
        >>> round(influence.error, 6)  # of the mean of 1 and 3
        1.0
        """
        n, q = table.shape
        rows, columns = table.mean(axis=1) - table.mean(), table.mean(axis=0) - table.mean()
        scales = [np.sqrt(max(size * (size - 1), 1)) for size in (n, q)]
        rest = table - table.mean() - rows[:, None] - columns
        return cls.of_margins(
            stimuli, units, rows / scales[0], columns / scales[1], rest / (scales[0] * scales[1]), unit=unit
        )

    @classmethod
    def of_margins(
        cls,
        stimuli: Labels,
        units: Labels,
        of_stimuli: Floats,
        of_units: Floats,
        interaction: Floats,
        *,
        unit: str = "neuroid",
    ) -> Influence:
        """Combine influences of stimuli, of units, and their interaction.

        Parameters
        ----------
        of_stimuli, of_units : ndarray, shapes (n_stimuli,) and (n_units,)
            Sums over the other factor; each sums to about 0.
        interaction : ndarray, shape (n_stimuli, n_units)
            Its means over rows and columns are subtracted.
        """
        rows, columns = (values - values.mean() for values in (of_stimuli, of_units))
        rest = interaction - interaction.mean(axis=0) - interaction.mean(axis=1, keepdims=True) + interaction.mean()
        cells = rest + rows[:, None] / len(units) + columns / len(stimuli)
        return cls(cells, stimuli, units, unit)

    @property
    def _columns(self) -> Indices:
        return np.arange(len(self.units)) if self.columns is None else self.columns

    @property
    def _of_units(self) -> Floats:
        return np.zeros(len(self.units)) if self.of_units is None else self.of_units

    def __mul__(self, factor: float) -> Influence:
        of_units = None if self.of_units is None else self.of_units * factor
        return replace(self, cells=self.cells * factor, of_units=of_units)

    __rmul__ = __mul__

    def __add__(self, other: Influence) -> Influence:
        """Match stimuli and units by name."""
        stimuli, units = _union(self.stimuli, other.stimuli), _union(self.units, other.units)
        parts = (self, other)
        places = [(_places(stimuli, part.stimuli), _places(units, part.units)) for part in parts]
        own_columns = [place[part._columns] for part, (_, place) in zip(parts, places, strict=True)]  # noqa: SLF001
        columns = np.unique(np.concatenate(own_columns))
        cells, of_units = np.zeros((len(stimuli), len(columns))), np.zeros(len(units))
        for part, (rows, place), own in zip(parts, places, own_columns, strict=True):
            cells[np.ix_(rows, np.searchsorted(columns, own))] += part.cells
            of_units[place] += part._of_units
        of_stimuli, freedom = (self._freedom_with(other, place) for place in (0, 1))
        few = min(self.interval_freedom, other.interval_freedom)
        return Influence(cells, stimuli, units, self.unit, columns, of_units, freedom, self.stimulus, of_stimuli, few)

    def _freedom_with(self, other: Influence, place: int) -> float:
        """Return the lower bound of both if names are shared, otherwise Satterthwaite's."""
        parts = (self, other)
        lower = min((part.stimulus_freedom, part.freedom)[place] for part in parts)
        names = [set((part.stimuli, part.units)[place].tolist()) for part in parts] if np.isfinite(lower) else []
        if not names or names[0] & names[1]:
            return lower
        variances = [part.components[place] for part in parts]
        spread = sum(
            variance**2 / part.freedoms[place] for variance, part in zip(variances, parts, strict=True) if variance > 0
        )
        return sum(variances) ** 2 / spread if spread > 0 else lower

    def __sub__(self, other: Influence) -> Influence:
        return self + (-1.0) * other

    def within(self, *, stimuli: str = "", units: str = "") -> Influence:
        """Prefix the names, to separate them from other measurements'."""
        return replace(
            self,
            stimuli=np.array([f"{stimuli}{name}" for name in self.stimuli], dtype=object),
            units=np.array([f"{units}{name}" for name in self.units], dtype=object),
        )

    def over_clusters(self, clusters: Labels, stimulus: str) -> Influence:
        r"""Sum stimuli by sampled cluster, shape (n_stimuli,), such as pictures by object.

        With the shares :math:`w_g` of stimuli and effects of clusters, squared sums about the mean are too small by
        :math:`1 - 2 \sum_g w_g^3 / \sum_g w_g^2 + \sum_g w_g^2`, which is :math:`1 - 1/G` for :math:`G` equal clusters
        (Bell & McCaffrey 2002, with the working model of Imbens & Kolesár 2016). The degrees of freedom are
        Satterthwaite's in that model, :math:`G - 1` for equal clusters. Squares over clusters grow by :math:`q/(q - 1)`
        for :math:`q` units, since the squares of cells, which are subtracted, hold one :math:`q`-th of them.
        """
        names, index, counts = np.unique(clusters, return_inverse=True, return_counts=True)
        share = counts / counts.sum()
        squares = share @ share
        lost = 1 - 2 * (share**3).sum() / squares + squares
        whole = self.cells.sum(axis=0)
        cells = np.zeros((len(names), len(whole)))
        np.add.at(cells, index, self.cells)
        # Influences of units stay; those of stimuli are unbiased already for independent ones.
        cells = (cells - np.outer(share, whole)) * np.sqrt((1 - 1 / len(self.stimuli)) / lost)
        q = len(self.units)
        cells += cells.mean(axis=1, keepdims=True) * (np.sqrt(q / max(q - 1, 1)) - 1) + whole / len(names)
        covariance = np.outer(share, share) * (np.eye(len(share)) - share[:, None] - share + squares)
        freedom = np.trace(covariance) ** 2 / np.vdot(covariance, covariance)
        return replace(self, cells=cells, stimuli=names, stimulus=stimulus, stimulus_freedom=float(freedom))

    @cached_property
    def by_stimulus(self) -> Floats:
        """Influence of each stimulus, shape (n_stimuli,)."""
        sums: Floats = self.cells.sum(axis=1) + self._of_units.sum() / len(self.stimuli)
        return sums

    @cached_property
    def by_unit(self) -> Floats:
        """Influence of each unit, shape (n_units,)."""
        sums = self._of_units.copy()
        sums[self._columns] += self.cells.sum(axis=0)
        return sums

    @cached_property
    def components(self) -> tuple[float, float, float]:
        """The three terms of the variance: over stimuli, over units, over cells."""
        even = self._of_units / len(self.stimuli)
        of_cells = np.vdot(self.cells, self.cells) + 2 * even[self._columns] @ self.cells.sum(axis=0)
        of_cells += even @ self._of_units
        return float(self.by_stimulus @ self.by_stimulus), float(self.by_unit @ self.by_unit), float(of_cells)

    @property
    def variance(self) -> float:
        """Squared standard error over new stimuli and units, never below that over one of the two."""
        of_stimuli, of_units, of_cells = self.components
        return max(of_stimuli + of_units - of_cells, of_stimuli, of_units)

    @property
    def error(self) -> float:
        """Standard error over new stimuli and new units; NaN for fewer than two of either."""
        return float(np.sqrt(self.variance)) if self.why_unknown is None else float("nan")

    @property
    def stimulus_error(self) -> float:
        """Standard error over new stimuli with these units."""
        return float(np.sqrt(self.components[0]))

    @cached_property
    def why_unknown(self) -> str | None:
        """Why there is no error; None if there is one."""
        if not (np.isfinite(self.cells).all() and np.isfinite(self._of_units).all()):
            return "the score is undefined for some stimuli"
        for counted, name in ((self.units, self.unit), (self.stimuli, self.stimulus)):
            if len(counted) < 2:
                return f"a single {name}: it does not tell how others differ"
        return None

    @property
    def freedoms(self) -> tuple[float, float]:
        """Degrees of freedom over stimuli and over units."""
        return float(min(len(self.stimuli) - 1, self.stimulus_freedom)), float(min(len(self.units) - 1, self.freedom))

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of the variance (Satterthwaite); NaN if it is 0."""
        of_stimuli, of_units = self.freedoms
        return satterthwaite(self.components, (of_stimuli, min(of_units, self.interval_freedom)), self.variance)

    def interval(self, score: float, *, scale: Scale = "identity") -> Interval:
        """Return the interval of the score of these influences; NaN without an error.

        `scale` makes it symmetric in the score, or in Fisher's z for scores in [-1, 1].
        """
        margin = self.error * t_quantile(self.degrees_of_freedom) if self.variance > 0 else self.error
        if scale == "identity" or not abs(score) < 1:
            return score - margin, score + margin
        z, slope = np.arctanh(score), 1 / (1 - score**2)
        return float(np.tanh(z - margin * slope)), float(np.tanh(z + margin * slope))


def fieller_interval(
    numerator: float, denominator: float, of_numerator: Influence, of_denominator: Influence
) -> Interval:
    r"""Return the interval of a ratio of two uncertain numbers (Fieller's theorem).

    It contains every :math:`\theta` whose product with the denominator does not differ from the numerator: :math:`(a -
    \theta b)^2 \le t^2 V(a - \theta b)`.

    Returns
    -------
    (float, float)
        NaN if the denominator could be 0, so any ratio is possible, or without an error.

    References
    ----------
    Fieller (1954), Journal of the Royal Statistical Society B 16:175.
    """
    ratio = of_numerator - (numerator / denominator) * of_denominator
    top, bottom = ratio.error, of_denominator.error
    if np.isnan(top) or np.isnan(bottom):
        return float("nan"), float("nan")
    if top == 0:
        return numerator / denominator, numerator / denominator
    t = t_quantile(ratio.degrees_of_freedom)
    # The variances of a, b and a + b give the covariance.
    variances = [part.variance for part in (of_numerator, of_denominator, of_numerator + of_denominator)]
    covariance = (variances[2] - variances[0] - variances[1]) / 2
    return fieller_from_variances(numerator, denominator, (variances[0], variances[1], covariance), t)


def fieller_from_variances(
    numerator: float, denominator: float, variances: tuple[float, float, float], t: float
) -> Interval:
    """Return `fieller_interval` from the variances of both and their covariance; `t` is the quantile of Student's t."""
    of_numerator, of_denominator, covariance = variances
    # (b^2 - t^2 V_b) theta^2 - 2 (a b - t^2 C) theta + (a^2 - t^2 V_a) <= 0
    square = denominator**2 - t**2 * of_denominator
    middle = numerator * denominator - t**2 * covariance
    rest = numerator**2 - t**2 * of_numerator
    root = middle**2 - square * rest
    if square <= 0 or root < 0:
        return float("nan"), float("nan")
    return float((middle - np.sqrt(root)) / square), float((middle + np.sqrt(root)) / square)


def tail_freedom(influences: Floats, factor: float = TAIL_FACTOR) -> float:
    r"""Return the degrees of freedom of a sum of squared influences of units if some may dominate.

    .. math:: c \frac{q}{\kappa - 1}, \qquad \kappa = q \sum_j x_j^4 \Big/ \Big(\sum_j x_j^2\Big)^2

    at least 1. Satterthwaite's factor c is 2 for the true kurtosis, which samples of heavy tails understate. The
    default is fitted to simulations: for neuroids with counts between 1 and 80, intervals then cover the mean of
    geometry metrics in 93 to 96 % instead of 87 to 91.
    """
    squares = influences**2
    total, q = float(squares.sum()), len(influences)
    excess = q * float(squares @ squares) / total**2 - 1 if total > 0 else 0.0
    return max(1.0, factor * q / excess) if excess > 0 else float("inf")


def satterthwaite(components: Sequence[float] | Floats, freedoms: tuple[float, float], variance: float) -> float:
    """Return the degrees of freedom of a variance with parts over stimuli, units and cells (Satterthwaite).

    NaN if the variance is 0 or there is a single stimulus or unit. Variances over stimuli and over units both contain
    that of cells; one that is smaller by chance counts as equal to it.
    """
    (of_stimuli, of_units, of_cells), (n, q) = components, freedoms
    least = min(of_cells, variance)
    of_stimuli, of_units = max(of_stimuli, least), max(of_units, least)
    spread = of_stimuli**2 / n + of_units**2 / q + of_cells**2 / (n * q) if n and q else 0.0
    if spread > 0:
        return float(variance**2 / spread)
    return float("inf") if variance > 0 and np.isinf(n) and np.isinf(q) else float("nan")


def t_quantile(degrees_of_freedom: float) -> float:
    """Return the two-sided quantile of Student's t for the coverage `LEVEL`."""
    from scipy.special import stdtrit  # heavy: SciPy

    return float(stdtrit(degrees_of_freedom, (1 + LEVEL) / 2))


def _union(first: Labels, second: Labels) -> Labels:
    if np.array_equal(first, second):
        return first
    return np.array(list(dict.fromkeys([*first.tolist(), *second.tolist()])), dtype=object)


def _places(labels: Labels, wanted: Labels) -> Indices:
    if np.array_equal(labels, wanted):
        return np.arange(len(labels))
    position = {label: place for place, label in enumerate(labels.tolist())}
    return np.array([position[label] for label in wanted.tolist()], dtype=np.intp)
