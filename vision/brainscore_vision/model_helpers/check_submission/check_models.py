"""Check that the models of a plugin work, on a few small pictures made on the spot.

Plugins import this module at their top and call it when they are run as a program, so that importing it is cheap.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from brainscore_core.errors import BrainScoreError
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["ModelCheckError", "check_base_models", "check_brain_models", "check_models"]

_N_STIMULI = 3
_TIME_BINS = [(70, 170)]
_REGIONS = ("V1", "V2", "V4", "IT")


class ModelCheckError(BrainScoreError, AssertionError):
    """A model does not do what every model has to."""


def check_base_models(module: str | ModuleType) -> None:
    """Check the base models of a module: layers exist, and give finite activations that depend on the stimulus.

    Parameters
    ----------
    module : str or module
        Has ``get_model_list()``, ``get_layers(name)`` and ``get_model(name)``; usually ``__name__``.

    Raises
    ------
    ModelCheckError
        A model fails; the message says which and how.
    LayerNotFoundError
        A model has no layer of a listed name.
    """
    plugin = _module(module)
    for name in _model_names(plugin):
        layers = plugin.get_layers(name)
        if not isinstance(layers, (list, tuple)) or not layers:
            raise ModelCheckError(f"get_layers({name!r}) returned {layers!r}; expected a list of at least one name.")
        model = plugin.get_model(name)
        if model is None:
            raise ModelCheckError(f"get_model({name!r}) returned None; expected an activations model.")
        if not getattr(model, "identifier", None):
            raise ModelCheckError(f"The model of get_model({name!r}) has no identifier.")
        with _stimuli() as stimuli:
            activations = model(stimuli, layers=list(layers), stimuli_identifier=False)
            _check_activations(name, activations, stimuli, layers)


def check_brain_models(module: str | ModuleType) -> None:
    """Check the brain models of a module as `check_base_models` does: they can be recorded from, or do a task."""
    plugin = _module(module)
    for name in _model_names(plugin):
        model = plugin.get_model(name)
        if not isinstance(model, BrainModel):
            raise ModelCheckError(
                f"get_model({name!r}) returned a {type(model).__qualname__}; expected a BrainModel, such as a "
                "ModelCommitment."
            )
        if not model.identifier:
            raise ModelCheckError(f"The model of get_model({name!r}) has no identifier.")
        if not model.visual_degrees() > 0:
            raise ModelCheckError(f"Model {name!r} sees {model.visual_degrees()} visual degrees; expected more than 0.")
        with _stimuli() as stimuli:
            problems = [problem for check in (_record, _do_task) for problem in check(name, model, stimuli)]
        if len(problems) == len(_REGIONS) + 1:
            raise ModelCheckError(f"Model {name!r} can neither be recorded from nor do a task: {'; '.join(problems)}")


def check_models(module: str | ModuleType) -> None:
    """Check the models of a module, be they base models or brain models."""
    plugin = _module(module)
    check = check_base_models if hasattr(plugin, "get_layers") else check_brain_models
    check(plugin)


def _module(module: str | ModuleType) -> ModuleType:
    if isinstance(module, ModuleType):
        return module
    if module not in sys.modules:
        raise ModelCheckError(f"There is no imported module {module!r}; expected a module or the name of one.")
    return sys.modules[module]


def _model_names(plugin: ModuleType) -> list[str]:
    if not hasattr(plugin, "get_model_list"):
        raise ModelCheckError(
            f"{plugin.__name__} has no function get_model_list(); it returns the names of its models."
        )
    names = list(plugin.get_model_list())
    if not names:
        raise ModelCheckError(f"get_model_list() of {plugin.__name__} returned no names; expected at least one.")
    return names


def _record(name: str, model: BrainModel, stimuli: StimulusSet) -> Iterator[str]:
    """Record from every region that the model has; yield why one has none."""
    for region in _REGIONS:
        try:
            model.start_recording(region, time_bins=_TIME_BINS)
        except (KeyError, NotImplementedError) as error:
            yield f"{region}: {error}"
            continue
        _check_activations(name, model.look_at(stimuli, number_of_trials=1), stimuli)


def _do_task(name: str, model: BrainModel, stimuli: StimulusSet) -> Iterator[str]:
    """Let the model give probabilities; yield why it cannot."""
    import numpy as np  # this module is imported at the top of every plugin

    try:
        model.start_task("probabilities", stimuli)
    except (KeyError, NotImplementedError) as error:
        yield f"probabilities: {error}"
        return
    answer = model.look_at(stimuli, number_of_trials=1)
    if set(answer.dims) != {"presentation", "choice"} or not np.allclose(answer.sum("choice").values, 1):
        raise ModelCheckError(
            f"Model {name!r} gave probabilities with dimensions {answer.dims}; expected presentation and choice, with "
            "a sum of 1 for each stimulus."
        )


def _check_activations(name: str, activations: DataAssembly, stimuli: StimulusSet, layers: Sequence[str] = ()) -> None:
    import numpy as np  # this module is imported at the top of every plugin

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


@contextmanager
def _stimuli() -> Iterator[StimulusSet]:
    """Give a stimulus set of three different pictures, as long as the block runs."""
    from tempfile import TemporaryDirectory  # this module is imported at the top of every plugin

    from brainscore_core.testing.synthetic import make_stimulus_set

    with TemporaryDirectory(prefix="brainscore-check-") as folder:
        stimuli = make_stimulus_set(folder, _N_STIMULI, identifier="check_models", size_px=256)
        stimuli["image_label"] = ["a", "b", "b"]
        yield stimuli
