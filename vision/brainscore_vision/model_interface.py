"""The interface of every model."""

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
    # Published benchmarks import them from here; deferred, as they import xarray.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from brainscore_core.supported_data_standards.brainio import assemblies, stimuli

    return getattr(stimuli if name == "StimulusSet" else assemblies, name)


class BrainModel:
    """A model that can be treated like an experimental subject.

    :meth:`start_task` (behaviour) or :meth:`start_recording` (neural activity) selects the measurement, then
    :meth:`look_at` shows stimuli; the last of the two calls decides its result.

    Subclass it for a model of any kind. For a network with accessible layers,
    `brainscore_vision.model_helpers.brain_transformation.ModelCommitment` implements it.

    Examples
    --------
    A subclass without `start_recording` or `start_task` is not applicable to benchmarks that call it:

    >>> from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
    >>> class AlwaysFirst(BrainModel):
    ...     identifier = 'always-first'
    ...     def visual_degrees(self):
    ...         return 8
    ...     def start_task(self, task, fitting_stimuli):
    ...         self.labels = fitting_stimuli
    ...     def look_at(self, stimuli, number_of_trials=1):
    ...         coords = {name: ('presentation', stimuli[name]) for name in stimuli}
    ...         answers = [self.labels[:1] * len(stimuli)]
    ...         return BehavioralAssembly(answers, coords=coords, dims=['choice', 'presentation'])
    >>> model = AlwaysFirst()
    >>> model.start_task(BrainModel.Task.label, ['cat', 'dog'])
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
        """Choose the stimulus of three that differs most from the other two."""

    class RecordingTarget:
        """Names of the regions of the ventral stream; plain strings."""

        V1 = "V1"
        V2 = "V2"
        V4 = "V4"
        IT = "IT"

    @property
    def identifier(self) -> str:
        """The unique name; for a registered model, the key in ``model_registry``."""
        raise NotImplementedError(_missing(self, "identifier"))

    def visual_degrees(self) -> float:
        """Return the width of the field of view, degrees, above 0.

        Stimuli are placed on a screen of this size.
        """
        raise NotImplementedError(_missing(self, "visual_degrees"))

    def start_task(self, task: str, fitting_stimuli: Any) -> None:  # depends on the task
        """Make the following `look_at` calls behavioural.

        Parameters
        ----------
        task
            One of `BrainModel.Task`.
        fitting_stimuli : str, list of str or StimulusSet
            Argument of the task: for ``label`` either ``'imagenet'`` or the list of labels to choose from; for
            ``probabilities`` a stimulus set with a column ``image_label`` to learn from; none for ``odd_one_out``.

        Notes
        -----
        For ``label``, models of several classes per label may take ``aggregation``, ``'mean'`` or ``'max'``: how to
        pool the probabilities of the classes. Benchmarks give it only to models that take it.
        """
        raise NotImplementedError(_missing(self, "start_task"))

    def start_recording(self, recording_target: str, time_bins: Sequence[tuple[float, float]]) -> None:
        """Make the following `look_at` calls return neural activity.

        Parameters
        ----------
        recording_target
            The region, such as one of `BrainModel.RecordingTarget`.
        time_bins
            Start and end of each bin in ms after stimulus onset, such as ``[(70, 170)]``.
        """
        raise NotImplementedError(_missing(self, "start_recording"))

    def look_at(self, stimuli: StimulusSet, number_of_trials: int = 1) -> BehavioralAssembly | NeuroidAssembly:
        """Show stimuli and return the model's behaviour or neural activity.

        Parameters
        ----------
        stimuli
            One row per stimulus; for ``odd_one_out`` three rows per trial.
        number_of_trials
            Presentations of each stimulus. A deterministic model may answer once.

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
    """Return a model's layers of regions; empty if it states none."""
    for owner in (model, getattr(model, "layer_model", None)):
        layers = getattr(owner, "region_layer_map", None)
        if isinstance(layers, Mapping):
            return dict(layers)
    return {}


def layer_origin(model: object, region: str) -> dict[str, object]:
    """Return the origin of a region's layer; empty if the model states none."""
    for owner in (model, getattr(model, "layer_model", None)):
        origin = getattr(getattr(owner, "region_layer_map", None), "origin", None)
        if callable(origin):
            return dict(origin(region))
    return {}


def weights_digest(model: object) -> str | None:
    """Return a model's digest of its weights; None if it states none.

    It is ``model.weights_digest()`` or ``model.activations_model.weights_digest()``, in this order.
    """
    for owner in (model, getattr(model, "activations_model", None)):
        compute = getattr(owner, "weights_digest", None)
        if callable(compute):
            digest = compute()
            return str(digest) if digest else None
    return None


def _missing(model: BrainModel, method: str) -> str:
    return (
        f"{type(model).__qualname__} does not implement BrainModel.{method}, which every model must. ModelCommitment "
        "implements the whole interface for a network."
    )
