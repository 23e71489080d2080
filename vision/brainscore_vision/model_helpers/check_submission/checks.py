"""Check one model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_vision.model_helpers.brain_transformation.commitment import ModelCommitment
from brainscore_vision.model_helpers.check_submission.embedded import REGION, embedded_benchmark, gratings
from brainscore_vision.model_helpers.check_submission.errors import ModelCheckError
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["check_base_model", "check_brain_model"]

_FEW = 3  # stimuli for checks of every layer
_SOME = 12  # stimuli for the task
_TIME_BINS = [(70, 170)]
_REGIONS = ("V1", "V2", "V4", "IT")


def check_base_model(plugin: ModuleType, name: str) -> str:
    """Check a base model of a plugin and return a summary."""
    layers = plugin.get_layers(name)
    if not isinstance(layers, (list, tuple)) or not layers:
        raise ModelCheckError(f"get_layers({name!r}) returned {layers!r}; expected a list of at least one name.")
    model = _model(plugin, name)
    if not callable(model):
        raise ModelCheckError(
            f"get_model({name!r}) returned a {type(model).__qualname__}, which cannot be called with stimuli; expected "
            "an activations model, such as a PytorchWrapper."
        )
    with gratings() as stimuli:
        few = stimuli[:_FEW]
        activations = model(few, layers=list(layers), stimuli_identifier=False)
        _check_activations(name, activations, few, layers)
        committed = ModelCommitment(name, model, list(layers), region_layer_map={REGION: layers[-1]})
        scored = _score(committed, stimuli)
        probabilities = _do_task(name, committed, stimuli[:_SOME])
    return f"{len(layers)} layers, {layers[-1]}: {', '.join([scored, *probabilities.values()])}"


def check_brain_model(plugin: ModuleType, name: str) -> str:
    """Check a brain model of a plugin and return a summary."""
    model = _model(plugin, name)
    if not isinstance(model, BrainModel):
        raise ModelCheckError(
            f"get_model({name!r}) returned a {type(model).__qualname__}; expected a BrainModel, such as a "
            "ModelCommitment."
        )
    if not model.visual_degrees() > 0:
        raise ModelCheckError(f"Model {name!r} sees {model.visual_degrees()} visual degrees; expected more than 0.")
    with gratings() as stimuli:
        problems = list(_record(name, model, stimuli[:_FEW]))
        regions = [region for region in _REGIONS if not any(text.startswith(f"{region}:") for text in problems)]
        summary = [f"recorded from {', '.join(regions)}"] if regions else []
        summary += [_score(model, stimuli)] if REGION in regions else []
        task = _do_task(name, model, stimuli[:_SOME])
    problems += [f"probabilities: {reason}" for reason in task if reason]
    if not regions and not task.get(""):
        raise ModelCheckError(f"Model {name!r} can neither be recorded from nor do a task: {'; '.join(problems)}")
    return ", ".join([*summary, *task.values()])


def _model(plugin: ModuleType, name: str) -> Any:  # any model of a plugin
    model = plugin.get_model(name)
    if model is None:
        raise ModelCheckError(f"get_model({name!r}) returned None; expected a model. Does it end with return?")
    if not getattr(model, "identifier", None):
        raise ModelCheckError(f"The model of get_model({name!r}) has no identifier.")
    return model


def _score(model: BrainModel, stimuli: StimulusSet) -> str:
    score = embedded_benchmark(stimuli, model.visual_degrees())(model)
    if not np.isfinite(float(score)):
        raise ModelCheckError(
            f"Model {model.identifier!r} gets no score on the embedded benchmark ({float(score)}): its "
            "activations may be the same for all stimuli."
        )
    return f"embedded benchmark (SIMULATED) {float(score):.2f}"


def _record(name: str, model: BrainModel, stimuli: StimulusSet) -> Iterator[str]:
    for region in _REGIONS:
        try:
            model.start_recording(region, time_bins=_TIME_BINS)
        except (KeyError, NotImplementedError) as error:
            yield f"{region}: {error}"
            continue
        _check_activations(name, model.look_at(stimuli, number_of_trials=1), stimuli)


def _do_task(name: str, model: BrainModel, stimuli: StimulusSet) -> dict[str, str]:
    """Let the model learn the gratings' labels; return the result under '', or under the reason of a failure."""
    try:
        model.start_task(BrainModel.Task.probabilities, stimuli)
    except (KeyError, NotImplementedError) as error:
        return {str(error): "cannot do the task probabilities"}
    answer = model.look_at(stimuli, number_of_trials=1)
    if set(answer.dims) != {"presentation", "choice"} or not np.allclose(answer.sum("choice").values, 1):
        raise ModelCheckError(
            f"Model {name!r} gave probabilities with dimensions {answer.dims}; expected presentation and choice, with "
            "a sum of 1 for each stimulus."
        )
    best = answer.transpose("presentation", "choice").values.argmax(axis=1)
    correct = np.mean(answer["choice"].values[best] == stimuli["image_label"].to_numpy())
    return {"": f"learned {correct:.0%} of the labels"}


def _check_activations(name: str, activations: DataAssembly, stimuli: StimulusSet, layers: Sequence[str] = ()) -> None:
    if activations["stimulus_id"].values.tolist() != stimuli["stimulus_id"].tolist():
        raise ModelCheckError(f"Model {name!r} changed the stimuli or their order.")
    values = activations.transpose("presentation", ...).values
    if not np.isfinite(values).all():
        raise ModelCheckError(f"Model {name!r} gave activations that are not finite.")
    if values.size == 0 or (values == values[:1]).all():
        raise ModelCheckError(f"Model {name!r} gave the same activations for all pictures.")
    neuroid_ids = activations["neuroid_id"].values
    if len(set(neuroid_ids)) != len(neuroid_ids):
        raise ModelCheckError(f"Model {name!r} gave the same neuroid_id to several neuroids.")
    missing = set(layers) - set(activations["layer"].values)
    if missing:
        raise ModelCheckError(f"Model {name!r} gave no activations for layers {sorted(missing)}.")
