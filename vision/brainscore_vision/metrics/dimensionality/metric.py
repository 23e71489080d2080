"""Score the share of neuroids that represent a factor, such as shape or texture.

Stimuli come in pairs that agree in one factor; the more variance members share, the more neuroids are attributed to it:

    ``score_f = sum_j cov_f(a_j, b_j) / sum_j var_j``, ``share_f = floor(softmax(scores)_f N) / N``

where the residual has the score 1 and gets the rest.

- Input: two assemblies, dims (presentation, neuroid), of the same neuroids: first and second members of the same pairs
  *in the same order*, with the coordinate `factor`.
- Output: Score in [0, 1]; over all factors and the residual the shares add up to 1. NaN if responses are constant.
- Invariances: order of pairs and of neuroids; rotations (up to rounding down), shifts and scaling of all responses.
- When: to find the factors that a representation encodes. Compares no brain data.

References
----------
Esser et al. (2020), arXiv:2004.13166.
Islam et al. (2021), https://openreview.net/forum?id=NcFEZOi-rLa.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError, did_you_mean
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers.arrays.correlation import ordinary
from brainscore_vision.metric_helpers.labelled.alignment import one_each
from brainscore_vision.metric_helpers.labelled.rdms import read_responses
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, NDArray

# Estimate how many neuroids represent each factor of variation of the stimuli.


_BLOCK_VALUES = 2**22  # values of a side held as float64 at a time


def factor_scores(first: ArrayLike, second: ArrayLike, members: ArrayLike) -> Floats:
    """Compute the share of variance that pairs of stimuli that agree in a factor have in common.

    ``score_f = sum_j cov_f(a_j, b_j) / sum_j var(a_j, b_j)``: the covariance of neuroid j over the pairs (a, b) of
    factor f around the mean of both members, the variance over all stimuli (Esser et al. 2020, A
    disentangling invertible interpretation network, arXiv:2004.13166, equation 13). In [-1, 1] for a single factor;
    slightly beyond for several, whose variances differ from the total. NaN if responses are constant. Invariant to
    rotations, shifts and scaling of all responses.

    Parameters
    ----------
    first, second : array-like, shape (n_pairs, n_neuroids)
        Responses to both members of each pair.
    members : array-like of bool, shape (n_factors, n_pairs)
        Pairs that agree in each factor; at least one each.
    """
    one, two = np.asarray(first), np.asarray(second)
    agreeing = np.asarray(members, dtype=bool)
    if one.shape != two.shape or one.ndim != 2 or agreeing.shape[1:] != one.shape[:1]:
        raise ValueError(
            "Expected two arrays of pairs of shape (n_pairs, n_neuroids) and one of shape (n_factors, n_pairs); got "
            f"{one.shape}, {two.shape} and {agreeing.shape}."
        )
    if not agreeing.any(axis=1).all():
        raise ValueError(f"{int((~agreeing.any(axis=1)).sum())} factors have no pair.")
    weights = agreeing / agreeing.sum(axis=1, keepdims=True)
    covariance, total, size = np.zeros(len(agreeing)), 0.0, 0.0
    width = max(_BLOCK_VALUES // max(len(one), 1), 1)  # all terms are sums over neuroids
    for start in range(0, one.shape[1], width):
        a, b = (np.array(side[:, start : start + width], dtype=np.float64) for side in (one, two))
        mean = 0.5 * (a.mean(axis=0) + b.mean(axis=0))
        # Rounding errors are proportional to the size before centring.
        size += float(np.vdot(a, a) + np.vdot(b, b))
        a -= mean
        b -= mean
        total += float(np.vdot(a, a) + np.vdot(b, b))
        middles = 0.5 * (weights @ (a + b))
        covariance += weights @ np.einsum("ij,ij->i", a, b) - np.einsum("ij,ij->i", middles, middles)
    if total <= 1e-26 * size:
        return np.full(len(agreeing), np.nan)
    scores: Floats = covariance / (total / (2 * len(one)))
    return scores


def factor_dimensions(scores: ArrayLike, n_neuroids: int) -> NDArray[np.int64]:
    """Divide neuroids among factors and a residual in proportion to the exponentials of `factor_scores`.

    ``N_f = floor(softmax(score)_f N)`` (Esser et al. 2020, equation 14); the residual, with score 1 (Islam et al. 2021,
    https://openreview.net/forum?id=NcFEZOi-rLa), gets the remainder and comes last.

    Examples
    --------
    >>> factor_dimensions([0.0, 1.0], 100)
    array([15, 42, 43])
    """
    values = np.append(np.asarray(scores, dtype=np.float64), 1.0)
    parts = np.exp(values - values.max())
    parts /= parts.sum()
    dimensions: NDArray[np.int64] = np.floor(parts * n_neuroids).astype(np.int64)
    dimensions[-1] = n_neuroids - dimensions[:-1].sum()
    return dimensions


RESIDUAL = "residual"


class Dimensionality(Metric):
    """Share of neuroids attributed to a factor: a value of the coordinate `factor`, or ``'residual'``."""

    quantity: ClassVar = "share"

    def __init__(self, factor: str) -> None:
        self.factor = factor

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Estimate; ``raw``, dims (factor), holds the scores before they are turned into shares.

        Attrs also hold ``shares`` and ``dimensions`` (dicts, of all factors and the residual) and ``n_pairs``.
        """
        first, second = (
            read_responses(assembly, role=role, stimulus_coord="factor", dtype=None, scaled=False)
            for assembly, role in ((assembly1, "first"), (assembly2, "second"))
        )
        if first.values.shape != second.values.shape or not np.array_equal(first.stimuli, second.stimuli):
            raise AssemblyError(
                "Pairs must be in the same order in both assemblies, with the same 'factor' and neuroids; the "
                f"assemblies have {len(first.stimuli)} and {len(second.stimuli)} presentations of "
                f"{first.values.shape[1]} and {second.values.shape[1]} neuroids."
            )
        factors = np.unique(first.stimuli)
        names = [str(name) for name in factors]
        self._require_factor(names)
        scores = factor_scores(*ordinary(first.values, second.values), factors[:, None] == first.stimuli)
        raw = one_each(scores, "factor", names)
        n_neuroids = first.values.shape[1]
        notes = {"raw": raw, "n_pairs": len(first.stimuli), "n_neuroids": n_neuroids, "quantity": self.quantity}
        if np.isnan(scores).any():
            score = Score(np.nan)
        else:
            dimensions = dict(zip([*names, RESIDUAL], factor_dimensions(scores, n_neuroids).tolist(), strict=True))
            shares = {name: number / n_neuroids for name, number in dimensions.items()}
            score = Score(shares[str(self.factor)])
            notes.update(dimensions=dimensions, shares=shares)
        score.attrs.update(notes)
        return declare_no_error(score, "shares are whole neuroids, rounded down: their spread over pairs says little")

    def _require_factor(self, names: list[str]) -> None:
        if RESIDUAL in names:
            raise AssemblyError(
                f"{RESIDUAL!r} is reserved for dimensions without a factor; rename that value of 'factor'."
            )
        if str(self.factor) not in (*names, RESIDUAL):
            hint = did_you_mean(self.factor, [*names, RESIDUAL])
            raise AssemblyError(f"No pair has the factor {self.factor!r}; the factors are {names}.{hint}")
