"""Define what every model can be asked: to do a task, to be recorded from, and to look at stimuli."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = [
    "BehavioralAssembly",
    "BrainModel",
    "NeuroidAssembly",
    "StimulusSet",
    "layer_origin",
    "region_layers",
    "weights_digest",
]


def __getattr__(name: str) -> Any:  # a class of the data standard
    # Published benchmarks take them from here; imported when asked for, so that importing the interface stays fast.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from brainscore_core.supported_data_standards.brainio import assemblies, stimuli

    return getattr(stimuli if name == "StimulusSet" else assemblies, name)


class BrainModel:
    """A model that can be treated like an experimental subject.

    An experiment first says what it wants, with :meth:`start_task` (behaviour) or :meth:`start_recording` (neural
    activity), and then shows stimuli with :meth:`look_at`. The last of the two calls decides what `look_at` returns.

    Subclass it to bring a model of any kind. For a network whose layers can be read out,
    `brainscore_vision.model_helpers.brain_transformation.ModelCommitment` does so.
    """

    class Task:
        """Names of the tasks; plain strings."""

        passive = "passive"
        """Look, do nothing."""
        label = "label"
        """Name the category of every stimulus."""
        probabilities = "probabilities"
        """Give the probability of every label; learned from fitting stimuli."""
        odd_one_out = "odd_one_out"
        """Say which of three stimuli differs most from the other two."""

    class RecordingTarget:
        """Names of the regions of the ventral stream; plain strings."""

        V1 = "V1"
        V2 = "V2"
        V4 = "V4"
        IT = "IT"

    @property
    def identifier(self) -> str:
        """The unique name of the model; for a registered model, the key in ``model_registry``."""
        raise NotImplementedError(_missing(self, "identifier"))

    def visual_degrees(self) -> float:
        """Return the width of the model's field of view.

        Returns
        -------
        float
            In degrees of visual angle, greater than 0. Stimuli are placed on a screen of this size before the model
            sees them.
        """
        raise NotImplementedError(_missing(self, "visual_degrees"))

    def start_task(self, task: str, fitting_stimuli: Any) -> None:  # each task takes something else
        """Make the following `look_at` calls behavioural.

        Parameters
        ----------
        task : str
            One of `BrainModel.Task`.
        fitting_stimuli : str, list of str or StimulusSet
            What the task needs: for ``label`` either ``'imagenet'`` or the list of labels to choose from; for
            ``probabilities`` a stimulus set with a column ``image_label`` to learn from; nothing for ``odd_one_out``.
        """
        raise NotImplementedError(_missing(self, "start_task"))

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]]) -> None:
        """Make the following `look_at` calls return neural activity.

        Parameters
        ----------
        recording_target : str
            The region, such as one of `BrainModel.RecordingTarget`.
        time_bins : sequence of (float, float)
            Start and end of each bin in ms after stimulus onset, such as ``[(70, 170)]``.
        """
        raise NotImplementedError(_missing(self, "start_recording"))

    def look_at(self, stimuli: StimulusSet, number_of_trials: int = 1) -> BehavioralAssembly | NeuroidAssembly:
        """Show stimuli and return what the model does or what its neurons do.

        Parameters
        ----------
        stimuli : StimulusSet
            One row a stimulus; for ``odd_one_out`` three rows a trial.
        number_of_trials : int
            How often each stimulus is shown. A deterministic model may answer once.

        Returns
        -------
        NeuroidAssembly
            After `start_recording`: (presentation, neuroid[, time_bin]), where `presentation` has every column of the
            stimulus set, in the order of the stimuli.
        BehavioralAssembly
            After `start_task`: for ``label`` and ``odd_one_out`` (choice, presentation) of size (1, n) with strings;
            for ``probabilities`` (presentation, choice) with rows that sum to 1.
        """
        raise NotImplementedError(_missing(self, "look_at"))


def region_layers(model: object) -> dict[str, str | list[str]]:
    """Return which layers stand for which regions, as far as a model says; empty if it does not."""
    for owner in (model, getattr(model, "layer_model", None)):
        layers = getattr(owner, "region_layer_map", None)
        if isinstance(layers, Mapping):
            return dict(layers)
    return {}


def layer_origin(model: object, region: str) -> dict[str, object]:
    """Return how the layer of a region came to be (stated, read from a file, selected); empty if a model is silent."""
    for owner in (model, getattr(model, "layer_model", None)):
        origin = getattr(getattr(owner, "region_layer_map", None), "origin", None)
        if callable(origin):
            return dict(origin(region))
    return {}


def weights_digest(model: object) -> str | None:
    """Return the digest of parameters and buffers that a model, or the network in it, says; None if it is silent.

    Asked is ``model.weights_digest()``, then ``model.activations_model.weights_digest()``.
    """
    for owner in (model, getattr(model, "activations_model", None)):
        told = getattr(owner, "weights_digest", None)
        if callable(told):
            digest = told()
            return str(digest) if digest else None
    return None


def _missing(model: BrainModel, method: str) -> str:
    return (
        f"{type(model).__qualname__} does not implement BrainModel.{method}; every model has to. "
        "ModelCommitment implements all of the interface for a network."
    )
