"""Score how alike two representational geometries are, corrected for the noise of the measurement.

Distances of the target are products across its repetitions (cross-validated, "crossnobis" distances), which noise does
not bias; they are compared with the squared Euclidean distances of the source by a cosine or a correlation over pairs
of stimuli:

    ``score = <d_source, d_target> / sqrt(<d_source, d_source> N)``

``N`` is the squared length of the target's distances without noise, estimated from products of the distances of two
halves of the repetitions. With the length of the noisy distances, ``N = <d_target, d_target>``, noise would still lower
the score: that one is in ``attrs['uncorrected']``.

- Input: source, dims (presentation, neuroid), with `stimulus_id`, presentations of one stimulus are averaged; target
  with the single repetitions (`stimulus_id`, `repetition`), at least four, or two without the correction.
- Output: Score, 1 in the mean for the true geometry at every level of noise; single scores can exceed 1.
- Invariances: order of presentations and of neuroids; rotations, shifts and scaling of each side as a whole; with
  ``noise='diagonal'``, also any scaling of single neuroids of the target.
- When: to compare geometry where there are repetitions, in particular across measurements that differ in noise. It
  needs no ceiling.

References
----------
Walther et al. (2016), doi:10.1016/j.neuroimage.2015.12.012. Diedrichsen et al. (2021), doi:10.51628/001c.27664 (weights
of pairs).
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.crossnobis import (
    distance_product,
    noise_covariance,
    unbiased_distances,
    whiten,
)
from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, squeeze_time_bin
from brainscore_vision.metric_helpers.labelled.gather import one_each
from brainscore_vision.metric_helpers.labelled.rdms import read_responses
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error
from brainscore_vision.metric_helpers.uncertainty.seeds import generator

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels, NDArray, Notes

COMPARISONS = {
    "cosine": {"whitened": False, "centred": False},
    "pearson": {"whitened": False, "centred": True},
    "whitened_cosine": {"whitened": True, "centred": False},
    "whitened_pearson": {"whitened": True, "centred": True},
}
NOISE = ("none", "diagonal", "shrinkage")


class CrossnobisSimilarity(Metric):
    """Similarity of geometries by cross-validated distances.

    Parameters
    ----------
    comparison : {'cosine', 'pearson', 'whitened_cosine', 'whitened_pearson'}
        Distances have a meaningful zero, so their cosine is the default; Pearson's correlation disregards a constant.
        The whitened ones take into account that errors of pairs with a common stimulus are correlated, which makes
        better use of the data.
    noise : {'none', 'diagonal', 'shrinkage'}
        How to weight neuroids of the target: alike, by the inverse variance of their noise, or by the inverse of its
        covariance, estimated from the differences between repetitions and shrunk. With weights, distances are unbiased
        only up to the error of the weights.
    correct_norm : bool
        Use the length of the target's distances without noise.
    repetition_coord : str
        Coordinate that numbers the repetitions; noise may be correlated within a repetition.
    splits : int
        How many divisions into halves at most; all if there are no more.
    """

    quantity: ClassVar = "correlation"

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
            raise ValueError(f"The comparison is one of {', '.join(COMPARISONS)}; got {comparison!r}.")
        if noise not in NOISE:
            raise ValueError(f"The noise model is one of {', '.join(NOISE)}; got {noise!r}.")
        self._comparison = comparison
        self._noise = noise
        self._correct_norm = correct_norm
        self._repetition_coord = repetition_coord
        self._splits = splits
        self._seed = seed

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; inputs as the module says. The source is taken to be free of noise, a stimulus may lack repetitions.

        Returns
        -------
        Score
            0-d. Attrs: ``uncorrected`` (with the length of the noisy distances, in [-1, 1]), ``raw`` (Score, dims
            (split): the reliability of the distances, which is the squared length estimated from each division as a
            part of that of the noisy distances), ``comparison``, ``noise``, ``shrinkage`` if estimated,
            ``n_stimuli``, ``n_neuroids``, ``n_repetitions``, ``seed``, ``quantity``. NaN if the estimated length is not
            positive: the distances are nothing but noise.

        Raises
        ------
        AssemblyError
            If stimuli differ, repetitions are too few, or values are NaN.
        """
        stimuli, responses, present, notes = self._repetitions(target)
        features = self._features(source, stimuli)
        if self._noise != "none":
            responses, shrinkage = self._whitened(responses, present)
            notes["shrinkage"] = shrinkage
        model = squared_distances(features)
        measured = unbiased_distances(responses, present)
        self._require_defined(measured, "two repetitions")
        overlap, model_norm, noisy_norm = (
            self._product(*pair) for pair in ((model, measured), (model, model), (measured, measured))
        )
        norms = self._norms(responses, present) if self._correct_norm else np.empty(0)
        norm = float(norms.mean()) if self._correct_norm else noisy_norm
        score = Score(_cosine(overlap, model_norm, norm))
        score.attrs.update(notes)
        score.attrs["uncorrected"] = _cosine(overlap, model_norm, noisy_norm)
        if len(norms) and noisy_norm > 0:
            score.attrs["raw"] = one_each(norms / noisy_norm, "split")
        score.attrs.update(comparison=self._comparison, noise=self._noise, seed=self._seed, quantity=self.quantity)
        return declare_no_error(score, "stimuli are not drawn: ask half_sample_interval of uncertainty.intervals")

    def _product(self, first: Floats, second: Floats) -> float:
        return distance_product(first, second, **COMPARISONS[self._comparison])

    def _repetitions(self, target: DataAssembly) -> tuple[Labels, Floats, NDArray[np.bool_], Notes]:
        """Arrange responses by repetition and stimulus."""
        target = squeeze_time_bin(target)
        read = read_responses(target, role="target")
        stimuli, row = np.unique(read.stimuli, return_inverse=True)
        labels, layer = np.unique(coordinate(target, self._repetition_coord), return_inverse=True)
        fewest = 4 if self._correct_norm else 2
        if len(labels) < fewest:
            remedy = " With two or three, pass correct_norm=False." if len(labels) > 1 else ""
            raise AssemblyError(
                f"Distances free of noise need the single repetitions, at least {fewest} values of "
                f"{self._repetition_coord!r}; found {len(labels)}.{remedy}"
            )
        present = np.zeros((len(labels), len(stimuli)), dtype=bool)
        present[layer, row] = True
        if present.sum() < len(row):
            raise AssemblyError(
                f"{len(row) - int(present.sum())} presentations repeat a stimulus within one value of "
                f"{self._repetition_coord!r}; number the repetitions of each stimulus."
            )
        if len(stimuli) < 3:
            raise AssemblyError(f"Geometries of {len(stimuli)} stimuli cannot be compared; at least three are needed.")
        responses = np.zeros((*present.shape, read.values.shape[1]))
        responses[layer, row] = read.values
        notes = {"n_stimuli": len(stimuli), **read.notes, "n_repetitions": len(labels)}
        return stimuli, responses, present, notes

    def _features(self, source: DataAssembly, stimuli: Labels) -> Floats:
        read = read_responses(source, role="source")
        names, row = np.unique(read.stimuli.astype(stimuli.dtype), return_inverse=True)
        if not np.array_equal(names, stimuli):
            only = [str(name) for name in np.setxor1d(names, stimuli)[:5]]
            raise AssemblyError(
                f"Source and target do not hold the same {Defaults.stimulus_coord}: they have {len(names)} and "
                f"{len(stimuli)} different ones, and only one of them has {only}."
            )
        if len(row) == len(names):
            return read.values[np.argsort(row)]
        sums = np.zeros((len(names), read.values.shape[1]))
        np.add.at(sums, row, read.values)
        return sums / np.bincount(row)[:, None]

    def _whitened(self, responses: Floats, present: NDArray[np.bool_]) -> tuple[Floats, float]:
        kind = "diagonal" if self._noise == "diagonal" else "shrinkage"
        try:
            covariance, shrinkage = noise_covariance(responses, present, kind=kind)
            return whiten(responses, covariance), shrinkage
        except ValueError as error:
            raise AssemblyError(f"The noise of the target cannot be estimated: {error}") from error

    def _norms(self, responses: Floats, present: NDArray[np.bool_]) -> Floats:
        """Estimate the squared length of the distances without noise, once for each division into halves."""
        norms = []
        for half in self._halves(len(responses)):
            parts = [unbiased_distances(responses[side], present[side]) for side in (half, ~half)]
            for part in parts:
                self._require_defined(part, "two repetitions in each half of them")
            norms.append(self._product(*parts))
        return np.array(norms)

    def _halves(self, n_repetitions: int) -> NDArray[np.bool_]:
        """Divide repetitions into two; shape (splits, n_repetitions), True for the first half."""
        size = n_repetitions // 2
        number = math.comb(n_repetitions, size) // (2 if n_repetitions % 2 == 0 else 1)
        if number <= self._splits:
            chosen = list(itertools.islice(itertools.combinations(range(n_repetitions), size), number))
        else:
            rng = generator(self._seed, "halves")
            chosen = [tuple(rng.permutation(n_repetitions)[:size]) for _ in range(self._splits)]
        halves = np.zeros((len(chosen), n_repetitions), dtype=bool)
        for half, members in zip(halves, chosen, strict=True):
            half[list(members)] = True
        return halves

    def _require_defined(self, distances: Floats, what: str) -> None:
        missing = int(np.isnan(distances).sum()) // 2
        if missing:
            raise AssemblyError(
                f"{missing} pairs of stimuli lack {what}. Leave out stimuli with few repetitions"
                + (", or pass correct_norm=False." if self._correct_norm else ".")
            )


def _cosine(overlap: float, first: float, second: float) -> float:
    return float(overlap / np.sqrt(first) / np.sqrt(second)) if first > 0 and second > 0 else float("nan")
