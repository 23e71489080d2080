"""Let networks do tasks."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.errors import (
    AssemblyError,
    LayerNotFoundError,
    NotApplicableError,
    StimulusError,
    UnknownIdentifierError,
    did_you_mean,
)
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.metric_helpers.labelled.alignment import coords_along
from brainscore_vision.model_helpers.brain_transformation.choices import (
    ProbabilitiesClassifier,
    category_probabilities,
    odd_one_out,
    softmax,
)
from brainscore_vision.model_helpers.brain_transformation.label_maps import GivenMap, LabelMap, label_map_of
from brainscore_vision.model_interface import BrainModel

__all__ = [
    "BehaviorArbiter",
    "LabelBehavior",
    "LogitsBehavior",
    "NoReadoutError",
    "NoSuchTaskError",
    "OddOneOut",
    "ProbabilitiesMapping",
    "category_probabilities",
    "odd_one_out",
    "softmax",
]

ActivationsModel = Callable[..., NeuroidAssembly]


class NoSuchTaskError(NotApplicableError, UnknownIdentifierError):
    """A model cannot do a task."""


class BehaviorArbiter(BrainModel):
    """Hand each task to the model that can do it."""

    def __init__(self, mapping: Mapping[str, BrainModel]) -> None:
        self.mapping = dict(mapping)
        self.current_executor: BrainModel | None = None

    def start_task(self, task: str, *args: Any, **kwargs: Any) -> None:  # those of the task
        """Start the model for the task; `NoSuchTaskError` if there is none."""
        if task not in self.mapping:
            labels = ", ".join(map(repr, self.mapping))
            raise NoSuchTaskError(f"Unknown task {task!r}; expected one of {labels}.{did_you_mean(task, self.mapping)}")
        executor = self.mapping[task]
        executor.start_task(task, *args, **kwargs)
        self.current_executor = executor

    def look_at(
        self,
        stimuli: StimulusSet,
        *args: Any,  # those of the selected model
        **kwargs: Any,  # the same
    ) -> BehavioralAssembly | NeuroidAssembly:
        """See `BrainModel.look_at`."""
        if self.current_executor is None:
            raise RuntimeError("No task was started; call start_task before look_at.")
        return self.current_executor.look_at(stimuli, *args, **kwargs)


class _TaskModel(BrainModel):
    _task: str

    def __init__(self, identifier: str, activations_model: ActivationsModel) -> None:
        self._identifier = identifier
        self.activations_model = activations_model
        self.current_task: str | None = None

    @property
    def identifier(self) -> str:
        return self._identifier

    def _begin(self, task: str) -> None:
        if task not in (self._task, BrainModel.Task.passive):
            raise UnknownIdentifierError(f"{type(self).__name__} does the task {self._task!r}, not {task!r}.")
        self.current_task = task

    def _need_task(self) -> None:
        if self.current_task != self._task:
            raise RuntimeError(
                f"Model {self.identifier!r} is not doing the task {self._task!r}; call start_task({self._task!r}, ...)."
            )

    def _features(
        self, stimuli: StimulusSet, layers: list[str], number_of_trials: int, *, require_variance: bool
    ) -> NeuroidAssembly:
        features = self.activations_model(
            stimuli, layers=layers, number_of_trials=number_of_trials, require_variance=require_variance
        )
        if "time_bin" in features.dims:
            features = features.astype(np.float32).mean("time_bin")
        return features.transpose("presentation", "neuroid")


class NoReadoutError(NotApplicableError, LayerNotFoundError, ValueError):
    """A model has no readout with the classes of its label map."""


class LabelBehavior(_TaskModel):
    """Name each stimulus's category, from the classes of the layer ``logits``.

    Parameters
    ----------
    activations_model
        ``activations_model(stimuli, layers=['logits'], ...)`` returns a `NeuroidAssembly` with one neuroid for each
        class. A model declares that layer: ``PytorchWrapper(..., readout_layer='<layer>')``.
    label_map
        Labels of the classifier's outputs; see `label_maps.label_map_of`.
    """

    _task = BrainModel.Task.label

    def __init__(self, identifier: str, activations_model: ActivationsModel, label_map: GivenMap | None = None) -> None:
        super().__init__(identifier, activations_model)
        self._given_map = label_map
        self.choice_labels: str | list[str] | None = None
        self._indices: list[tuple[int, ...]] = []
        self._aggregation = "mean"
        self._has_classifier = False

    @cached_property
    def label_map(self) -> LabelMap:
        """Labels of the classifier's outputs, made when first needed."""
        return label_map_of(self._given_map)

    def start_task(self, task: str, choice_labels: str | Sequence[str], aggregation: str = "mean") -> None:
        """See `BrainModel.start_task`.

        Parameters
        ----------
        choice_labels : 'imagenet' or list of str
            ``'imagenet'``: answer with WordNet ids, such as ``'n07920052'``, of the classifier's classes of ImageNet.
            List: answer with these labels, such as the 16 categories of 16-class-ImageNet (Geirhos et al., 2018).
        aggregation : {'mean', 'max'}
            Pooling of the probabilities of the classes of one label.

        Raises
        ------
        UnknownIdentifierError
            Labels are unknown; names all of them.
        NoReadoutError
            There is no layer ``logits`` with the classes of the label map, tested with a grey picture: after seeing
            stimuli, a network can't decline.
        """
        indices: list[tuple[int, ...]]
        if isinstance(choice_labels, str):
            if choice_labels != "imagenet":
                raise UnknownIdentifierError(
                    f"choice_labels is {choice_labels!r}; expected 'imagenet' or a list of labels."
                )
            labels: str | list[str] = choice_labels
            indices = [(index,) for index, _ in self.label_map.imagenet]
            if not indices:
                raise UnknownIdentifierError(
                    f"Model {self.identifier!r} cannot answer with the WordNet ids of ImageNet: its label map says "
                    f"that its classes are {self.label_map.what}. Ask for a list of labels."
                )
        else:
            labels = [str(label) for label in choice_labels]
            if not labels:
                raise ValueError("choice_labels is empty; expected at least one label.")
            indices = self.label_map.outputs_of(labels)
        if aggregation not in ("mean", "max"):
            raise ValueError(f"aggregation is {aggregation!r}; expected 'mean' or 'max'.")
        if hasattr(getattr(self.activations_model, "_extractor", self.activations_model), "from_paths"):
            with tempfile.TemporaryDirectory() as folder:
                grey = StimulusSet({"stimulus_id": ["grey"]})
                grey.stimulus_paths = {"grey": Path(folder, "grey.png")}
                Image.new("RGB", (64, 64), (128, 128, 128)).save(Path(folder, "grey.png"))
                self._need_classifier(grey)
        self._begin(task)
        self.choice_labels, self._indices, self._aggregation = labels, indices, aggregation

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> BehavioralAssembly:
        """See `BrainModel.look_at`.

        Returns
        -------
        BehavioralAssembly (choice, presentation), size (1, n)
            Each stimulus's label, also as coordinate ``label``. For ``'imagenet'``, further coordinates:
            ``synset``, and ``logit``, the index of the output. For a list of labels, ``attrs['probabilities']`` is a
            BehavioralAssembly (presentation, choice).

        Raises
        ------
        NoReadoutError
            As for `start_task`; tested with one stimulus first.
        """
        self._need_task()
        self._need_classifier(stimuli[:1])
        logits = self._features(stimuli, ["logits"], number_of_trials, require_variance=require_variance)
        return self.logits_to_choice(logits)

    def _need_classifier(self, stimuli: StimulusSet) -> None:
        if self._has_classifier:
            return
        try:
            probe = self._features(stimuli, ["logits"], 1, require_variance=False)
        except LayerNotFoundError as error:
            raise NoReadoutError(f"{self._no_readout('no layer')} ({error})") from error
        self._check_classifier(probe)
        self._has_classifier = True

    def _check_classifier(self, logits: NeuroidAssembly) -> None:
        n_units = logits.sizes["neuroid"]
        if not self.label_map.fits(n_units):
            raise NoReadoutError(self._no_readout(f"{n_units} units in its layer"))

    def _no_readout(self, what: str) -> str:
        n_classes = self.label_map.n_outputs or "all"
        return (
            f"Model {self.identifier!r} has {what} 'logits'; the task 'label' needs {n_classes} classes of "
            f"{self.label_map.what}. If the classifier is another layer, declare it: PytorchWrapper(..., "
            "readout_layer='<layer>'). If it has other classes, name them: ModelCommitment(..., label_map=[...]). A "
            "model without a classifier can do the task 'probabilities'."
        )

    def logits_to_choice(self, logits: NeuroidAssembly) -> BehavioralAssembly:
        """Turn outputs (presentation, neuroid) of the classifier into labels; see `look_at`."""
        self._check_classifier(logits)
        coords = coords_along(logits, "presentation")
        values = logits.transpose("presentation", "neuroid").values
        if self.choice_labels == "imagenet":
            outputs, names = (np.asarray(column) for column in zip(*self.label_map.imagenet, strict=True))
            best = values[:, outputs].argmax(axis=1)
            extra = {"synset": ("presentation", names[best]), "logit": ("presentation", outputs[best])}
            return _one_choice(names[best], {**coords, "label": ("presentation", names[best]), **extra})
        probabilities = category_probabilities(values, self._indices, self._aggregation)
        labels = np.asarray(self.choice_labels)
        choices = labels[probabilities.argmax(axis=1)]
        answer = _one_choice(choices, {**coords, "label": ("presentation", choices)})
        answer.attrs["probabilities"] = BehavioralAssembly(
            probabilities, coords={**coords, "choice": ("choice", labels)}, dims=["presentation", "choice"]
        )
        return answer


LogitsBehavior = LabelBehavior
"""The published name of `LabelBehavior`."""


class ProbabilitiesMapping(_TaskModel):
    """Give each label's probability, from a classifier fitted to activations of `layer`."""

    _task = BrainModel.Task.probabilities

    def __init__(self, identifier: str, activations_model: ActivationsModel, layer: str | Sequence[str]) -> None:
        super().__init__(identifier, activations_model)
        self.readout = [layer] if isinstance(layer, str) else list(layer)
        self.classifier = ProbabilitiesClassifier()

    def start_task(
        self, task: str, fitting_stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> None:
        """Fit the classifier to stimuli with a column ``image_label``; see `BrainModel.start_task`."""
        if "image_label" not in fitting_stimuli.columns:
            raise StimulusError(
                "The stimuli to learn from have no column 'image_label' with the labels to learn. Columns: "
                f"{', '.join(map(str, fitting_stimuli.columns))}."
            )
        features = self._features(fitting_stimuli, self.readout, number_of_trials, require_variance=require_variance)
        answered = list(dict.fromkeys(features["stimulus_id"].values.tolist()))
        if answered != list(dict.fromkeys(fitting_stimuli["stimulus_id"].tolist())):
            raise AssemblyError(
                f"Model {self.identifier!r} returned activations for other stimuli than it was shown, or in another "
                "order."
            )
        classifier = ProbabilitiesClassifier()
        classifier.fit(features, features["image_label"])
        self._begin(task)
        self.classifier = classifier

    def look_at(
        self, stimuli: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> BehavioralAssembly:
        """See `BrainModel.look_at`.

        Returns
        -------
        BehavioralAssembly (presentation, choice)
            Labels are in the order of first occurrence in the fitting stimuli; rows sum to 1.
        """
        self._need_task()
        features = self._features(stimuli, self.readout, number_of_trials, require_variance=require_variance)
        return self.classifier.predict_proba(features)

    ProbabilitiesClassifier = ProbabilitiesClassifier


class OddOneOut(_TaskModel):
    """Choose the stimulus of three that differs most from the others, by similarity of activations of `layer`."""

    _task = BrainModel.Task.odd_one_out

    def __init__(self, identifier: str, activations_model: ActivationsModel, layer: str | Sequence[str]) -> None:
        super().__init__(identifier, activations_model)
        self.readout = [layer] if isinstance(layer, str) else list(layer)
        self.current_task = self._task
        self.similarity_measure = "dot"

    def start_task(self, task: str) -> None:  # type: ignore[override]  # this task needs no stimuli to learn from
        """See `BrainModel.start_task`."""
        self._begin(task)

    def set_similarity_measure(self, similarity_measure: str) -> None:
        """Set the similarity: ``'dot'``, ``a . b``, or ``'cosine'``, ``a . b / (|a| |b|)``, 0 if a or b is 0."""
        if similarity_measure not in ("dot", "cosine"):
            raise ValueError(f"similarity_measure is {similarity_measure!r}; expected 'dot' or 'cosine'.")
        self.similarity_measure = similarity_measure

    def look_at(
        self, triplets: StimulusSet, number_of_trials: int = 1, require_variance: bool = False
    ) -> BehavioralAssembly:
        """See `BrainModel.look_at`; each trial has three rows.

        Returns
        -------
        BehavioralAssembly (choice, presentation), size (1, trials)
            The `stimulus_id` of the odd stimulus of each triplet; activations are averaged over repeats of a stimulus.
            Coordinate ``stimulus_id`` on presentation is the triplet as ``'a|b|c'``.
        """
        self._need_task()
        stimulus_ids = triplets["stimulus_id"].tolist()
        if not stimulus_ids or len(stimulus_ids) % 3:
            raise StimulusError(
                f"There are {len(stimulus_ids)} stimuli; expected a multiple of 3, the stimuli of one trial after "
                "the other."
            )
        unique = triplets.drop_duplicates(subset=["stimulus_id"]).sort_values(by="stimulus_id")
        features = self._features(unique, self.readout, number_of_trials, require_variance=require_variance)
        rows = features["stimulus_id"].values
        ids = unique["stimulus_id"].to_numpy()
        means = np.stack([features.values[rows == stimulus_id].mean(axis=0, dtype=np.float64) for stimulus_id in ids])
        place = {stimulus_id: index for index, stimulus_id in enumerate(ids.tolist())}
        trials = np.asarray([place[stimulus_id] for stimulus_id in stimulus_ids]).reshape(-1, 3)
        odd = odd_one_out(self._similarities(means), trials)
        ids = np.asarray(ids.tolist())
        names = ["|".join(map(str, ids[trial])) for trial in trials]
        return _one_choice(ids[odd], {"stimulus_id": ("presentation", names)})

    def _similarities(self, features: npt.ArrayLike) -> npt.NDArray[np.float64]:
        values = np.asarray(features, dtype=np.float64)
        if self.similarity_measure == "cosine":
            lengths = np.linalg.norm(values, axis=1, keepdims=True)
            values = values / np.where(lengths > 0, lengths, 1)
        return np.asarray(values @ values.T)


def _one_choice(
    choices: npt.NDArray[np.generic], coords: Mapping[str, tuple[str, npt.ArrayLike]]
) -> BehavioralAssembly:
    return BehavioralAssembly(choices[np.newaxis], coords=coords, dims=["choice", "presentation"])
