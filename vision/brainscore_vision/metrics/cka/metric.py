"""Score how similar two representations are by centered kernel alignment with a linear kernel.

With the Gram matrices K and L of source and target over the same stimuli:

    ``CKA = HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L))``

`cka` and `cka_cv` use the unbiased estimate of HSIC (Song et al. 2012), which takes at least four stimuli; `cka_biased`
the plain one, ``tr(K H L H)``, which grows towards 1 with the number of neuroids even for unrelated responses.

- Input: as for all metrics.
- Output: Score in [-1, 1] (unbiased; about 0 for unrelated responses) or [0, 1] (biased); NaN if either side has no
  structure.
- Invariances: order of stimuli and of neuroids; rotations, reflections, shifts and scaling of each side as a whole;
  duplicated sets of neuroids. Not of scaling single neuroids.
- Error: takes at least five stimuli, three if biased.
- When: to compare geometry without a fit; large distances count more than small ones (`rdm` counts ranks).

References
----------
Kornblith et al. (2019), arXiv:1905.00414.
Song et al. (2012), JMLR 13, equation 5.
Murphy et al. (2024), arXiv:2405.01012.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.cka import cka_parts, linear_hsic
from brainscore_vision.metric_helpers.arrays.influence import cka_influences
from brainscore_vision.metric_helpers.labelled.alignment import matching_order
from brainscore_vision.metric_helpers.labelled.rdms import Responses, read_responses
from brainscore_vision.metric_helpers.shared_metrics.rsa import OnParts
from brainscore_vision.metric_helpers.uncertainty.errors import attach_geometry_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices

_COMPAT_EPSILON = 1e-12


class CKA(Metric):
    """Centered kernel alignment; `comparison_coord` aligns the stimuli."""

    quantity: ClassVar = "share"
    symmetric: ClassVar = True
    takes_all_stimuli: ClassVar = True

    def __init__(
        self, comparison_coord: str = Defaults.stimulus_coord, unbiased: bool = True, *, compat: bool = False
    ) -> None:
        self._comparison_coord = comparison_coord
        self._unbiased = self.is_of_geometry = unbiased
        self._compat = compat

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare `assembly1`, the source, with `assembly2`, the target."""
        first, second, _ = self.responses(assembly1, assembly2)
        value, influences = cka_influences(first, second.values, unbiased=self._unbiased)
        if self._compat:
            value = self.ratio(*linear_hsic(first, second.values, unbiased=self._unbiased))
        score = Score(value)
        score.attrs.update(second.notes)
        return attach_geometry_error(score, influences, second.stimuli, second.neuroids, scale="fisher")

    def responses(self, assembly1: DataAssembly, assembly2: DataAssembly) -> tuple[Floats, Responses, Indices]:
        """Return the first side's values, the second in its order, and where its stimuli went."""
        options: dict[str, Any] = {"stimulus_coord": self._comparison_coord, "scaled": not self._compat}
        # The model's are read unchanged, in their order: copies may not fit the memory.
        first = read_responses(assembly1, role="source", dtype=None, **options)
        second = read_responses(assembly2, role="target", **options)
        place = matching_order(second.stimuli, first.stimuli, what=self._comparison_coord)
        order = np.argsort(place)
        self.require_stimuli(len(order))
        notes = {"n_stimuli": len(order), **second.notes, "quantity": self.quantity}
        moved = replace(second, values=second.values[order], stimuli=second.stimuli[order], notes=notes)
        return first.values, moved, place

    def ratio(self, xy: float, xx: float, yy: float) -> float:
        """Divide HSIC by the roots of those of both sides."""
        if self._compat and self._unbiased:
            product = xx * yy
            return xy / (np.sqrt(product) + _COMPAT_EPSILON) if product > 0 else 0.0
        return xy / np.sqrt(xx) / np.sqrt(yy) if xx > 0 and yy > 0 else float("nan")

    def require_stimuli(self, number: int) -> None:
        """Refuse fewer stimuli than the estimate takes."""
        fewest = 4 if self._unbiased else 2
        if number < fewest:
            kind = "unbiased" if self._unbiased else "biased"
            raise AssemblyError(
                f"The {kind} estimate of alignment needs at least {fewest} stimuli, got {number}. "
                + ("With two or three, cka_biased is defined. " if self._unbiased and number > 1 else "")
                + "Average over repetitions only, not over stimuli."
            )


class CKACrossValidated(OnParts):
    """Centered kernel alignment on parts of the stimuli, see `OnParts`."""

    quantity: ClassVar = "share"
    symmetric: ClassVar = True

    def __init__(
        self,
        comparison_coord: str = Defaults.stimulus_coord,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
        unbiased: bool = True,
        *,
        compat: bool = False,
    ) -> None:
        super().__init__(crossvalidation_kwargs, compat=compat)
        self._metric = CKA(comparison_coord=comparison_coord, unbiased=unbiased, compat=compat)
        self._unbiased = self.is_of_geometry = unbiased

    def _compared(
        self, assembly1: DataAssembly, assembly2: DataAssembly, parts: Sequence[Indices]
    ) -> tuple[Floats, Score]:
        first, second, place = self._metric.responses(assembly1, assembly2)
        self._metric.require_stimuli(min(len(part) for part in parts))
        sums = cka_parts(first, second.values, [place[part] for part in parts], unbiased=self._unbiased)
        return np.array([self._metric.ratio(*triple) for triple in sums]), self._metric(assembly1, assembly2)


def biased_cka(comparison_coord: str = Defaults.stimulus_coord, *, compat: bool = False) -> CKA:
    """Make the metric `cka_biased`."""
    return CKA(comparison_coord, unbiased=False, compat=compat)
