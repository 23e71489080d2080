r"""Compare models: differences with intervals and tests, ranks, groups, and how well a benchmark separates models.

All follow from scores and covariances, without draws.

- Differences are tested with Student's t. Holm's (1979) correction bounds the probability of any false difference among
  all pairs, for any dependence between the tests.
- Significantly better models bound a model's true rank from below, worse ones from above (Mogstad et al. 2024). The
  interval of one rank corrects for its model's comparisons, simultaneous intervals for all pairs.
- Models of one group do not differ significantly.
- Reliability is the share of the variance between models that is not error, :math:`\sum_{a<b} (\theta_a - \theta_b)^2 /
  \sum_{a<b} [(\theta_a - \theta_b)^2 + V_{ab}]`, with the squared errors :math:`V_{ab}` of the differences, where
  shared errors cancel.

References
----------
Holm (1979), Scandinavian Journal of Statistics 6:65.
Shaffer (1980), Annals of Statistics 8:1342 (on the sign of a significant difference).
Mogstad et al. (2024), doi:10.1093/restud/rdad006.
Piepho (2004), doi:10.1198/1061860043515.
Patnaik (1949), Biometrika 36:202.
Hill (1970), Communications of the ACM 13:617.
"""

from __future__ import annotations

import itertools
import string
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ContractError
from brainscore_core.statistics.influence import LEVEL

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.statistics.joint_errors import JointErrors

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]
    Places = npt.NDArray[np.intp]

__all__ = ["Comparison", "Reliability", "holm", "letters", "tie_groups"]

_ROWS = 32
_NEGLIGIBLE = 1e-12  # noise over spread, which the search for an interval would take as none, or overflow


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Differences of several models on one node.

    Pairs have the shape (n_models, n_models): entry (a, b) is model a minus model b.

    Attributes
    ----------
    scores : ndarray, shape (n_models,)
        NaN: not compared.
    joint
    level
        Coverage of intervals, and one minus the level of tests, in (0, 1).

    Examples
    --------
    >>> from brainscore_core.statistics.joint_errors import JointErrors
    >>> rng = np.random.default_rng(0)
    >>> answers = rng.standard_normal((100, 1)) + 0.5 * rng.standard_normal((3, 100, 10))
    >>> answers += np.array([0.0, 0.02, 0.5])[:, None, None]
    >>> compared = Comparison(answers.mean(axis=(1, 2)), JointErrors.of_tables(answers))
    >>> compared.differs[2].tolist()
    [True, True, False]
    >>> compared.rank_intervals().tolist()
    [[2.0, 3.0], [2.0, 3.0], [1.0, 1.0]]
    >>> letters(compared.groups())
    ['b', 'b', 'a']
    """

    scores: Floats
    joint: JointErrors
    level: float = LEVEL

    def __post_init__(self) -> None:
        if self.scores.shape != self.joint.apart.shape:
            raise ContractError(
                f"There are scores of shape {self.scores.shape} and errors of {len(self.joint.apart)} models; expected "
                "one score for each."
            )
        if not 0 < self.level < 1:
            raise ValueError(f"The level of an interval lies between 0 and 1; got {self.level}.")

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.scores)} models>"

    def only(self, places: Bools) -> Comparison:
        """Compare some of these models."""
        part = Comparison(self.scores[places], self.joint.only(places), self.level)
        vars(part)["p"] = self.p[places][:, places]
        return part

    @cached_property
    def differences(self) -> Floats:
        """Score of the first model of each pair minus that of the second."""
        differences: Floats = self.scores[:, None] - self.scores
        return differences

    @cached_property
    def margins(self) -> Floats:
        """Half the widths of the uncorrected intervals of differences; NaN without an error."""
        margins: Floats = self.joint.pair_errors * _special().stdtrit(self.joint.pair_freedom, (1 + self.level) / 2)
        return margins

    @cached_property
    def p(self) -> Floats:
        """Two-sided p values of the differences; NaN on the diagonal."""
        p = np.empty_like(self.differences)
        for start in range(0, len(p), _ROWS):  # a few rows at a time stay in the cache of the processor
            rows, rest = slice(start, start + _ROWS), slice(start, None)  # mirrored below the diagonal
            difference, error = np.abs(self.differences[rows, rest]), self.joint.pair_errors[rows, rest]
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.where(difference == 0, 0.0, difference / error)
            of_rows = np.where(np.isnan(error), np.nan, _two_sided(t, self.joint.pair_freedom[rows, rest]))
            p[rows, rest], p[rest, rows] = of_rows, of_rows.T
        np.fill_diagonal(p, np.nan)
        return p

    @cached_property
    def p_holm(self) -> Floats:
        """`p` corrected for all pairs of these models."""
        upper, table = np.triu_indices(len(self.scores), 1), np.full_like(self.p, np.nan)
        table[upper] = table.T[upper] = holm(self.p[upper])
        return table

    @cached_property
    def differs(self) -> Bools:
        """Pairs that differ significantly, corrected for all pairs; False without an error."""
        return _rejected(self.p, 1 - self.level, all_at_once=True)

    @cached_property
    def ranks(self) -> Floats:
        """One more than the number of models with a higher score, shape (n_models,); NaN without a score."""
        ordered = np.sort(-self.scores[np.isfinite(self.scores)])
        ranks = 1.0 + np.searchsorted(ordered, -self.scores, side="left")
        return np.where(np.isfinite(self.scores), ranks, np.nan)

    def rank_intervals(self, *, all_at_once: bool = False) -> Floats:
        """Return the intervals of ranks, all together or each with probability `level`, shape (n_models, 2).

        1 is the best, NaN means no score. Models of a pair without an error may be in any order.
        """
        differs = _rejected(self.p, 1 - self.level, all_at_once=all_at_once)
        n_better = (differs & (self.differences < 0)).sum(axis=1)
        n_worse = (differs & (self.differences > 0)).sum(axis=1)
        has_score = np.isfinite(self.scores)
        intervals = np.column_stack([1.0 + n_better, has_score.sum() - n_worse])
        intervals[~has_score] = np.nan
        return intervals

    def groups(self, *, exact: bool = True) -> Bools:
        """See `tie_groups`."""
        return tie_groups(self.differs, self.scores, exact=exact)

    def reliability(self) -> Reliability:
        """Compute the reliability over models with a score and an error."""
        known = np.isfinite(self.scores) & np.isfinite(self.joint.apart)
        if known.sum() < 3:
            return Reliability(reason=f"{int(known.sum())} models have a score with an error; it takes three")
        joint = self.joint.only(known)
        variances, is_bound = joint.pair_errors**2, bool(joint.apart.any())
        return _reliability(self.scores[known], variances, joint.pair_freedom, self.level, is_bound)


@dataclass(frozen=True)
class Reliability:
    """Share of the variance between models that is not error.

    Attributes
    ----------
    value
        In [0, 1]; NaN if unknown.
    low, high
        Interval over new stimuli and units, for these models.
    reason
        Why it is unknown.
    is_bound
        Whether it is a lower bound, because unknown covariances count as error.
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    reason: str = ""
    is_bound: bool = False


def holm(p: npt.ArrayLike) -> Floats:
    """Correct p values for their number (Holm 1979), each row by itself; NaN, no test, stays NaN.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, np.nan]).round(2).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, axis=-1)  # NaN last
    n_tests = np.isfinite(values).sum(axis=-1, keepdims=True)
    factors = np.maximum(n_tests - np.arange(values.shape[-1]), 1)
    ordered = np.maximum.accumulate(np.take_along_axis(values, order, axis=-1) * factors, axis=-1)
    corrected = np.empty_like(values)
    np.put_along_axis(corrected, order, np.minimum(ordered, 1.0), axis=-1)
    return corrected


def _rejected(p: Floats, alpha: float, *, all_at_once: bool = False) -> Bools:
    """Return where `holm` of each row, or of all pairs of a symmetric table, is at most `alpha`, without sorting."""
    axis, copies = (None, 2) if all_at_once else (-1, 1)
    n_tests = np.isfinite(p).sum(axis=axis, keepdims=True) // copies
    count = np.zeros_like(n_tests)
    while True:
        with np.errstate(invalid="ignore"):
            rejected: Bools = p * np.maximum(n_tests - count, 1) <= alpha
        previous, count = count, rejected.sum(axis=axis, keepdims=True) // copies
        if np.array_equal(count, previous):
            return rejected


def _special() -> Any:  # SciPy declares no types
    from scipy import special  # heavy: the board and records only compare sometimes

    return special


def _two_sided(t: Floats, freedom: Floats) -> Floats:
    """Return the two-sided p value of Student's t >= 0.

    From sixteen degrees of freedom on, Hill's (1970) normal approximation is seven times as fast. Its relative error is
    below 1e-4 for p > 1e-7 and below 5e-4 for p > 1e-15.
    """
    special = _special()
    n = np.clip(freedom, 1.0, 1e9)
    b = 48 * (n - 0.5) ** 2
    y = (n - 0.5) * np.log1p(np.minimum(t, 1e100) ** 2 / n)
    z = (((((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b) + y + 3) / b + 1) * np.sqrt(y)
    p: Floats = 2 * special.ndtr(-z)
    few = freedom < 16
    p[few] = 2 * special.stdtr(freedom[few], -t[few])
    return p


def tie_groups(differs: Bools, scores: Floats, *, exact: bool = True) -> Bools:
    """Return maximal groups of models that do not differ, the best first, shape (n_groups, n_models).

    Parameters
    ----------
    differs : ndarray of bool, shape (n_models, n_models)
        Symmetric; False on the diagonal.
    scores : ndarray, shape (n_models,)
        NaN: in no group.
    exact
        Whether models that do not differ always share a group. If not, groups are runs by score, and such a pair shares
        none if a model between them differs from one.
    """
    order = np.argsort(-scores, kind="stable")[: int(np.isfinite(scores).sum())]
    n, apart = len(order), differs[order][:, order]
    if not n:
        return np.zeros((0, len(scores)), dtype=bool)
    after = np.triu(apart, 1)
    next_apart = np.where(after.any(axis=1), after.argmax(axis=1), n)
    ends = np.minimum.accumulate(next_apart[::-1])[::-1]
    starts = np.flatnonzero(np.diff(ends, prepend=0) > 0)
    places = np.arange(n)
    groups: Bools = (places >= starts[:, None]) & (places < ends[starts, None])
    if exact:
        groups = _with_further(groups, apart, ends)
    of_models = np.zeros((len(groups), len(scores)), dtype=bool)
    of_models[:, order] = groups
    return of_models


def _with_further(runs: Bools, apart: Bools, ends: npt.NDArray[np.intp]) -> Bools:
    """Add groups until all pairs that do not differ share one; models are ordered by score."""
    places = np.arange(len(apart))
    open_pairs = np.triu(~apart, 1) & (places >= ends[:, None])
    groups = list(runs)
    for first in places:
        while open_pairs[first].any():
            group = np.zeros(len(apart), dtype=bool)
            group[first] = group[int(open_pairs[first].argmax())] = True
            # First those with open pairs, then all that fit.
            fitting = ~apart[group].any(axis=0) & ~group
            for candidates in (open_pairs[first], np.ones_like(fitting)):
                while (fitting & candidates).any():
                    new = int((fitting & candidates).argmax())
                    group[new], fitting[new] = True, False
                    fitting &= ~apart[new]
            open_pairs &= ~(group[:, None] & group)
            groups.append(group)
    unique = np.array(sorted(groups, key=lambda group: tuple(np.flatnonzero(group))), dtype=bool).reshape(
        -1, len(apart)
    )
    common, sizes = unique.astype(np.float32) @ unique.T.astype(np.float32), unique.sum(axis=1)
    is_part = (common == sizes[:, None]) & (sizes > sizes[:, None])
    whole: Bools = unique[~is_part.any(axis=1)]
    return whole


def letters(groups: Bools, *, most: int | None = None) -> list[str]:
    """Return the letters of each model's groups; models that share none differ (Piepho 2004).

    Beyond 26 groups letters are ``aa``, ``ab`` and so on, separated by commas. If groups are runs, more than `most`
    letters are abbreviated, as in ``'c-k'``.
    """
    n_groups, separator = len(groups), "" if len(groups) <= len(string.ascii_lowercase) else ","
    names = [_letter(number) for number in range(n_groups)]
    texts = []
    numbers = np.nonzero(groups.T)[1].tolist()
    ends = np.cumsum(groups.sum(axis=0)).tolist()
    for start, end in itertools.pairwise([0, *ends]):
        own = [names[number] for number in numbers[start:end]]
        texts.append(separator.join(own) if most is None or len(own) <= most else f"{own[0]}-{own[-1]}")
    return texts


def _letter(number: int) -> str:
    more, last = divmod(number, 26)
    return (_letter(more - 1) if more else "") + string.ascii_lowercase[last]


def _reliability(scores: Floats, variances: Floats, freedom: Floats, level: float, is_bound: bool) -> Reliability:
    r"""Split the variance of scores; the interval is that of a non-central ratio of variances.

    With the covariances :math:`B` of the centred errors, the sum of squares of centred scores is about :math:`a` times
    a non-central chi-square, with :math:`a` such that its variance is
    :math:`2 \mathrm{tr} B^2 + 4 \theta' B \theta`. :math:`B` is :math:`-V / 2` centred by rows and columns, where
    :math:`V` are the variances of differences, so its sums follow from those of :math:`V`.
    """
    n, centred, rows = len(scores), scores - scores.mean(), variances.mean(axis=1)
    total, noise = float(centred @ centred), float(rows.sum()) / 2
    squares = (float(np.vdot(variances, variances)) - 2 * n * float(rows @ rows)) / 4 + noise**2
    if total <= 0 or noise <= _NEGLIGIBLE * total:
        value = float(total > 0)
        return Reliability(value, value, value, is_bound=is_bound)
    true = max(total - noise, 0.0)
    along = max(-float(centred @ variances @ centred) / 2 - squares, 0.0)
    scale = (2 * squares + 4 * along) / (2 * noise + 4 * true)
    k = noise / scale
    is_counted = np.isfinite(freedom)
    counted = float(np.vdot(variances, is_counted))
    worth = counted / float(np.vdot(variances, is_counted / freedom)) if counted else np.inf
    tails = ((1 + level) / 2, (1 - level) / 2)
    low, high = (_noncentrality(total / noise, k, float(worth), tail) for tail in tails)
    return Reliability(true / total, low / (low + k), high / (high + k), is_bound=is_bound)


def _noncentrality(ratio: float, k: float, worth: float, probability: float) -> float:
    """Return the non-centrality at which a ratio of variances is the given quantile of F; 0 if there is none.

    Patnaik's approximation: a central F with :math:`(k + d)^2 / (k + 2 d)` degrees of freedom, times
    :math:`1 + d / k`.
    """
    special = _special()

    def below(noncentrality: float) -> float:
        freedom = (k + noncentrality) ** 2 / (k + 2 * noncentrality)
        return float(special.fdtr(freedom, min(worth, 1e9), ratio * k / (k + noncentrality)))

    low, high = 0.0, k * (1 + ratio)
    if below(low) <= probability:
        return 0.0
    while below(high) > probability:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) > probability else (low, middle)
    return (low + high) / 2
