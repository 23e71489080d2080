r"""Say how sure a score is: its standard error and interval for other stimuli and other units, without draws.

A score is computed from a table: stimuli by what answered them (the *units*: neuroids, or subjects). To first order it
is a constant plus a sum over the cells of that table, :math:`\sum_{ij} x_{ij}`, where :math:`x_{ij}` is the *influence*
of the cell: how the score moves when the cell weighs more. Stimuli and units are two samples, and both are new when an
experiment is repeated. Its variance then is that of sums clustered two ways (Cameron, Gelbach & Miller 2011):

.. math:: V = \sum_i \Big(\sum_j x_{ij}\Big)^2 + \sum_j \Big(\sum_i x_{ij}\Big)^2 - \sum_{ij} x_{ij}^2

The first term is what the bootstrap of stimuli tends to, the second that of units; both hold the noise of single cells,
hence the third. It is the limit of the dual bootstrap with its correction for two factors,
:math:`2 (V_{stimuli} + V_{units}) - V_{both}` (Schütt et al. 2023): drawing both at once counts that noise three times
(Owen 2007).

What is computed from several scores, such as a score divided by its ceiling, the difference of two models, or a mean
over benchmarks, has the same combination of their influences. Those of one stimulus or one unit are added, so that what
scores share is neither counted twice nor left out.

References
----------
Cameron, Gelbach & Miller (2011), Robust inference with multiway clustering, Journal of Business & Economic Statistics
29:238, equation 2.5, doi:10.1198/jbes.2010.07136. Schütt, Kipnis, Diedrichsen & Kriegeskorte (2023), Statistical
inference on representational geometries, eLife 12:e82566, doi:10.7554/eLife.82566. Owen (2007), The pigeonhole
bootstrap, Annals of Applied Statistics 1:386, doi:10.1214/07-AOAS122. Satterthwaite (1946), An approximate distribution
of estimates of variance components, Biometrics Bulletin 2:110, doi:10.2307/3002019.
"""

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
    "Influence",
    "Interval",
    "Scale",
    "fieller_from_variances",
    "fieller_interval",
    "satterthwaite",
    "t_quantile",
]

LEVEL = 0.95
"""Part of experiments whose interval holds what it is for."""

Interval = tuple[float, float]
Scale = Literal["identity", "fisher"]


@dataclass(frozen=True, eq=False, repr=False)
class Influence:
    """How every cell of a measurement moves a score.

    Of many units only few move a median by their cells, those near it, while each moves it by being there: cells of
    the others are not kept.

    Attributes
    ----------
    cells : ndarray, shape (n_stimuli, n_columns)
        Influences, in the units of the score; with those of whole units they sum to about 0. Their margins are scaled
        so that the sum of squares is an unbiased variance.
    stimuli : ndarray, shape (n_stimuli,)
        Their names, each once.
    units : ndarray, shape (n_units,)
        Their names, each once.
    unit : str
        What the units are, such as ``'neuroid'`` or ``'subject'``.
    columns : ndarray of int, shape (n_columns,), or None
        Which units the cells are of; None: all.
    of_units : ndarray, shape (n_units,), or None
        What units add as wholes, evenly over stimuli; None: nothing.
    freedom : float
        At most how many independent values the variance over units is worth. Infinite: one less than there are units.
        Medians tell less, since only the values in the middle count.

    Examples
    --------
    Those on the mean over a table of independent entries:

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

    def __post_init__(self) -> None:
        """Refuse labels that do not fit the cells."""
        if self.cells.shape != (len(self.stimuli), len(self._columns)):
            raise ValueError(
                f"Influences have a row for each stimulus and a column for each {self.unit}; got shape "
                f"{self.cells.shape} for {len(self.stimuli)} stimuli and {len(self.units)} {self.unit}s."
            )

    def __repr__(self) -> str:
        """Return the size, since scores show their attributes."""
        return f"<Influence of {len(self.stimuli)} stimuli x {len(self.units)} {self.unit}s>"

    @classmethod
    def of_mean(cls, table: Floats, stimuli: Labels, units: Labels, unit: str = "neuroid") -> Influence:
        """Return the influences on the mean of a table, shape (n_stimuli, n_units).

        Squared margins sum to the unbiased variances of means. NaN throughout for a table with NaN.

        Examples
        --------
        >>> influence = Influence.of_mean(np.array([[1.0, 1.0], [3.0, 3.0]]), np.arange(2), np.arange(2))
        >>> round(influence.error, 6)  # that of the mean of 1 and 3
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
        """Make the influences of cells from those of whole stimuli, of whole units, and what is left for the cells.

        Parameters
        ----------
        of_stimuli, of_units : ndarray, shapes (n_stimuli,) and (n_units,)
            Sums over the other factor; each sums to about 0.
        interaction : ndarray, shape (n_stimuli, n_units)
            What a cell adds to the two. Its means over rows and columns are taken out.
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
        """Return the influences on a multiple of the score."""
        of_units = None if self.of_units is None else self.of_units * factor
        return replace(self, cells=self.cells * factor, of_units=of_units)

    __rmul__ = __mul__

    def __add__(self, other: Influence) -> Influence:
        """Return the influences on the sum of two scores; stimuli and units of the same name are the same."""
        stimuli, units = _union(self.stimuli, other.stimuli), _union(self.units, other.units)
        places = [(_places(stimuli, each.stimuli), _places(units, each.units)) for each in (self, other)]
        kept = [place[each._columns] for each, (_, place) in zip((self, other), places, strict=True)]  # noqa: SLF001
        columns = np.unique(np.concatenate(kept))
        cells, of_units = np.zeros((len(stimuli), len(columns))), np.zeros(len(units))
        for each, (rows, place), own in zip((self, other), places, kept, strict=True):
            cells[np.ix_(rows, np.searchsorted(columns, own))] += each.cells
            of_units[place] += each._of_units
        return Influence(cells, stimuli, units, self.unit, columns, of_units, self._freedom_with(other))

    def _freedom_with(self, other: Influence) -> float:
        """Return that of the sum: of the same units the lower one, of others Satterthwaite's for a sum."""
        lower = min(self.freedom, other.freedom)
        if np.isinf(lower) or set(self.units.tolist()) & set(other.units.tolist()):
            return lower
        variances = [each.components[1] for each in (self, other)]
        spread = sum(
            variance**2 / min(each.freedom, len(each.units) - 1)
            for variance, each in zip(variances, (self, other), strict=True)
            if variance > 0
        )
        return sum(variances) ** 2 / spread if spread > 0 else lower

    def __sub__(self, other: Influence) -> Influence:
        """Return the influences on the difference of two scores, such as those of two models on one benchmark."""
        return self + (-1.0) * other

    def within(self, *, stimuli: str = "", units: str = "") -> Influence:
        """Prefix the names, so that equal ones of other measurements do not count as the same."""
        return replace(
            self,
            stimuli=np.array([f"{stimuli}{name}" for name in self.stimuli], dtype=object),
            units=np.array([f"{units}{name}" for name in self.units], dtype=object),
        )

    def clustered(self, groups: Labels, unit: str) -> Influence:
        """Add up the units of each group: what was sampled is the group, such as the subject of neuroids.

        Parameters
        ----------
        groups : ndarray, shape (n_units,)
            Of which group each unit is.
        """
        names, index = np.unique(groups, return_inverse=True)
        cells, of_units = np.zeros((len(self.stimuli), len(names))), np.zeros(len(names))
        for place in range(len(names)):
            cells[:, place] = self.cells[:, index[self._columns] == place].sum(axis=1)
            of_units[place] = self._of_units[index == place].sum()
        return Influence(cells, self.stimuli, names, unit, None, of_units)

    @cached_property
    def by_stimulus(self) -> Floats:
        """How each stimulus with all its cells moves the score, shape (n_stimuli,)."""
        sums: Floats = self.cells.sum(axis=1) + self._of_units.sum() / len(self.stimuli)
        return sums

    @cached_property
    def by_unit(self) -> Floats:
        """How each unit with all its cells moves the score, shape (n_units,)."""
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
        """Squared standard error over new stimuli and new units; never below that over one of the two."""
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
        for counted, name in ((self.units, self.unit), (self.stimuli, "stimulus")):
            if len(counted) < 2:
                return f"a single {name}: it does not tell how others differ"
        return None

    @property
    def freedoms(self) -> tuple[float, float]:
        """How many independent values the variances over stimuli and over units are worth."""
        return len(self.stimuli) - 1.0, float(min(len(self.units) - 1, self.freedom))

    @property
    def degrees_of_freedom(self) -> float:
        """How many independent values the variance is worth, by Satterthwaite's formula; NaN if it is 0."""
        return satterthwaite(self.components, self.freedoms, self.variance)

    def margin(self, level: float = LEVEL) -> float:
        """Return half the width of the interval: the error times the quantile of Student's t; NaN without an error."""
        return self.error * t_quantile(self.degrees_of_freedom, level) if self.variance > 0 else self.error

    def interval(self, score: float, *, scale: Scale = "identity", level: float = LEVEL) -> Interval:
        """Return the interval of a score.

        Parameters
        ----------
        score : float
            Whose influences these are.
        scale : {'identity', 'fisher'}
            On which the interval is symmetric: that of the score, or Fisher's z, for what lies in [-1, 1].
        level : float
            Coverage aimed at, in (0, 1), else `ValueError`.

        Returns
        -------
        (float, float)
            NaN without an error.
        """
        margin = self.margin(level)
        if scale == "identity" or not abs(score) < 1:
            return score - margin, score + margin
        z, slope = np.arctanh(score), 1 / (1 - score**2)
        return float(np.tanh(z - margin * slope)), float(np.tanh(z + margin * slope))


def fieller_interval(
    numerator: float, denominator: float, of_numerator: Influence, of_denominator: Influence, *, level: float = LEVEL
) -> Interval:
    r"""Return the interval of a ratio of two uncertain numbers, by Fieller's theorem.

    It holds all :math:`\theta` for which the numerator does not differ from :math:`\theta` times the denominator:
    :math:`(a - \theta b)^2 \le t^2 V(a - \theta b)`.

    Returns
    -------
    (float, float)
        NaN where the denominator could be 0, so that any ratio is possible, and without an error.

    References
    ----------
    Fieller (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16:175.
    """
    ratio = of_numerator - (numerator / denominator) * of_denominator
    top, bottom = ratio.error, of_denominator.error
    if np.isnan(top) or np.isnan(bottom):
        return float("nan"), float("nan")
    if top == 0:
        return numerator / denominator, numerator / denominator
    t = t_quantile(ratio.degrees_of_freedom, level)
    # Variances of a, b and a + b give their covariance, with the terms that hold the same cells.
    variances = [each.variance for each in (of_numerator, of_denominator, of_numerator + of_denominator)]
    covariance = (variances[2] - variances[0] - variances[1]) / 2
    return fieller_from_variances(numerator, denominator, (variances[0], variances[1], covariance), t)


def fieller_from_variances(
    numerator: float, denominator: float, variances: tuple[float, float, float], t: float
) -> Interval:
    """Return the interval of a ratio, see `fieller_interval`.

    Parameters
    ----------
    variances : (float, float, float)
        Of numerator and denominator, and their covariance.
    t : float
        Quantile of Student's t.
    """
    of_numerator, of_denominator, covariance = variances
    # (b^2 - t^2 V_b) theta^2 - 2 (a b - t^2 C) theta + (a^2 - t^2 V_a) <= 0
    square = denominator**2 - t**2 * of_denominator
    middle = numerator * denominator - t**2 * covariance
    rest = numerator**2 - t**2 * of_numerator
    root = middle**2 - square * rest
    if square <= 0 or root < 0:
        return float("nan"), float("nan")
    return float((middle - np.sqrt(root)) / square), float((middle + np.sqrt(root)) / square)


def satterthwaite(components: Sequence[float] | Floats, freedoms: tuple[float, float], variance: float) -> float:
    """Return how many independent values a variance is worth that has parts over stimuli, over units and over cells.

    Parameters
    ----------
    components : sequence of three float
        As `Influence.components`.
    freedoms : (float, float)
        As `Influence.freedoms`.

    Returns
    -------
    float
        NaN if the variance is 0 or there is a single stimulus or unit.
    """
    (of_stimuli, of_units, of_cells), (n, q) = components, freedoms
    spread = of_stimuli**2 / n + of_units**2 / q + of_cells**2 / (n * q) if n and q else 0.0
    if spread > 0:
        return float(variance**2 / spread)
    return float("inf") if variance > 0 and np.isinf(n) and np.isinf(q) else float("nan")


def t_quantile(degrees_of_freedom: float, level: float) -> float:
    """Return the quantile of Student's t that leaves `level` between itself and its negative; `ValueError` if none."""
    from scipy.special import stdtrit  # takes longer to load than most commands

    if not 0 < level < 1:
        raise ValueError(f"The level of an interval lies between 0 and 1; got {level}.")
    return float(stdtrit(degrees_of_freedom, (1 + level) / 2))


def _union(first: Labels, second: Labels) -> Labels:
    if np.array_equal(first, second):
        return first
    return np.array(list(dict.fromkeys([*first.tolist(), *second.tolist()])), dtype=object)


def _places(labels: Labels, wanted: Labels) -> Indices:
    if np.array_equal(labels, wanted):
        return np.arange(len(labels))
    position = {label: place for place, label in enumerate(labels.tolist())}
    return np.array([position[label] for label in wanted.tolist()], dtype=np.intp)
