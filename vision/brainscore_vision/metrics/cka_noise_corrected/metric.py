"""Score how alike two representations are by centered kernel alignment, corrected for the noise of the measurement.

With Gram matrices K and L of source and target over the same stimuli and the unbiased estimate of HSIC:

    ``CKA = HSIC(K, L) / sqrt(HSIC(K, K) N)``, ``N = mean over divisions HSIC(L_half, L_other half)``

L is that of the average over repetitions, ``L_half`` that of half of them. The score with the length of the noisy
target, ``HSIC(L, L)``, is in ``attrs['uncorrected']``.

- Input: source; target with its single repetitions (`repetition`), at least two of each stimulus, at least four
  stimuli. A source with repetitions, such as another brain, is corrected likewise; without, it counts as free of noise.
  The noise of both sides must be independent.
- Output: Score, about 1 for the true geometry where the length of its Gram matrix can be estimated; single scores can
  exceed 1. It falls below with a reliability below .5, the more the fewer stimuli: ``docs/explanation/ceilings.md`` has
  a table, and how often it is undefined.
- Invariances: those of `cka`.
- When: there are repetitions, in particular of measurements that differ in noise. It needs no ceiling. For distances,
  see `rsa_crossnobis`.

References
----------
Those of `cka`.
Walther et al. (2016), doi:10.1016/j.neuroimage.2015.12.012 (products across repetitions).
Cameron et al. (2011), doi:10.1198/jbes.2010.07136 (error over two factors).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers.arrays.geometry.noise_corrected import noise_corrected_cka
from brainscore_vision.metric_helpers.labelled.alignment import require_assembly
from brainscore_vision.metric_helpers.labelled.gather import one_each
from brainscore_vision.metric_helpers.labelled.repetitions import (
    Repetitions,
    divide_repetitions,
    is_repeated,
    read_means,
    read_repetitions,
)
from brainscore_vision.metric_helpers.labelled.uncertainty import attach_geometry_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels

_FEWEST_STIMULI = 4  # of the unbiased estimate


class NoiseCorrectedCKA(Metric):
    """Centered kernel alignment with noise-free lengths of Gram matrices, from at most `splits` divisions."""

    quantity: ClassVar = "share"

    def __init__(self, *, repetition_coord: str = "repetition", splits: int = 20, seed: int = 0) -> None:
        self._repetition_coord = repetition_coord
        self._splits = splits
        self._seed = seed

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; NaN if an estimated length is not positive: the structure is nothing but noise.

        ``raw``, dims (split), is the length of the target from each division as a part of that of the noisy one: the
        reliability of its Gram matrix.
        """
        measured = self._read(target, "target")
        require_assembly(source)
        if is_repeated(source, self._repetition_coord):
            other = self._read(source, "source", measured.stimuli)
            first, first_halves = other.means(), self._halves(other)
        else:
            first, first_halves = read_means(source, measured.stimuli), []
        estimate = noise_corrected_cka(
            first, measured.means(), first_halves=first_halves, second_halves=self._halves(measured)
        )
        score = Score(estimate.value)
        score.attrs.update(measured.notes, uncorrected=estimate.uncorrected, seed=self._seed, quantity=self.quantity)
        if len(estimate.reliabilities[1]):
            score.attrs["raw"] = one_each(estimate.reliabilities[1], "split")
        return attach_geometry_error(score, estimate.influences, measured.stimuli, measured.neuroids, scale="identity")

    def _read(self, assembly: DataAssembly, role: str, stimuli: Labels | None = None) -> Repetitions:
        return read_repetitions(
            assembly,
            repetition_coord=self._repetition_coord,
            role=role,
            fewest_stimuli=_FEWEST_STIMULI,
            stimuli=stimuli,
        )

    def _halves(self, repetitions: Repetitions) -> list[tuple[Floats, Floats]]:
        divisions = divide_repetitions(len(repetitions.present), most=self._splits, seed=self._seed)
        halves = [(repetitions.means(half), repetitions.means(~half)) for half in divisions]
        lacking = np.any([np.isnan(part).all(axis=1) for pair in halves for part in pair], axis=0)
        if lacking.any():
            names = [str(name) for name in repetitions.stimuli[lacking][:5]]
            raise AssemblyError(
                f"{int(lacking.sum())} stimuli have no repetition in one half of them ({', '.join(names)}). Leave out "
                "stimuli with few repetitions."
            )
        return halves
