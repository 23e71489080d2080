"""Score how similar two representational geometries are, corrected for the noise of the measurement.

Distances of the target are products across its repetitions (cross-validated, "crossnobis" distances), which noise does
not bias; they are compared with the squared Euclidean distances of the source by a cosine or a correlation over pairs
of stimuli:

    ``score = <d_source, d_target> / sqrt(<d_source, d_source> N)``

``N`` is the squared length of the target's noise-free distances, estimated from products of distances of two halves of
the repetitions. The score with the length of the noisy distances, ``<d_target, d_target>``, is in
``attrs['uncorrected']``.

- Input: source, taken to be free of noise, presentations of one stimulus are averaged; target with the single
  repetitions (`repetition`), at least four, or two without the correction; a stimulus may lack some.
- Output: Score, about 1 for the true geometry where the length of its distances can be estimated; single scores can
  exceed 1. It falls below with a reliability below .3: ``docs/explanation/ceilings.md`` has a table, and how often it
  is undefined.
- Invariances: order of presentations and of neuroids; rotations, shifts and scaling of each side as a whole; with
  ``noise='diagonal'``, also any scaling of single neuroids of the target.
- Error: to first order, with the weights of neuroids as they are; NaN with ``noise='shrinkage'``, which mixes neuroids.
- When: there are repetitions, in particular of measurements that differ in noise. It needs no ceiling.

References
----------
Walther et al. (2016), doi:10.1016/j.neuroimage.2015.12.012.
Diedrichsen et al. (2021), doi:10.51628/001c.27664 (weights of pairs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances
from brainscore_vision.metric_helpers.arrays.geometry.whitened import (
    Length,
    distance_product,
    noise_covariance,
    unbiased_distances,
    whiten,
    whitened_influences,
)
from brainscore_vision.metric_helpers.labelled.alignment import one_each
from brainscore_vision.metric_helpers.labelled.rdms import divide_repetitions, read_means, read_repetitions
from brainscore_vision.metric_helpers.uncertainty.errors import attach_geometry_error, declare_no_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, NDArray

COMPARISONS = {
    "cosine": {"whitened": False, "centred": False},
    "pearson": {"whitened": False, "centred": True},
    "whitened_cosine": {"whitened": True, "centred": False},
    "whitened_pearson": {"whitened": True, "centred": True},
}
NOISE = ("none", "diagonal", "shrinkage")
_TAILS_OF_LENGTH = 1 / 3  # fitted to simulated counts: a length has fourth powers of responses, with heavier tails
_MIXED = "weights by a shrunk covariance mix neuroids, and how a new one would move the score is unknown"


class CrossnobisSimilarity(Metric):
    """Similarity of geometries by cross-validated distances.

    Parameters
    ----------
    comparison : {'cosine', 'pearson', 'whitened_cosine', 'whitened_pearson'}
        By default the cosine; Pearson's correlation disregards a constant, the whitened ones correlated errors of
        pairs with a common stimulus.
    noise : {'none', 'diagonal', 'shrinkage'}
        Weights of target neuroids: equal, the inverse variance of their noise, or the inverse of its shrunk covariance,
        over differences between repetitions. With weights, distances are unbiased only up to the error of the weights.
    correct_norm
        Use the noise-free length of the target's distances.
    splits
        Largest number of divisions into halves.
    """

    quantity: ClassVar = "dissimilarity_correlation"

    def __init__(
        self,
        comparison: str = "cosine",
        noise: Literal["none", "diagonal", "shrinkage"] = "none",
        *,
        correct_norm: bool = True,
        repetition_coord: str = "repetition",
        splits: int = 20,
        seed: int = 0,
    ) -> None:
        if comparison not in COMPARISONS:
            raise ValueError(f"comparison must be one of {', '.join(COMPARISONS)}; got {comparison!r}.")
        if noise not in NOISE:
            raise ValueError(f"noise must be one of {', '.join(NOISE)}; got {noise!r}.")
        self._comparison = comparison
        self._noise = noise
        self._correct_norm = correct_norm
        self._repetition_coord = repetition_coord
        self._splits = splits
        self._seed = seed

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; NaN if the estimated length is not positive: the distances are nothing but noise.

        ``raw``, dims (split), is the reliability of the distances: their squared length from each division as a share
        of the noisy one. Attrs also hold the ``shrinkage`` if estimated.
        """
        read = read_repetitions(
            target,
            repetition_coord=self._repetition_coord,
            fewest=4 if self._correct_norm else 2,
            remedy="With two or three, pass correct_norm=False.",
        )
        responses, present, notes = read.values, read.present, dict(read.notes)
        features = read_means(source, read.stimuli)
        if self._noise != "none":
            responses, shrinkage = self._whitened(responses, present)
            notes["shrinkage"] = shrinkage
        model = squared_distances(features)
        measured = unbiased_distances(responses, present)
        self._require_defined(int(np.isnan(measured).sum()) // 2, "two repetitions")
        length = self._length(responses, present) if self._correct_norm else None
        overlap, model_norm, noisy_norm = (
            self._product(*pair) for pair in ((model, measured), (model, model), (measured, measured))
        )
        norm = noisy_norm if length is None else float(length.each.mean())
        score = Score(_cosine(overlap, model_norm, norm))
        score.attrs.update(notes)
        score.attrs["uncorrected"] = _cosine(overlap, model_norm, noisy_norm)
        if length is not None and noisy_norm > 0:
            score.attrs["raw"] = one_each(length.each / noisy_norm, "split")
        score.attrs.update(comparison=self._comparison, noise=self._noise, seed=self._seed, quantity=self.quantity)
        if self._noise == "shrinkage":
            return declare_no_error(score, _MIXED)
        influences = None
        if np.isfinite(score.item()):
            kind = COMPARISONS[self._comparison]
            influences = whitened_influences(model, measured, responses, present, length=length, **kind)
        return attach_geometry_error(
            score, influences, read.stimuli, read.neuroids, scale="fisher", tails=_TAILS_OF_LENGTH
        )

    def _product(self, first: Floats, second: Floats) -> float:
        return distance_product(first, second, **COMPARISONS[self._comparison])

    def _whitened(self, responses: Floats, present: NDArray[np.bool_]) -> tuple[Floats, float]:
        kind = "diagonal" if self._noise == "diagonal" else "shrinkage"
        try:
            covariance, shrinkage = noise_covariance(responses, present, kind=kind)
            return whiten(responses, covariance), shrinkage
        except ValueError as error:
            raise AssemblyError(f"The noise of the target cannot be estimated: {error}") from error

    def _length(self, responses: Floats, present: NDArray[np.bool_]) -> Length:
        divisions = divide_repetitions(len(responses), most=self._splits, seed=self._seed)
        length = Length.of(responses, present, divisions, **COMPARISONS[self._comparison])
        self._require_defined(length.n_lacking, "two repetitions in each half of the repetitions")
        return length

    def _require_defined(self, missing: int, what: str) -> None:
        if missing:
            raise AssemblyError(
                f"{missing} pairs of stimuli lack {what}. Leave out stimuli with few repetitions"
                + (", or pass correct_norm=False." if self._correct_norm else ".")
            )


def _cosine(overlap: float, first: float, second: float) -> float:
    return float(overlap / np.sqrt(first) / np.sqrt(second)) if first > 0 and second > 0 else float("nan")
