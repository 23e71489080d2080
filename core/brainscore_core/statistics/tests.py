r"""Compare models: differences with intervals and tests, ranks and ties.

All follow from scores and covariances, without draws, and by one correction:

- Differences are tested with Student's t. Holm's (1979) correction bounds the probability of any false difference among
  all pairs, for any dependence between the tests. It is over all pairs because a table of models is read as a whole:
  a reader who picks the best model, or a striking pair, has looked at all of them.
- The same differences give the ranks: significantly better models bound a model's true rank from below, worse ones from
  above (Mogstad et al. 2024), so all intervals of ranks hold together with probability `LEVEL`. Correcting separately
  for each model's comparisons would give narrower intervals, but one could say "surely first" of a model whose letters
  say "not distinguishable".
- The same differences give the letters (Piepho 2004): models that share one do not differ.

References
----------
Holm (1979), Scandinavian Journal of Statistics 6:65.
Shaffer (1980), Annals of Statistics 8:1342 (on the sign of a significant difference).
Mogstad et al. (2024), doi:10.1093/restud/rdad006.
Piepho (2004), doi:10.1198/1061860043515.
Hill (1970), Communications of the ACM 13:617.
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

__all__ = ["Comparison", "holm"]

_ROWS = 32
_MOST_LETTERS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Differences of several models on one node.

    Pairs have the shape (n_models, n_models): entry (a, b) is model a minus model b.

    Attributes
    ----------
    scores : ndarray, shape (n_models,)
        NaN: not compared.
    joint

    Examples
    --------
    >>> from brainscore_core.statistics.influence import Influence
    >>> from brainscore_core.statistics.joint_errors import JointErrors
    >>> rng = np.random.default_rng(0)
    >>> answers = rng.standard_normal((100, 1)) + 0.5 * rng.standard_normal((3, 100, 10))
    >>> answers += np.array([0.0, 0.02, 0.5])[:, None, None]
    >>> influences = [Influence.of_mean(table, np.arange(100), np.arange(10)) for table in answers]
    >>> compared = Comparison(answers.mean(axis=(1, 2)), JointErrors.of_influences(influences))
    >>> compared.differs[2].tolist()
    [True, True, False]
    >>> compared.rank_intervals().tolist()
    [[2.0, 3.0], [2.0, 3.0], [1.0, 1.0]]
    >>> compared.letters()
    ['b', 'b', 'a']
    """

    scores: Floats
    joint: JointErrors

    def __post_init__(self) -> None:
        if self.scores.shape != self.joint.apart.shape:
            raise ContractError(
                f"There are scores of shape {self.scores.shape} and errors of {len(self.joint.apart)} models; expected "
                "one score for each."
            )

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.scores)} models>"

    @cached_property
    def differences(self) -> Floats:
        """Score of the first model of each pair minus the second's."""
        differences: Floats = self.scores[:, None] - self.scores
        return differences

    @cached_property
    def margins(self) -> Floats:
        """Half the widths of the uncorrected intervals of differences; NaN without an error."""
        margins: Floats = self.joint.pair_errors * _special().stdtrit(self.joint.pair_freedom, (1 + LEVEL) / 2)
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
        return _rejected(self.p, 1 - LEVEL)

    @cached_property
    def ranks(self) -> Floats:
        """One more than the number of models with a higher score, shape (n_models,); NaN without a score."""
        ordered = np.sort(-self.scores[np.isfinite(self.scores)])
        ranks = 1.0 + np.searchsorted(ordered, -self.scores, side="left")
        return np.where(np.isfinite(self.scores), ranks, np.nan)

    def rank_intervals(self) -> Floats:
        """Return the intervals of ranks, which hold all together with probability `LEVEL`, shape (n_models, 2).

        1 is the best, NaN means no score. Models of a pair without an error may be in any order. An interval is a
        single rank if and only if the model differs from all others.
        """
        n_better = (self.differs & (self.differences < 0)).sum(axis=1)
        n_worse = (self.differs & (self.differences > 0)).sum(axis=1)
        has_score = np.isfinite(self.scores)
        intervals = np.column_stack([1.0 + n_better, has_score.sum() - n_worse])
        intervals[~has_score] = np.nan
        return intervals

    def letters(self) -> list[str]:
        """Return the letters of each model, such as "a,b"; empty without a score. Models that share one do not differ.

        A letter is a longest run of models, by score, that do not differ from each other; ``a`` is the best. Beyond 26
        runs letters are ``aa``, ``ab`` and so on. More than three letters of a model are abbreviated, as in ``'c-k'``.

        If errors are unequal, a model may not differ from one further off although it differs from one between them. No
        run holds such a pair, and letters for each would be hundreds on a large board, so both models are marked with
        ``+``. Thus two models without a common letter differ unless both are marked, and the interval of a rank is a
        single rank if and only if the model shares no letter and is not marked.
        """
        order = np.argsort(-self.scores, kind="stable")[: int(np.isfinite(self.scores).sum())]
        n, apart, texts = len(order), self.differs[order][:, order], [""] * len(self.scores)
        after = np.triu(apart, 1)
        next_apart = np.where(after.any(axis=1), after.argmax(axis=1), n) if n else np.zeros(0, dtype=np.intp)
        ends = np.minimum.accumulate(next_apart[::-1])[::-1]
        starts = np.flatnonzero(np.diff(ends, prepend=0) > 0)
        ends = ends[starts]
        first = np.searchsorted(ends, np.arange(n), side="right")
        last = np.searchsorted(starts, np.arange(n), side="right") - 1
        is_marked = n - apart.sum(axis=1) > ends[last] - starts[first]  # more models are tied than share a letter
        names = [_letter(run) for run in range(len(starts))]
        for place, low, high, mark in zip(order.tolist(), first.tolist(), last.tolist(), is_marked, strict=True):
            own = names[low : high + 1]
            text = ",".join(own) if len(own) <= _MOST_LETTERS else f"{own[0]}-{own[-1]}"
            texts[place] = text + "+" * int(mark)
        return texts


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


def _rejected(p: Floats, alpha: float) -> Bools:
    """Return where `holm` of all pairs of a symmetric table is at most `alpha`, without sorting."""
    n_tests, count = int(np.isfinite(p).sum()) // 2, 0
    while True:
        with np.errstate(invalid="ignore"):
            rejected: Bools = p * max(n_tests - count, 1) <= alpha
        previous, count = count, int(rejected.sum()) // 2
        if count == previous:
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


def _letter(number: int) -> str:
    more, last = divmod(number, 26)
    return (_letter(more - 1) if more else "") + string.ascii_lowercase[last]
