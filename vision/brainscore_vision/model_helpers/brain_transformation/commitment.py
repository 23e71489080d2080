"""Make an experimental subject of a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_vision.model_helpers.brain_transformation.behavior import (
    BehaviorArbiter,
    LabelBehavior,
    OddOneOut,
    ProbabilitiesMapping,
)
from brainscore_vision.model_helpers.brain_transformation.label_maps import N_CLASSES
from brainscore_vision.model_helpers.brain_transformation.mapping import (
    LayerMap,
    LayerMappedModel,
    Layers,
    find_region_layer_map,
    layer_list,
)
from brainscore_vision.model_helpers.brain_transformation.temporal import TemporalAligned
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_helpers.brain_transformation.label_maps import GivenMap

__all__ = ["ModelCommitment"]


class ModelCommitment(BrainModel):
    """A network committed to brain regions and a behavioural readout.

    Parameters
    ----------
    identifier
        Key in ``model_registry``.
    activations_model
        ``activations_model(stimuli, layers=[...], number_of_trials=..., require_variance=...)`` returns a
        `NeuroidAssembly`, such as a `PytorchWrapper`.
    layers
        Candidate layers for regions and readout, from early to late.
    behavioral_readout_layer
        Layer or layers for the tasks ``probabilities`` and ``odd_one_out``. None is the last of `layers`.
    region_layer_map
        Layer or layers of each region. None: read from ``region_layer_map/<identifier>.json`` in the folder of the
        model's plugin; without such a file chosen among `layers` on public benchmarks (see `make_atlas`).
    visual_degrees
        Width of the field of view, degrees.
    label_map : str, sequence of str, mapping of str to sequence of int, or None
        Labels of the outputs of the layer ``logits``: ``'cifar10'``, ``'cifar100'``, the names of all outputs, or the
        outputs of each label. None: the 1000 classes of ImageNet. See `label_map_of`.

    Raises
    ------
    LayerNotFoundError
        The network lacks a listed, mapped or read-out layer (if `activations_model` has ``check_layers``).
    """

    def __init__(
        self,
        identifier: str,
        activations_model: Callable[..., NeuroidAssembly],
        layers: Sequence[str],
        behavioral_readout_layer: str | Sequence[str] | None = None,
        region_layer_map: Mapping[str, Layers] | None = None,
        visual_degrees: float = 8,
        *,
        label_map: GivenMap | None = None,
    ) -> None:
        if not layers:
            raise ValueError(f"Model {identifier!r} lists no layers; expected at least one name.")
        if not visual_degrees > 0:
            raise ValueError(f"visual_degrees of model {identifier!r} is {visual_degrees!r}; expected more than 0.")
        self.layers = list(layers)
        readout = behavioral_readout_layer or self.layers[-1]
        check_layers = getattr(activations_model, "check_layers", None)
        if check_layers is not None:
            mapped = region_layer_map.values() if isinstance(region_layer_map, dict) else ()
            check_layers([name for names in (self.layers, readout, *mapped) for name in layer_list(names)])
        self.activations_model = activations_model
        self._visual_degrees = visual_degrees
        extractor = getattr(activations_model, "_extractor", activations_model)
        if hasattr(extractor, "set_visual_degrees"):
            extractor.set_visual_degrees(visual_degrees)
        layer_map = region_layer_map if region_layer_map is not None else self._find_map
        self.layer_model: TemporalAligned | LayerMappedModel = TemporalAligned(
            LayerMappedModel(identifier, activations_model, layer_map, visual_degrees=visual_degrees)
        )
        label_behavior = LabelBehavior(identifier, activations_model, label_map)
        n_classes = N_CLASSES if label_map is None else label_behavior.label_map.n_outputs
        if hasattr(activations_model, "n_classes"):
            activations_model.n_classes = n_classes
        self.behavior_model = BehaviorArbiter(
            {
                BrainModel.Task.label: label_behavior,
                BrainModel.Task.probabilities: ProbabilitiesMapping(identifier, activations_model, readout),
                BrainModel.Task.odd_one_out: OddOneOut(identifier, activations_model, readout),
            }
        )
        self.do_behavior = False

    def __repr__(self) -> str:
        degrees = self._visual_degrees
        return f"{type(self).__name__}({self.identifier!r}, layers={self.layers!r}, visual_degrees={degrees})"

    @property
    def identifier(self) -> str:
        """Name of the model."""
        return self.layer_model.identifier

    @property
    def region_layer_map(self) -> Mapping[str, Layers]:
        """Layer or layers of each region."""
        return self.layer_model.region_layer_map

    def visual_degrees(self) -> float:
        """See `BrainModel.visual_degrees`."""
        return self._visual_degrees

    def start_task(self, task: str, *args: Any, **kwargs: Any) -> None:  # those of the task
        """See `BrainModel.start_task`."""
        if task == BrainModel.Task.passive:
            self.do_behavior = False
            return
        self.behavior_model.start_task(task, *args, **kwargs)
        self.do_behavior = True

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]]) -> None:
        """See `TemporalAligned.start_recording`."""
        self.layer_model.start_recording(recording_target, time_bins)
        self.do_behavior = False

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> BehavioralAssembly | NeuroidAssembly:
        """See `BrainModel.look_at`; with `require_variance` the eye moves between trials."""
        model: BehaviorArbiter | TemporalAligned | LayerMappedModel = (
            self.behavior_model if self.do_behavior else self.layer_model
        )
        answer: BehavioralAssembly | NeuroidAssembly = model.look_at(
            stimuli, number_of_trials=number_of_trials, require_variance=require_variance
        )
        return answer

    def _find_map(self) -> LayerMap:
        layer_map = find_region_layer_map(self.identifier)
        if layer_map is not None:
            return layer_map
        # Heavy (statistics, metrics), and most models have a map.
        from brainscore_vision.model_helpers.brain_transformation.layer_atlas.selection import (
            DeclaredBenchmarks,
            LayerSelection,
            RegionLayerMap,
        )

        selection = LayerSelection(self.identifier, self.activations_model, self.layers, self._visual_degrees)
        return RegionLayerMap(selection, DeclaredBenchmarks())
