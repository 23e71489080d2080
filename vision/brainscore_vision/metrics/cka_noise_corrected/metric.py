"""Score how similar two representations are by centered kernel alignment, corrected for the noise of the measurement.

With Gram matrices K and L of source and target over the same stimuli and the unbiased estimate of HSIC:

    ``CKA = HSIC(K, L) / sqrt(HSIC(K, K) N)``, ``N = mean over divisions HSIC(L_half, L_other half)``

L comes from the average over all repetitions, ``L_half`` from the average over half of them. The score with the length
of the noisy target, ``HSIC(L, L)``, is in ``attrs['uncorrected']``.

- Input: source; target with its single repetitions (`repetition`), at least two of each stimulus, at least four
  stimuli. A source with repetitions, such as another brain, is corrected too; without, it counts as free of noise.
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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers.arrays.geometry.cka import (
    GramPair,
    GramSide,
    centre_columns,
    column_hsic,
    paired_sides,
)
from brainscore_vision.metric_helpers.arrays.influence import (
    Influences,
    counted_once,
    joint_effect,
    left_out_influences,
)
from brainscore_vision.metric_helpers.labelled.alignment import one_each, require_assembly
from brainscore_vision.metric_helpers.labelled.rdms import (
    Repetitions,
    divide_repetitions,
    is_repeated,
    read_means,
    read_repetitions,
)
from brainscore_vision.metric_helpers.uncertainty.errors import attach_geometry_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Labels

    Halves = Sequence[tuple[ArrayLike, ArrayLike]]

# Compute centered kernel alignment from repeated measurements, unbiased by noise.
#
# With the unbiased estimate of HSIC (Song et al. 2012, see `cka`), noise that is independent between stimuli leaves
# ``HSIC(K, L)`` unchanged on average, but lengthens a side, ``HSIC(L, L)``, whose factors share it. The product of Gram
# matrices of two halves of the repetitions (Walther et al. 2016, doi:10.1016/j.neuroimage.2015.12.012) has no such
# bias:
#
# ``HSIC(K, L) / sqrt(HSIC(K, K) N)``, ``N = mean over divisions of HSIC(L_half, L_other half)``


@dataclass(frozen=True)
class CorrectedAlignment:
    """Alignment with and without correction.

    Attributes
    ----------
    value
        About 1 for the true geometry; NaN if a noise-free length is not positive.
    uncorrected
        With the lengths of the noisy sides; in [-1, 1].
    reliabilities : list of ndarray, shape (n_divisions,)
        For each side, the length from each division relative to that of the noisy side; empty without halves.
    """

    value: float
    uncorrected: float
    reliabilities: list[Floats]
    influences: Influences | None


def noise_corrected_cka(
    first: ArrayLike, second: ArrayLike, *, first_halves: Halves = (), second_halves: Halves = ()
) -> CorrectedAlignment:
    """Align responses, averaged over repetitions, to at least four stimuli with noise-free lengths.

    Halves of a side are pairs of averages, for each division of the repetitions; empty for a side without noise.
    """
    one, two = paired_sides(first, second)
    lengths = [_Length.of(side, halves) for side, halves in ((one, first_halves), (two, second_halves))]
    pair = GramPair.of(one, two)
    product, noisy = pair.hsic(unbiased=True), [GramPair.of(side, side).hsic(unbiased=True) for side in (one, two)]
    value = float(_ratio(product, *(length.value for length in lengths)))
    return CorrectedAlignment(
        value=value,
        uncorrected=float(np.clip(_ratio(product, *noisy), -1.0, 1.0)),
        reliabilities=[
            length.each / own if length.columns and own > 0 else np.empty(0)
            for length, own in zip(lengths, noisy, strict=True)
        ],
        influences=_influences(one, two, centre_columns(np.asarray(second)), lengths, value),
    )


@dataclass(frozen=True)
class _Length:
    """Squared length of a side's centred Gram matrix: products of halves, or of the matrix with itself."""

    sides: list[tuple[GramSide, GramSide]]
    columns: list[tuple[Floats, Floats]]  # centred responses of both halves; empty without noise
    pairs: list[GramPair]

    @classmethod
    def of(cls, side: GramSide, halves: Halves) -> _Length:
        columns = [(centre_columns(np.asarray(a)), centre_columns(np.asarray(b))) for a, b in halves]
        sides = [paired_sides(a, b) for a, b in columns] or [(side, side)]
        return cls(sides=sides, columns=columns, pairs=[GramPair.of(a, b) for a, b in sides])

    @property
    def each(self) -> Floats:
        return np.array([pair.hsic(unbiased=True) for pair in self.pairs])

    @property
    def value(self) -> float:
        return float(self.each.mean())

    def without_stimuli(self) -> Floats:
        """Leave out each stimulus, up to the factor that `GramPair.leave_one_out` omits."""
        stimuli = np.arange(self.pairs[0].one.n)
        lengths: Floats = np.mean([pair.leave_one_out(stimuli, unbiased=True) for pair in self.pairs], axis=0)
        return lengths

    def cells(self, columns: Floats) -> tuple[Floats, Floats]:
        """Divide the length among responses, and compute that of each neuroid alone.

        `columns` are the centred responses of the side, used without halves. The share of a response is the mean over
        divisions of ``(u_ij (L~_b u_j)_i + v_ij (L~_a v_j)_i) / 2`` for halves u and v.
        """
        cells, alone = np.zeros(columns.shape), np.zeros(columns.shape[1])
        for (a, b), (u, v) in zip(self.sides, self.columns or [(columns, columns)], strict=True):
            cells += 0.5 * u * b.apply_unbiased(u) + 0.5 * v * a.apply_unbiased(v)
            alone += column_hsic(u, v, unbiased=True)
        return cells / len(self.sides), alone / len(self.sides)


def _influences(
    one: GramSide, two: GramSide, columns: Floats, lengths: list[_Length], value: float
) -> Influences | None:
    """Leave out stimuli and neuroids in turn, and take their joint effect to first order.

    With the cells ``z_ij = y_ij (K~ y_j)_i``, stimulus i and neuroid j jointly move the product by ``2 z_ij`` less its
    row and column means, since each stimulus occurs twice, and the length of the second side, where neuroids occur
    twice too, by ``4 z_ij``.
    """
    n, q = columns.shape
    if not np.isfinite(value) or n < 5:
        return None
    first, second = lengths
    product_without = GramPair.of(one, two).leave_one_out(np.arange(n), unbiased=True)
    without_stimuli = _ratio(product_without, first.without_stimuli(), second.without_stimuli())
    product = columns * one.apply_unbiased(columns)
    length, alone = second.cells(columns)
    total, whole = product.sum(), length.sum()
    first_length = first.value * n * (n - 3)
    parts = product.sum(axis=0), 2.0 * length.sum(axis=0) - alone
    without_neuroids = _ratio(total - parts[0], first_length, whole - parts[1]) if q > 1 else np.zeros(1)
    if np.isnan(without_stimuli).any() or np.isnan(without_neuroids).any():
        return None
    cells = 2.0 * (product / np.sqrt(first_length * whole) - value * length / whole)
    together = joint_effect(one, two, value, (first_length, whole), unbiased=True, sides=(first.sides, second.sides))
    return Influences(
        stimuli=counted_once(left_out_influences(without_stimuli), together),
        neuroids=left_out_influences(without_neuroids),
        cells=counted_once(cells, together),
    )


def _ratio(product: ArrayLike, first: ArrayLike, second: ArrayLike) -> Floats:
    xy, xx, yy = (np.asarray(part, dtype=np.float64) for part in (product, first, second))
    defined = (xx > 0) & (yy > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.where(defined, xy / np.sqrt(xx) / np.sqrt(yy), np.nan)
    return ratio


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

        ``raw``, dims (split), is the length of the target from each division as a share of its noisy length: the
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
                f"{int(lacking.sum())} stimuli have no repetition in one of the halves ({', '.join(names)}). Leave "
                "out stimuli with few repetitions."
            )
        return halves
