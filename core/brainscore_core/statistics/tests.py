r"""Compare models: differences with intervals and tests, ranks, groups, and how well a benchmark separates models.

All of it follows from the scores of several models and from how these err together
(`brainscore_core.statistics.joint_errors`), for all pairs at once, without draws.

- A difference divided by its error is compared with Student's t; the probabilities of all pairs are corrected by Holm
  (1979): that one or more of the pairs that do not differ are called different has at most the probability that is
  asked for, however the tests depend on each other.
- The rank of a model is one more than the number of models that are truly better. Those that are significantly better
  bound it from below, those that are significantly worse from above (Mogstad et al. 2024). An interval that is to hold
  the rank of one model corrects for its comparisons with all others, intervals that are to hold all ranks at once
  correct for all pairs.
- Models of one group do not differ significantly from each other.
- Reliability is the share of the variance between models that is not error,
  :math:`\sum_{a<b} (\theta_a - \theta_b)^2 / \sum_{a<b} [(\theta_a - \theta_b)^2 + V_{ab}]`, with the errors
  :math:`V_{ab}` of the differences: what all models share separates none of them.

References
----------
Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6:65. Shaffer
(1980), Control of directional errors with stagewise multiple test procedures, Annals of Statistics 8:1342: which of two
is better may be told by the sign. Mogstad, Romano, Shaikh & Wilhelm (2024), Inference for ranks with applications to
mobility across neighbourhoods and academic achievement across countries, Review of Economic Studies 91:476,
doi:10.1093/restud/rdad006. Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons,
Journal of Computational and Graphical Statistics 13:456, doi:10.1198/1061860043515. Patnaik (1949), The non-central
chi-square and F-distributions and their applications, Biometrika 36:202. Hill (1970), Algorithm 395: Student's
t-distribution, Communications of the ACM 13:617.
"""

from __future__ import annotations

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


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The differences of several models on one benchmark, or of their averages over benchmarks.

    Pairs have the shape (n_models, n_models): entry (a, b) is of model a minus model b.

    Attributes
    ----------
    scores : ndarray, shape (n_models,)
        NaN: the model has none, and is in no comparison.
    joint : JointErrors
        Of these models in this order.
    level : float
        Of intervals, and one minus that of tests, in (0, 1).

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
        """Refuse numbers that do not fit together."""
        if self.scores.shape != self.joint.apart.shape:
            raise ContractError(
                f"There are scores of shape {self.scores.shape} and errors of {len(self.joint.apart)} models; expected "
                "one score for each."
            )
        if not 0 < self.level < 1:
            raise ValueError(f"The level of an interval lies between 0 and 1; got {self.level}.")

    def __repr__(self) -> str:
        """Return of how many models this is."""
        return f"<Comparison of {len(self.scores)} models>"

    @cached_property
    def differences(self) -> Floats:
        """The scores of the first model of each pair minus those of the second."""
        differences: Floats = self.scores[:, None] - self.scores
        return differences

    @cached_property
    def margins(self) -> Floats:
        """Half the widths of the intervals of differences, each for itself; NaN without an error."""
        from scipy.special import stdtrit  # takes longer to load than most commands

        margins: Floats = self.joint.pair_errors * stdtrit(self.joint.pair_freedom, (1 + self.level) / 2)
        return margins

    @cached_property
    def p(self) -> Floats:
        """How probable a difference at least as large, of either sign, is where there is none; NaN on the diagonal."""
        difference = self._of_pairs(np.abs(self.differences))
        error, freedom = self._of_pairs(self.joint.pair_errors), self._of_pairs(self.joint.pair_freedom)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(difference == 0, 0.0, difference / error)
        return self._for_pairs(np.where(np.isnan(error), np.nan, _two_sided(t, freedom)), np.nan)

    @cached_property
    def p_holm(self) -> Floats:
        """`p` corrected for all pairs of these models."""
        return self._for_pairs(holm(self._of_pairs(self.p)), np.nan)

    @cached_property
    def differs(self) -> Bools:
        """Which pairs differ significantly, corrected for all pairs; never one without an error."""
        return self._for_pairs(_rejected(self._of_pairs(self.p), 1 - self.level), False)

    @cached_property
    def _upper(self) -> tuple[Places, Places]:
        return np.triu_indices(len(self.scores), 1)

    def _of_pairs(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return table[self._upper]

    def _for_pairs(self, values: npt.NDArray[Any], diagonal: float | bool) -> npt.NDArray[Any]:
        table = np.full((len(self.scores), len(self.scores)), diagonal, dtype=values.dtype)
        table[self._upper] = table.T[self._upper] = values
        return table

    @cached_property
    def ranks(self) -> Floats:
        """One more than the number of models with a higher score, shape (n_models,); NaN without a score."""
        ordered = np.sort(-self.scores[np.isfinite(self.scores)])
        ranks = 1.0 + np.searchsorted(ordered, -self.scores, side="left")
        return np.where(np.isfinite(self.scores), ranks, np.nan)

    def rank_intervals(self, *, all_at_once: bool = False) -> Floats:
        """Return between which ranks each model lies, shape (n_models, 2); 1 is the best.

        A pair without an error is never told apart: its models may be in any order.

        Parameters
        ----------
        all_at_once : bool
            Whether all intervals together hold all ranks with the probability `level`, or each holds its own.

        Returns
        -------
        ndarray
            NaN for a model without a score.
        """
        is_told = self.differs if all_at_once else _rejected(self.p, 1 - self.level)
        n_better = (is_told & (self.differences < 0)).sum(axis=1)
        n_worse = (is_told & (self.differences > 0)).sum(axis=1)
        there = np.isfinite(self.scores)
        intervals = np.column_stack([1.0 + n_better, there.sum() - n_worse])
        intervals[~there] = np.nan
        return intervals

    def groups(self, *, exact: bool = True) -> Bools:
        """Return which models are in which group of models that do not differ; see `tie_groups`."""
        return tie_groups(self.differs, self.scores, exact=exact)

    def reliability(self) -> Reliability:
        """Return how well the benchmark separates these models, from those that have a score and an error."""
        there = np.isfinite(self.scores) & np.isfinite(self.joint.apart)
        if there.sum() < 3:
            return Reliability(reason=f"{int(there.sum())} models have a score with an error; it takes three")
        errors, freedom = (each[np.ix_(there, there)] for each in (self.joint.pair_errors, self.joint.pair_freedom))
        is_bound = not self.joint.is_matched[np.ix_(there, there)].all()
        return _reliability(self.scores[there], errors, freedom, self.level, is_bound)


@dataclass(frozen=True)
class Reliability:
    """Which share of the variance between models is theirs and not error.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN if there is none.
    low, high : float
        Ends of the interval over new stimuli and new units, for these models.
    reason : str
        Why there is none.
    is_bound : bool
        Whether it is at least that, because what models share is not known and counts as error.
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    reason: str = ""
    is_bound: bool = False


def holm(p: npt.ArrayLike) -> Floats:
    """Correct probabilities for how many they are, so that one true hypothesis is rejected with at most that of a test.

    Parameters
    ----------
    p : array-like, shape (..., n_tests)
        In [0, 1]; NaN is no test. Each row is corrected for itself.

    Returns
    -------
    ndarray, shape (..., n_tests)
        In [0, 1], never below what was given; NaN stays.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, np.nan]).round(2).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    given = np.asarray(p, dtype=np.float64)
    order = np.argsort(given, axis=-1)  # NaN last
    n_tests = np.isfinite(given).sum(axis=-1, keepdims=True)
    factors = np.maximum(n_tests - np.arange(given.shape[-1]), 1)
    ordered = np.maximum.accumulate(np.take_along_axis(given, order, axis=-1) * factors, axis=-1)
    corrected = np.empty_like(given)
    np.put_along_axis(corrected, order, np.minimum(ordered, 1.0), axis=-1)
    return corrected


def _rejected(p: Floats, alpha: float) -> Bools:
    """Return where `holm` is at most `alpha`, without sorting.

    If `count` tests are rejected, so is every one whose p is at most `alpha` divided by the number of the others.
    """
    n_tests = np.isfinite(p).sum(axis=-1, keepdims=True)
    count = np.zeros_like(n_tests)
    while True:
        with np.errstate(invalid="ignore"):
            rejected: Bools = p * np.maximum(n_tests - count, 1) <= alpha
        previous, count = count, rejected.sum(axis=-1, keepdims=True)
        if np.array_equal(count, previous):
            return rejected


def _two_sided(t: Floats, freedom: Floats) -> Floats:
    """Return how probable a value of Student's t beyond `t` >= 0 is, of either sign.

    From ten degrees of freedom on by the normal approximation of Hill (1970), which takes a seventh of the time: within
    a part in 10,000 of a probability above 1e-7, within one in 2,000 of any above 1e-15.
    """
    from scipy.special import ndtr, stdtr

    n = np.clip(freedom, 1.0, 1e9)
    b = 48 * (n - 0.5) ** 2
    y = (n - 0.5) * np.log1p(np.minimum(t, 1e100) ** 2 / n)
    z = (((((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b) + y + 3) / b + 1) * np.sqrt(y)
    p: Floats = 2 * ndtr(-z)
    few = freedom < 10
    p[few] = 2 * stdtr(freedom[few], -t[few])
    return p


def tie_groups(differs: Bools, scores: Floats, *, exact: bool = True) -> Bools:
    """Return groups of models of which no two differ, the best first.

    Parameters
    ----------
    differs : ndarray of bool, shape (n_models, n_models)
        Symmetric; False on the diagonal.
    scores : ndarray, shape (n_models,)
        A model whose score is NaN is in no group.
    exact : bool
        Whether two models that do not differ always share a group. If not, groups are runs in the order of scores, at
        most one for each model: a pair shares none where it does not differ but a model between them differs from one.

    Returns
    -------
    ndarray of bool, shape (n_groups, n_models)
        No group is part of another.
    """
    order = np.argsort(-scores, kind="stable")[: int(np.isfinite(scores).sum())]
    n, apart = len(order), differs[np.ix_(order, order)]
    if not n:
        return np.zeros((0, len(scores)), dtype=bool)
    after = np.triu(apart, 1)
    next_apart = np.where(after.any(axis=1), after.argmax(axis=1), n)
    ends = np.minimum.accumulate(next_apart[::-1])[::-1]
    starts = np.flatnonzero(np.diff(ends, prepend=0) > 0)
    places = np.arange(n)
    runs = [(places >= start) & (places < ends[start]) for start in starts]
    groups = np.array(runs, dtype=bool).reshape(-1, n)
    if exact:
        groups = _with_further(groups, apart, ends)
    found = np.zeros((len(groups), len(scores)), dtype=bool)
    found[:, order] = groups
    return found


def _with_further(runs: Bools, apart: Bools, ends: npt.NDArray[np.intp]) -> Bools:
    """Add groups until all pairs that do not differ share one; models are in the order of their scores."""
    places = np.arange(len(apart))
    left = np.triu(~apart, 1) & (places >= ends[:, None])
    groups = list(runs)
    for first in places:
        while left[first].any():
            group = np.zeros(len(apart), dtype=bool)
            group[first] = group[int(left[first].argmax())] = True
            # Those first of which further pairs are left, then all that fit.
            fitting = ~apart[group].any(axis=0) & ~group
            for wanted in (left[first], np.ones_like(fitting)):
                while (fitting & wanted).any():
                    new = int((fitting & wanted).argmax())
                    group[new], fitting[new] = True, False
                    fitting &= ~apart[new]
            left &= ~(group[:, None] & group)
            groups.append(group)
    found = np.array(sorted(groups, key=lambda group: tuple(np.flatnonzero(group))), dtype=bool).reshape(-1, len(apart))
    common, sizes = found.astype(np.float32) @ found.T.astype(np.float32), found.sum(axis=1)
    is_part = (common == sizes[:, None]) & (sizes > sizes[:, None])
    whole: Bools = found[~is_part.any(axis=1)]
    return whole


def letters(groups: Bools, *, most: int | None = None) -> list[str]:
    """Return for each model the letters of its groups: two models differ if they share none (Piepho 2004).

    Parameters
    ----------
    groups : ndarray of bool, shape (n_groups, n_models)
        What `tie_groups` returns. After 26 letters follow ``aa``, ``ab`` and so on, with commas between all.
    most : int, optional
        Of groups that are runs in the order of scores: more letters than these are told by their ends, ``'c-k'``.
    """
    n_groups, separator = len(groups), "" if len(groups) <= len(string.ascii_lowercase) else ","
    names = [_letter(number) for number in range(n_groups)]
    told = []
    for of_model in groups.T:
        own = [names[place] for place in np.flatnonzero(of_model)]
        told.append(separator.join(own) if most is None or len(own) <= most else f"{own[0]}-{own[-1]}")
    return told


def _letter(number: int) -> str:
    more, last = divmod(number, 26)
    return (_letter(more - 1) if more else "") + string.ascii_lowercase[last]


def _reliability(scores: Floats, errors: Floats, freedom: Floats, level: float, is_bound: bool) -> Reliability:
    r"""Split the variance of scores; the interval is that of a ratio of variances, of which one has a mean of its own.

    With the covariances :math:`B` of the errors around their mean, the sum of squares of centred scores is close to
    :math:`a` times a non-central chi-square, with :math:`a` such that its variance is
    :math:`2 \mathrm{tr} B^2 + 4 \theta' B \theta`.
    """
    centred = scores - scores.mean()
    total = float(centred @ centred)
    variances = errors**2
    rows = variances.mean(axis=1)
    within = -(variances - rows[:, None] - rows + rows.mean()) / 2
    noise, squares = float(np.trace(within)), float(np.vdot(within, within))
    if noise <= 0 or total <= 0:
        value = float(total > 0)
        return Reliability(value, value, value, is_bound=is_bound)
    true = max(total - noise, 0.0)
    along = max(float(centred @ within @ centred) - squares, 0.0)
    scale = (2 * squares + 4 * along) / (2 * noise + 4 * true)
    k = noise / scale
    known = np.isfinite(freedom) & (variances > 0)
    worth = variances[known].sum() / (variances[known] / freedom[known]).sum() if known.any() else np.inf
    tails = ((1 + level) / 2, (1 - level) / 2)
    low, high = (_noncentrality(total / noise, k, float(worth), tail) for tail in tails)
    return Reliability(true / total, low / (low + k), high / (high + k), is_bound=is_bound)


def _noncentrality(ratio: float, k: float, worth: float, probability: float) -> float:
    """Return which non-centrality makes a ratio of variances the quantile of a non-central F; 0 if none does.

    By Patnaik's approximation: a central F with :math:`(k + d)^2 / (k + 2 d)` degrees of freedom, times
    :math:`1 + d / k`.
    """
    from scipy.special import fdtr

    def below(noncentrality: float) -> float:
        freedom = (k + noncentrality) ** 2 / (k + 2 * noncentrality)
        return float(fdtr(freedom, min(worth, 1e9), ratio * k / (k + noncentrality)))

    low, high = 0.0, k * (1 + ratio)
    if below(low) <= probability:
        return 0.0
    while below(high) > probability:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) > probability else (low, middle)
    return (low + high) / 2
