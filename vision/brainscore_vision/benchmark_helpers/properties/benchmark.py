"""The design of benchmarks on single-neuron properties.

Receptive fields are mapped, units at the stimuli selected, and their activations turned into firing rates (see
`single_units`); the distribution of a property over units is compared with the published one.

References
----------
Marques et al. (2021), doi:10.1101/2021.03.01.433495.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from brainscore_core.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.benchmark_helpers.checks.handover import checked_metric, compare, name_tested
from brainscore_vision.benchmark_helpers.properties.single_units import (
    MARQUES2020,
    GratingSets,
    firing_rate_scale,
    firing_rates,
    map_receptive_fields,
    stimulus_position,
    units_near,
)
from brainscore_vision.benchmark_helpers.recordings.recording import region_of
from brainscore_vision.benchmark_helpers.stand_ins.sharing import once

if TYPE_CHECKING:
    import pandas as pd

    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
    from brainscore_vision.model_interface import BrainModel
    from brainscore_vision.utils import LazyLoad

__all__ = ["PropertiesBenchmark"]


class PropertiesBenchmark(BenchmarkBase):
    """Compare a property's distribution over model units with that over recorded neurons.

    Score: ``ceil_score(similarity_metric(property of model units, recorded property), ceiling)``.

    Parameters
    ----------
    assembly
        Dims (neuroid, neuronal_property), with the coordinate ``region`` of a single value, the attribute
        ``number_of_trials``, and ``stimulus_set`` with the columns ``degrees``, ``position_x``, ``position_y``.
    neuronal_property
        ``neuronal_property(model_identifier=, responses=, baseline=)`` returns a PropertyAssembly; responses to the
        stimuli and to the blank are firing rates, dims (neuroid, presentation).
    timebins : list of (int, int)
        One window to record, ms after stimulus onset.
    **kwargs
        ``ceiling_func``, which is called with the assembly, and those of `BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        assembly: PropertyAssembly | LazyLoad,
        neuronal_property: Callable[..., PropertyAssembly],
        similarity_metric: Callable[[PropertyAssembly, PropertyAssembly], Score],
        timebins: Sequence[tuple[float, float]],
        *,
        gratings: GratingSets = MARQUES2020,
        version: int = 1,
        **kwargs: Any,  # checked by BenchmarkBase
    ) -> None:
        estimate = kwargs.get("ceiling_func")
        if callable(estimate):
            kwargs["ceiling_func"] = lambda: estimate(assembly)
        super().__init__(identifier=identifier, version=version, **kwargs)
        self._assembly = cast("PropertyAssembly", assembly)  # a LazyLoad acts as the assembly
        self._neuronal_property = neuronal_property
        self._similarity_metric = checked_metric(similarity_metric, benchmark=identifier)
        self.timebins = timebins
        self._gratings = gratings

    @cached_property
    def region(self) -> str:
        """The one region of the recordings."""
        return region_of(self._assembly, self.identifier)

    @property
    def _number_of_trials(self) -> int:  # plugins and their tests read these names
        return int(self._assembly.attrs["number_of_trials"])

    @property
    def _visual_degrees(self) -> pd.Series:
        degrees: pd.Series = self._assembly.stimulus_set["degrees"]
        return degrees

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; attributes also hold ``n_model_units`` (with a receptive field at the stimuli).

        The candidate sees the blank, gratings for receptive fields and response strength, and the experiment's stimuli;
        a `SharedCandidate` once for the whole experiment. `NotApplicableError` if no unit responds to gratings, or has
        its receptive field at the stimuli.
        """
        stimulus_set = self._assembly.stimulus_set
        candidate.start_recording(self.region, time_bins=self.timebins)
        model_property, n_units = once(
            candidate,
            self._neuronal_property,
            lambda: self._measure(candidate),
            stimulus_set,
            self._number_of_trials,
            *astuple(self._gratings),
        )
        raw = compare(self._similarity_metric, model_property, self._assembly, benchmark=self.identifier)
        score = ceil_score(raw, self.ceiling)
        score.attrs.update(n_stimuli=len(stimulus_set), n_model_units=n_units, n_trials=self._number_of_trials)
        name_tested(score, self._assembly)
        return score

    def _measure(self, candidate: BrainModel) -> tuple[PropertyAssembly, int]:
        stimulus_set = self._assembly.stimulus_set
        gratings, names = self._gratings, astuple(self._gratings)
        centres = once(candidate, "receptive fields", lambda: map_receptive_fields(candidate, gratings).centres, *names)
        scale = once(
            candidate, "firing rates", lambda: firing_rate_scale(candidate, self.region, centres, gratings), *names
        )
        units = units_near(centres, stimulus_position(stimulus_set))
        responses, baseline = (
            firing_rates(candidate, stimuli, self._number_of_trials, units, scale)
            for stimuli in (stimulus_set, gratings.blank)
        )
        measured = self._neuronal_property(
            model_identifier=candidate.identifier, responses=responses, baseline=baseline
        )
        return measured, len(units)
