r"""Estimate reliability in closed form, from the variance between and within stimuli.

The variance over stimuli of mean responses is signal plus noise, which the variance within stimuli estimates:

.. math:: \rho_j = 1 - \frac{\overline{\sigma_{ij}^2 / n_i}}{\operatorname{Var}_i(\bar y_{ij})}, \qquad
    \text{ceiling} = \operatorname{median}_j \rho_j

with the mean :math:`\overline{\cdot}` over stimuli :math:`i`, the number of repetitions :math:`n_i` and the neuroid
:math:`j`. `internal_consistency` estimates the same from random halves. Differences between whole repetitions are not
in :math:`\sigma_{ij}^2`; if presentations are missing, they are estimated by least squares (Searle 1987), and means
that lack high or low repetitions count as that much noisier. For complete data the reliability is Cronbach's alpha.

- Input: an assembly of single repetitions, with `repetition` unless repetitions are not comparable between stimuli.
  Stimuli may have different numbers of repetitions, some a single one.
- Output: Score, at most 1: a reliability. Not clipped: a neuroid without signal scatters around 0. ``raw`` and
  ``ncsnr`` have dims (neuroid).
- Invariances: order of presentations; shift and scaling of each neuroid; in complete data, shifts of whole repetitions.
  ``design`` says whether the data are ``'crossed'`` (complete), ``'incomplete'``, or ``'nested'``: without `repetition`
  or if stimuli and repetitions are not connected, drift is noise.
- When: a measurement has repetitions, above all few or unequal ones. With `explained_variance`.

References
----------
Sahani & Linden (2003), NIPS 15;
Schoppe et al. (2016), doi:10.3389/fncom.2016.00010;
Searle (1987), Linear Models for Unbalanced Data, Wiley;
Allen et al. (2022), doi:10.1038/s41593-021-00962-x, section "Noise ceiling estimation" (``ncsnr``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Quantity, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import median_known, ordinary
from brainscore_vision.metric_helpers.arrays.influence import median_of_columns
from brainscore_vision.metric_helpers.arrays.reliability.noise_ceiling import (
    RepeatedResponses,
    VarianceComponents,
    ncsnr,
    reliability_influence,
    repeated_responses,
    variance_components,
)
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    has_coordinate,
    labelled,
    matrix,
    neuroid_names,
    neuroid_order,
    squeeze_time_bin,
    usable_neuroids,
)
from brainscore_vision.metric_helpers.uncertainty.errors import influence_on_medians

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels


class NoiseCeiling(Ceiling):
    """Share of the variance of the mean responses that is signal.

    Parameters
    ----------
    n_averaged
        Number of repetitions averaged; None: those that each stimulus has in the assembly.
    n_resamples, random_state
        No effect.
    """

    quantity: ClassVar[Quantity | None] = "reliability"
    estimator = "variance between and within stimuli"

    def __init__(
        self,
        *,
        n_averaged: int | None = None,
        repetition_coord: str = "repetition",
        n_resamples: int = 0,  # noqa: ARG002 - see above
        random_state: int = 0,  # noqa: ARG002 - see above
    ) -> None:
        if n_averaged is not None and n_averaged < 1:
            raise ValueError(f"n_averaged must be a number of repetitions, at least 1; got {n_averaged}.")
        self._n_averaged = n_averaged
        self._repetition_coord = repetition_coord

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate; ``n_repetitions`` is the most of any stimulus, ``design`` that of `RepeatedResponses`.

        Raises
        ------
        AssemblyError
            Also if no stimulus has two repetitions.
        """
        assembly = squeeze_time_bin(assembly)
        (values,) = ordinary(matrix(assembly, Defaults.expected_dims, role="given"))
        neuroids = usable_neuroids(values, neuroid_names(assembly), role="given")
        order = neuroid_order(assembly)
        used = neuroids.used[order]
        stimuli, responses = self._responses(assembly, values[:, order[used]])
        components = variance_components(responses)
        raw = self._reliability(components)
        score = Score(median_known(raw))
        by_key = assembly.isel(neuroid=order)
        score.attrs.update(
            neuroids.attrs,
            raw=labelled(raw, by_key, ["neuroid"], used),
            ncsnr=labelled(ncsnr(components), by_key, ["neuroid"], used),
            n_stimuli=len(responses.counts),
            n_repetitions=int(responses.counts.max()),
            design=responses.design,
            quantity=self.quantity,
            estimator=self.estimator,
        )
        medians = median_of_columns(raw, reliability_influence(responses, self._n_averaged))
        influence = influence_on_medians(medians, stimuli, by_key[Defaults.neuroid_coord].values[used])
        return attach_influence(score, influence, scale="fisher")

    def _responses(self, assembly: xr.DataArray, values: Floats) -> tuple[Labels, RepeatedResponses]:
        stimuli, stimulus = np.unique(coordinate(assembly, Defaults.stimulus_coord).astype(str), return_inverse=True)
        repetition = None
        if has_coordinate(assembly, self._repetition_coord):
            repetition = np.unique(coordinate(assembly, self._repetition_coord), return_inverse=True)[1]
        if len(stimuli) < 2 or np.bincount(stimulus).max() < 2:
            raise AssemblyError(
                "A noise ceiling needs at least two stimuli, at least one of them repeated; the assembly has "
                f"{len(stimuli)} stimuli in {len(stimulus)} presentations. Pass single repetitions, before averaging."
            )
        return stimuli, repeated_responses(values, stimulus, repetition)

    def _reliability(self, components: VarianceComponents) -> Floats:
        if self._n_averaged is None:
            return components.reliability
        signal = components.signal
        with np.errstate(divide="ignore", invalid="ignore"):
            return signal / (signal + components.noise / self._n_averaged)
