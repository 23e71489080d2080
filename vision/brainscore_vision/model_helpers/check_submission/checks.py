"""Check one model, against simulated neurons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.loading import load_metric
from brainscore_vision.model_helpers.brain_transformation.commitment import ModelCommitment
from brainscore_vision.model_helpers.check_submission.errors import ModelCheckError
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = ["IDENTIFIER", "REGION", "check_base_model", "check_brain_model", "embedded_benchmark", "gratings"]

# -- simulated neurons -------------------------------------------------------------------------------------------------
# Make the benchmark for checks of models: gratings and SIMULATED neurons.

IDENTIFIER, REGION = "check_models-SIMULATED.IT-ridge", "IT"

N_STIMULI, N_NEUROIDS, SIZE_PX = 24, 8, 256
_SHARPNESS = 2.0  # concentration of the von Mises function of tuning


@contextmanager
def gratings() -> Iterator[StimulusSet]:
    """Provide 24 pictures, 256 x 256 pixels, of gratings inside the block.

    Orientation, frequency, phase and contrast are random (seed 0). Columns: ``orientation`` (radians, 0 to pi),
    ``contrast`` (.5 to 1) and ``image_label``, ``'steep'`` or ``'flat'``.
    """
    generator = np.random.default_rng(0)
    orientation = (np.arange(N_STIMULI) + 0.5) * np.pi / N_STIMULI
    generator.shuffle(orientation)
    contrast = generator.uniform(0.5, 1.0, N_STIMULI)
    frequency = generator.uniform(4.0, 12.0, N_STIMULI)
    phase = generator.uniform(0.0, 2 * np.pi, N_STIMULI)
    stimuli = StimulusSet(
        {
            "stimulus_id": [f"grating-{number:02d}" for number in range(N_STIMULI)],
            "orientation": orientation,
            "contrast": contrast,
            "image_label": np.where(np.abs(np.cos(orientation)) > np.sqrt(0.5), "steep", "flat"),
        }
    )
    stimuli.identifier = "check_models-gratings"
    y, x = np.mgrid[0 : 1 : SIZE_PX * 1j, 0 : 1 : SIZE_PX * 1j]
    with TemporaryDirectory(prefix="brainscore-check-") as folder:
        stimuli.stimulus_paths = {name: Path(folder) / f"{name}.png" for name in stimuli["stimulus_id"]}
        for number, stimulus_id in enumerate(stimuli["stimulus_id"]):
            along = x * np.cos(orientation[number]) + y * np.sin(orientation[number])
            wave = contrast[number] * np.sin(2 * np.pi * frequency[number] * along + phase[number])
            pixels = np.rint(127.5 * (1 + wave)).astype(np.uint8)
            Image.fromarray(pixels).convert("RGB").save(stimuli.stimulus_paths[stimulus_id])
        yield stimuli


def embedded_benchmark(stimuli: StimulusSet, visual_degrees: float) -> NeuralBenchmark:
    """Return a benchmark on `gratings`, best as wide as the model's field of view (no resizing).

    A simulated neuron with preferred orientation t responds ``contrast * exp(2 * (cos(2 * (orientation - t)) - 1))``,
    without noise, so the ceiling is 1.
    """
    preferred = np.arange(N_NEUROIDS) * np.pi / N_NEUROIDS
    tuning = np.exp(_SHARPNESS * (np.cos(2 * (stimuli["orientation"].to_numpy()[:, np.newaxis] - preferred)) - 1))
    responses: npt.NDArray[np.float64] = stimuli["contrast"].to_numpy()[:, np.newaxis] * tuning
    assembly = NeuroidAssembly(
        responses,
        coords={
            **{name: ("presentation", stimuli[name].to_numpy()) for name in ("stimulus_id", "image_label")},
            "neuroid_id": ("neuroid", [f"simulated-{number}" for number in range(N_NEUROIDS)]),
            "region": ("neuroid", [REGION] * N_NEUROIDS),
        },
        dims=["presentation", "neuroid"],
    )
    assembly.attrs.update(stimulus_set=stimuli, simulated=True)
    return NeuralBenchmark(
        identifier=IDENTIFIER,
        version=1,
        assembly=assembly,
        similarity_metric=load_metric("ridgecv", crossvalidation_kwargs={"stratification_coord": "image_label"}),
        visual_degrees=visual_degrees,
        number_of_trials=1,
        ceiling=1.0,
        parent=REGION,
    )


# -- one model ---------------------------------------------------------------------------------------------------------

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
        raise ModelCheckError(
            f"Model {name!r} neither records from a region nor performs a task: {'; '.join(problems)}"
        )
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
