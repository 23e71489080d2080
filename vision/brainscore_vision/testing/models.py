"""Tests of every model."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING

import numpy as np
import pytest

from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision.loading import load_model
from brainscore_vision.model_interface import BrainModel, region_layers
from brainscore_vision.testing.identifier import IdentifierContract

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["ModelContract"]

_WIDEST_DEGREES = 360
_REGIONS = ("V1", "V2", "V4", "IT")


class ModelContract(IdentifierContract):
    """It loads, has its key as identifier, a field of view, existing layers and finite activations.

    Examples
    --------
    In the ``test.py`` of a model for small pictures::

        class TestMine(ModelContract):
            identifier = "mymodel"

            def stimuli(self, folder):
                return make_stimulus_set(folder, 2, identifier="small", size_px=32)
    """

    kind = "model"
    base = "ModelContract"
    why_one_name = "pass the key as identifier when creating the model"

    def load(self) -> BrainModel:
        """Load the model; its weights may be downloaded."""
        return load_model(self.identifier)

    def stimuli(self, folder: Path) -> StimulusSet:
        """Return two pictures; override it for a model with other input."""
        return make_stimulus_set(folder, 2, identifier=f"{self.identifier}-contract", size_px=224)

    def test_loads(self) -> None:
        """It loads, with the methods of every model."""
        missing = [
            name
            for name in ("look_at", "start_task", "start_recording", "visual_degrees", "identifier")
            if not hasattr(type(self.loaded), name) and not hasattr(self.loaded, name)
        ]
        if missing:
            self.broken(
                f"is a {type(self.loaded).__qualname__} without {', '.join(missing)}",
                "return a ModelCommitment, or an instance of a subclass of BrainModel",
            )

    def test_visual_degrees(self) -> None:
        """Its field of view is a number of degrees."""
        degrees = self.loaded.visual_degrees()
        is_number = isinstance(degrees, numbers.Real) and not isinstance(degrees, bool)
        if not (is_number and math.isfinite(degrees) and 0 < degrees <= _WIDEST_DEGREES):
            self.broken(
                f"has a field of view of {degrees!r} visual degrees; expected a number above 0 and up to "
                f"{_WIDEST_DEGREES}",
                "pass visual_degrees=8, or the width for which the model was made",
            )

    def test_layers_exist(self, tmp_path: Path) -> None:
        """All its layers can be read out."""
        layers = _layers(self.loaded)
        activations_model = getattr(self.loaded, "activations_model", None)
        if not layers or activations_model is None:
            pytest.skip("other: the model names no layers")
        get_layer = getattr(activations_model, "get_layer", None)
        if get_layer is not None:
            for layer in layers:
                get_layer(layer)
            return
        activations = activations_model(self.stimuli(tmp_path), layers=layers)
        absent = sorted(set(layers) - set(activations["layer"].values)) if "layer" in activations.coords else []
        if absent:
            self.broken(
                f"has no activations for these layers that it names: {', '.join(absent)}", "correct their names"
            )

    def test_activations_are_finite(self, tmp_path: Path) -> None:
        """It gives finite activity for two pictures, or does a task."""
        stimuli = self.stimuli(tmp_path)
        reasons = {}
        for region in _REGIONS:
            try:
                self.loaded.start_recording(region, [(70, 170)])
            except (KeyError, NotImplementedError, ValueError, AssertionError) as error:
                reasons[region] = f"{type(error).__name__}: {error}"
                continue
            self._check_activity(self.loaded.look_at(stimuli), stimuli, region)
            return
        try:
            self.loaded.start_task(BrainModel.Task.label, ["cat", "dog"])
        except (KeyError, NotImplementedError, ValueError, AssertionError) as error:
            reasons["label"] = f"{type(error).__name__}: {error}"
            said = "; ".join(f"{what}: {reason}" for what, reason in reasons.items())
            self.broken(
                f"neither records from a region nor performs a task ({said})",
                "pass region_layer_map, or add region_layer_map/<identifier>.json",
            )
        choices = self.loaded.look_at(stimuli)
        if choices.sizes.get("presentation") != len(stimuli):
            self.broken(
                f"made choices with sizes {dict(choices.sizes)} for {len(stimuli)} pictures",
                "return one choice for each",
            )

    def _check_activity(self, activity: DataAssembly, stimuli: StimulusSet, region: str) -> None:
        stimulus_ids = [str(stimulus_id) for stimulus_id in stimuli["stimulus_id"]]
        if [str(stimulus_id) for stimulus_id in activity["stimulus_id"].values] != stimulus_ids:
            self.broken(
                f"answers for stimuli {activity['stimulus_id'].values.tolist()}; expected {stimulus_ids}",
                "return all stimuli, in the order shown",
            )
        values = np.asarray(activity.transpose("presentation", ...).values)
        if values.size == 0 or not np.isfinite(values).all():
            bad = int((~np.isfinite(values)).sum())
            self.broken(
                f"has {bad} non-finite activations of {values.size} in {region}",
                "check the weights and the preprocessing, such as the range of the pixels",
            )
        if (values[0] == values[1]).all():
            self.broken(f"has the same activations in {region} for two different pictures", "check the preprocessing")


def _layers(model: BrainModel) -> list[str]:
    named = [*(getattr(model, "layers", None) or ()), *region_layers(model).values()]
    flat = [layer for entry in named for layer in ([entry] if isinstance(entry, str) else entry)]
    return list(dict.fromkeys(flat))
