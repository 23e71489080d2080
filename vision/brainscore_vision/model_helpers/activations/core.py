"""Get the activations of a model's layers for stimuli: in batches, labelled and cached."""

from __future__ import annotations

import itertools
import logging
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from brainscore_core.errors import (
    AssemblyError,
    ConfigurationError,
    LayerNotFoundError,
    StimulusError,
    did_you_mean,
)
from brainscore_core.identity.digest import content_digest
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.model_helpers.activations.batches import Batch, BatchTooLargeError, run_batches
from brainscore_vision.model_helpers.activations.cache import cache_wanted, refuse_to_run
from brainscore_vision.model_helpers.activations.digests import NotDigestibleError, preprocessing_digest
from brainscore_vision.model_helpers.activations.extraction import Extraction, extract, file_stamps
from brainscore_vision.model_helpers.activations.hooks import (
    Activations,
    BatchHook,
    CacheableHook,
    HookHandle,
    StimulusSetHook,
    parts_of,
    register,
)
from brainscore_vision.model_helpers.activations.numerics import numerics
from brainscore_vision.model_helpers.activations.opened_files import OpenedFiles
from brainscore_vision.model_helpers.activations.packaging import add_presentation_coords, package
from brainscore_vision.model_helpers.activations.sources import counted_files
from brainscore_vision.model_helpers.activations.steadiness import (
    STEADY,
    WeightSums,
    deviation_between_passes,
    unchanged_weights,
)
from brainscore_vision.model_helpers.activations.stimulus_files import (
    BadImageError,
    Preprocessing,
    check_files,
    preprocess_files,
)
from brainscore_vision.model_helpers.activations.trials import TRIAL_COORDS, Trials

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.activations.matrix import Recorded

__all__ = ["ActivationsExtractorHelper", "HookHandle", "attach_stimulus_set_meta"]

_logger = logging.getLogger(__name__)


class ActivationsExtractorHelper:
    """Call a model's own function in batches and return labelled activations.

    Activations are cached by content if all that changes them is known: the files of the stimuli, the preprocessing,
    the layers and, through `model_digest`, the model. Otherwise they are computed at every call.
    A model that is random and does not say so gives its first answer again from the cache; see `stochastic`.

    Parameters
    ----------
    get_activations : callable
        ``get_activations(inputs, layer_names)`` returns a dict of layer name to array (input, ...), in order.
        `inputs` is what `preprocessing` returned for one batch.
    preprocessing : callable or None
        Takes a list of paths (str) and returns the inputs. None: the paths themselves are the inputs.
    identifier : str or False
        Of the model. False: nothing is cached.
    batch_size : int
        Most stimuli in one call. When memory does not suffice for a batch, all batches are half as large or less from
        there on, as if that had been asked for, which is said in the log.
    model_digest : callable or None
        Takes no arguments and returns a str that changes with everything in the model that changes its activations
        (weights, code, settings), or several such, by name, which ``brainscore cache explain`` then tells apart; or
        raises `TypeError` if that is not known. None: it is not known.
    stochastic : bool
        Whether the model is random by intent, such as by noise or by dropout that stays on. Then every trial is
        computed, from random numbers that start at `seed`: the same call gives the same activations.
    seed : int
        From 0. Random numbers of Python, NumPy and PyTorch start anew with each batch; they go on after it as if
        nothing had been drawn.
    check_steady : bool
        Whether two stimuli are shown twice before a recording, to find out if the model answers the same every time.

    Attributes
    ----------
    deviation_between_passes : dict of str to float
        How far each layer deviated when the first stimuli of the latest recording were shown twice, in units of its
        largest absolute value; empty if the model answered the same. Activations that deviate are not cached, which
        is said in the log, and have the largest deviation in their attribute of this name.
    weight_sums : callable or None
        Takes no arguments and returns numbers by name that change with the weights, such as
        ``partial(steadiness.weight_sums, module)``. They are compared before and after a recording.
    """

    def __init__(
        self,
        get_activations: Callable[..., Mapping[str, npt.ArrayLike]],
        preprocessing: Preprocessing | None,
        identifier: str | bool = False,
        batch_size: int = 64,
        *,
        model_digest: Callable[[], str | Mapping[str, str]] | None = None,
        stochastic: bool = False,
        seed: int = 0,
        check_steady: bool = True,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; expected at least 1.")
        self.identifier = identifier
        self.get_activations = get_activations
        self.preprocess = preprocessing
        self.model_digest = model_digest
        self.stochastic = stochastic
        self.seed = seed
        self.check_steady = check_steady
        self.deviation_between_passes: dict[str, float] = {}
        self.weight_sums: Callable[[], WeightSums] | None = None
        self._batch_size = batch_size
        self._visual_degrees: float | None = None
        self._opened = OpenedFiles()
        self._hook_ids = itertools.count()
        self._stimulus_set_hooks: dict[int, StimulusSetHook] = {}
        self._batch_activations_hooks: dict[int, BatchHook] = {}

    def __call__(
        self,
        stimuli: StimulusSet | Sequence[str | Path],
        layers: Sequence[str] | None,
        stimuli_identifier: str | bool | None = None,
        number_of_trials: int = 1,
        require_variance: bool = False,
    ) -> NeuroidAssembly:
        """Return the activations of layers.

        Parameters
        ----------
        layers : list of str or None
            Names of the layers; None is ``['logits']``, the readout.
        stimuli_identifier : str, False or None
            False: nothing is cached. Otherwise without meaning, because the content of the stimuli counts.
        number_of_trials : int
            How often each stimulus is shown, if trials differ: with `require_variance`, and for a model that is
            `stochastic`. Any other answers the same every time, so that it is shown once.
        require_variance : bool
            Whether the eye moves between trials: preprocessed images are moved by parts of a pixel, see
            `trials.microsaccades` and `trials.shift_images`.

        Returns
        -------
        NeuroidAssembly (presentation, neuroid)
            In the order of the stimuli, trials of a stimulus side by side; see `from_stimulus_set` and `from_paths`.
            Trials that differ have the coordinates of `trials.Trials.coords`.

        Raises
        ------
        LayerNotFoundError
            The model has no layer of that name.
        StimulusError
            A stimulus cannot be decoded.
        ModelChangedError
            The weights of the model changed while it was recorded.
        AssemblyError
            A layer gave values that are not finite, or not one entry for each stimulus.
        ConfigurationError
            `require_variance` is True, and the width of the field of view is not known (`set_visual_degrees`).
        """
        layer_names = _layer_list(layers)
        asked = self._asked(number_of_trials, require_variance=require_variance)
        if isinstance(stimuli, StimulusSet):
            return self.from_stimulus_set(stimuli, layer_names, stimuli_identifier=stimuli_identifier, **asked)
        if hasattr(stimuli, "columns"):
            raise StimulusError(
                f"The stimuli are a table of type {type(stimuli).__name__}, which does not know where the pictures "
                "are; expected a StimulusSet or a list of paths. Make one: StimulusSet(table), and set its "
                "stimulus_paths."
            )
        return self.from_paths(list(stimuli), layer_names, stimuli_identifier=stimuli_identifier, **asked)

    def from_stimulus_set(
        self,
        stimulus_set: StimulusSet,
        layers: Sequence[str],
        stimuli_identifier: str | bool | None = None,
        require_variance: bool = False,
        *,
        number_of_trials: int = 1,
    ) -> NeuroidAssembly:
        """Return the activations for a stimulus set, with its columns as coordinates of ``presentation``.

        The parameters are those of `__call__`.
        """
        for hook in list(self._stimulus_set_hooks.values()):
            stimulus_set = hook(stimulus_set)
        _require_ids(stimulus_set)
        stimulus_ids = stimulus_set["stimulus_id"].tolist()
        paths = [str(stimulus_set.get_stimulus(stimulus_id)) for stimulus_id in stimulus_ids]
        try:
            asked = self._asked(number_of_trials, require_variance=require_variance)
            activations = self.from_paths(paths, layers, stimuli_identifier=stimuli_identifier, **asked)
        except BadImageError as error:
            stimulus_id = stimulus_ids[paths.index(error.path)]
            raise type(error)(f"Stimulus {stimulus_id!r}: {error}", error.path) from error
        labelled = attach_stimulus_set_meta(activations, stimulus_set, activations.sizes["presentation"] // len(paths))
        labelled.attrs.update(activations.attrs)
        return labelled

    def from_paths(
        self,
        stimuli_paths: Sequence[str | Path],
        layers: Sequence[str],
        stimuli_identifier: str | bool | None = None,
        require_variance: bool | None = None,
        *,
        number_of_trials: int = 1,
    ) -> NeuroidAssembly:
        """Return the activations for files, with ``stimulus_path`` as the coordinate of ``presentation``.

        A path that occurs several times is computed once. The parameters are those of `__call__`.

        Where `get_activations` answers a layer in steps, ``<layer>-t<step>``, as the published wrappers of recurrent
        networks do, these stand for the layer.
        """
        layer_names = _layer_list(layers)
        paths = [str(path) for path in stimuli_paths]
        trials = self._trials(number_of_trials, require_variance=bool(require_variance))
        # A random model sees a stimulus anew each time.
        unique_paths = paths if self.stochastic else list(dict.fromkeys(paths))
        if not paths:
            raise StimulusError("There are no stimuli to show; expected at least one.")
        check_files(unique_paths)
        rows = None
        if len(unique_paths) < len(paths):
            place = {path: index for index, path in enumerate(unique_paths)}
            rows = [place[path] * trials.number + trial for path in paths for trial in range(trials.number)]
        use_cache = stimuli_identifier is not False and cache_wanted()
        shown = trials.repeat(unique_paths)
        recorded = None
        while recorded is None:
            try:
                recorded = extract(self._extraction(shown, layer_names, trials), use_cache=use_cache, rows=rows)
            except _GivenInStepsError as error:
                layer_names = error.layers
            except BatchTooLargeError as error:
                # All stimuli anew: what a network gives depends, if only by rounding, on how many it is shown at once,
                # and the size of batches is in the key of the cache.
                _logger.warning("%s", error)
                self._batch_size = error.size
        assembly = self._package(recorded, trials.repeat(paths))
        if trials.key:
            coords = trials.coords(assembly.sizes["presentation"], partial(self._preprocess_batch, paths[:1]))
            assembly = add_presentation_coords(assembly, {"stimulus_path": assembly["stimulus_path"].values, **coords})
        if self.deviation_between_passes:
            assembly.attrs["deviation_between_passes"] = max(self.deviation_between_passes.values())
        return assembly

    def _package(self, recorded: Recorded, paths: list[str]) -> NeuroidAssembly:
        return package(recorded, paths, str(self.identifier) if self.identifier else "")

    def _trials(self, number_of_trials: int, *, require_variance: bool) -> Trials:
        if not isinstance(number_of_trials, (int, np.integer)) or number_of_trials < 1:
            raise ValueError(f"number_of_trials is {number_of_trials!r}; expected a whole number from 1.")
        if require_variance and self._visual_degrees is None:
            raise ConfigurationError(
                "require_variance=True moves stimuli by parts of a degree, but the model does not say how wide its "
                "field of view is: call set_visual_degrees(<degrees>) of its extractor. ModelCommitment does so."
            )
        differ = require_variance or self.stochastic
        return Trials(
            int(number_of_trials) if differ else 1,
            visual_degrees=self._visual_degrees if require_variance else None,
            seed=self.seed if self.stochastic else None,
        )

    def _asked(self, number_of_trials: int, *, require_variance: bool) -> dict[str, Any]:
        """Return what is asked for beyond the ordinary: models that override a method may know of nothing else."""
        trials = self._trials(number_of_trials, require_variance=require_variance)
        asked: dict[str, Any] = {"number_of_trials": trials.number} if trials.number > 1 else {}
        return {**asked, "require_variance": True} if require_variance else asked

    def register_batch_activations_hook(self, hook: BatchHook) -> HookHandle[BatchHook]:
        """Change the activations of every batch, arrays by layer.

        While such a hook is active, nothing is cached, unless it says what it does: see `CacheableHook`.
        """
        return register(self._batch_activations_hooks, next(self._hook_ids), hook)

    @property
    def batch_hooks(self) -> list[BatchHook]:
        """The active batch hooks, in their order."""
        return list(self._batch_activations_hooks.values())

    def register_stimulus_set_hook(self, hook: StimulusSetHook) -> HookHandle[StimulusSetHook]:
        """Change every stimulus set before it is shown."""
        return register(self._stimulus_set_hooks, next(self._hook_ids), hook)

    def set_visual_degrees(self, visual_degrees: float) -> None:
        """Tell the extractor how wide the model's field of view is, in degrees."""
        self._visual_degrees = visual_degrees

    def insert_attrs(self, wrapper: Any) -> None:  # any object that takes attributes
        """Make the methods of this extractor methods of a wrapper object."""
        wrapper.from_stimulus_set = self.from_stimulus_set
        wrapper.from_paths = self.from_paths
        wrapper.register_batch_activations_hook = self.register_batch_activations_hook
        wrapper.register_stimulus_set_hook = self.register_stimulus_set_hook

    def _extraction(self, paths: list[str], layers: list[str], trials: Trials) -> Extraction:
        return Extraction(
            layers,
            len(paths),
            batches=partial(self._batches, paths, trials),
            model_parts=self.model_parts,
            stimuli_parts=partial(_stimuli_parts, paths, trials),
            stamp=partial(file_stamps, list(dict.fromkeys(paths))),
            about={"model": str(self.identifier), "first stimulus": paths[0]},
            notes=self._notes,
        )

    def model_parts(self) -> dict[str, Any]:  # plain values
        """Return what of a cache key belongs to the model; raise TypeError if a part of it is not known."""
        if not self.identifier:
            raise TypeError("the model has no identifier")
        if self.deviation_between_passes:
            raise TypeError("the model answers differently each time")
        if self.model_digest is None:
            raise TypeError("nothing says which model it is (model_digest)")
        with counted_files() as counted:
            given = self.model_digest()
            preprocessing = preprocessing_digest(self.preprocess)
        if unknown := self._opened.unknown(counted):
            raise NotDigestibleError(
                f"it reads {', '.join(unknown[:3])}{f' and {len(unknown) - 3} more files' if len(unknown) > 3 else ''} "
                "while it runs, which its code does not name. Read it when the model is made, or write its name there"
            )
        parts = {"model": given} if isinstance(given, str) else {f"model {name}": part for name, part in given.items()}
        return {
            **parts,
            "preprocessing": preprocessing,
            "batch size": self._batch_size,
            "reduction": [parts_of(hook) for hook in self.batch_hooks],
            **numerics(),
        }

    def _notes(self, layer: str) -> dict[str, Any]:  # plain values
        noted: dict[str, Any] = {}
        for hook in self.batch_hooks:
            if isinstance(hook, CacheableHook):
                noted.update(hook.notes(layer))
        return noted

    def _batches(
        self, paths: list[str], trials: Trials, layers: Sequence[str], first: int, stop: int
    ) -> Generator[Batch]:
        """Run the model on some of the files, batch by batch."""
        refuse_to_run(str(self.identifier), layers, stop - first)

        def prepare(start: int, end: int) -> tuple[int, object]:
            with self._opened.noticing(besides=paths[start:end]):
                return start, trials.show(self._preprocess_batch, paths[start:end], start)

        shown: dict[str, Any] = {"layers": list(layers), "trials": trials, "paths": paths}
        self._look_whether_steady(prepare, partial(self._run_model, **shown), first, stop)
        batches = run_batches(
            stop,
            prepare,
            partial(self._run_batch, **shown),
            batch_size=self._batch_size,
            first=first,
            describe=lambda index: f"stimulus {paths[index]!r}",
        )
        progress = tqdm(total=len(paths), initial=first, unit="stimuli", desc="activations", leave=False, disable=None)
        with unchanged_weights(self.weight_sums, self.identifier), closing(batches), progress:
            for batch in batches:
                yield batch
                progress.update(batch.stop - batch.start)

    def _look_whether_steady(
        self,
        prepare: Callable[[int, int], tuple[int, object]],
        run: Callable[[tuple[int, object]], Activations],
        first: int,
        stop: int,
    ) -> None:
        self.deviation_between_passes = {}
        if not self.check_steady:
            return
        found = deviation_between_passes(prepare, run, first, stop)
        self.deviation_between_passes = {layer: each for layer, each in found.items() if each > STEADY}
        if self.deviation_between_passes:
            layer, most = max(self.deviation_between_passes.items(), key=itemgetter(1))
            _logger.warning(
                "The model %r is not deterministic: two passes over the same stimuli differ by %.2g of the largest "
                "value (layer %s). Its activations are not cached. If that is intended, set stochastic=True of its "
                "extractor, for trials that differ and can be repeated.", self.identifier, most, layer,
            )  # fmt: skip

    def _run_model(
        self, shown: tuple[int, object], *, layers: list[str], trials: Trials, paths: list[str]
    ) -> Activations:
        start, inputs = shown
        with trials.randomness(start), self._opened.noticing(besides=paths):
            given = self.get_activations(inputs, layers)
        _check_layers(given, layers, self.identifier)
        return OrderedDict((layer, np.asarray(given[layer])) for layer in layers)

    def _run_batch(
        self, shown: tuple[int, object], *, layers: list[str], trials: Trials, paths: list[str]
    ) -> Activations:
        activations = self._run_model(shown, layers=layers, trials=trials, paths=paths)
        for hook in self.batch_hooks:
            activations = hook(activations)
        return activations

    def _preprocess_batch(self, paths: list[str]) -> object:
        return preprocess_files(self.preprocess, paths)


def _stimuli_parts(paths: list[str], trials: Trials) -> dict[str, Any]:  # plain values
    place = {path: index for index, path in enumerate(dict.fromkeys(paths))}
    try:
        digest = content_digest([Path(path) for path in place], [place[path] for path in paths])
    except FileNotFoundError:
        check_files(paths)  # names it
        raise
    return {"number of stimuli": len(paths), "stimuli": digest, "trials": trials.key}


def _require_ids(stimulus_set: StimulusSet) -> None:
    if "stimulus_id" not in stimulus_set.columns:
        columns = list(map(str, stimulus_set.columns))
        raise StimulusError(
            "The stimulus set has no column 'stimulus_id', by which its pictures are "
            f"found; it has {', '.join(columns) or 'none'}. Add it, with a text "
            "for each stimulus that no other has."
        )


def _layer_list(layers: Sequence[str] | None) -> list[str]:
    if layers is None:
        return ["logits"]
    names = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
    if not names:
        raise ValueError("The list of layers is empty; expected at least one, or None for the readout ('logits').")
    return names


class _GivenInStepsError(LayerNotFoundError):
    """Layers that were given step by step instead; `layers` are all to ask for, with the steps in their place."""

    def __init__(self, message: str, layers: list[str]) -> None:
        super().__init__(message)
        self.layers = layers


def _check_layers(activations: Mapping[str, npt.ArrayLike], layers: list[str], identifier: object) -> None:
    missing = [layer for layer in layers if layer not in activations]
    if not missing:
        return
    hint = did_you_mean(missing[0], activations) or " The forward pass may not reach that layer."
    message = f"Model {identifier!r} gave no activations for {missing}; it gave {list(activations)}.{hint}"
    steps = {layer: _steps_of(layer, activations) for layer in missing}
    if all(steps.values()):
        raise _GivenInStepsError(message, [step for layer in layers for step in steps.get(layer, [layer])])
    raise LayerNotFoundError(message)


def _steps_of(layer: str, given: Iterable[str]) -> list[str]:
    """Return those names that are steps of a layer, in the order of their numbers."""
    numbers = {name: name.removeprefix(f"{layer}-t") for name in given if name.startswith(f"{layer}-t")}
    return sorted((name for name, number in numbers.items() if number.isdecimal()), key=lambda name: int(numbers[name]))


def attach_stimulus_set_meta(
    assembly: NeuroidAssembly, stimulus_set: StimulusSet, number_of_trials: int = 1
) -> NeuroidAssembly:
    """Put the columns of a stimulus set on the presentations instead of ``stimulus_path``.

    Parameters
    ----------
    assembly : NeuroidAssembly (presentation, ...)
        One presentation for each trial of each row of the stimulus set, in the same order, with coordinate
        ``stimulus_path``; coordinates that tell trials apart are kept.
    stimulus_set : StimulusSet
        With a column ``stimulus_id``.
    number_of_trials : int
        Trials of each stimulus, side by side.

    Returns
    -------
    NeuroidAssembly
        Without attributes.

    Raises
    ------
    AssemblyError
        The presentations are not those of the stimulus set, or a column has the name of such a coordinate.
    """
    paths = [str(stimulus_set.get_stimulus(stimulus_id)) for stimulus_id in stimulus_set["stimulus_id"]]
    expected = [path for path in paths for _ in range(number_of_trials)]
    found = [str(path) for path in assembly["stimulus_path"].values]
    if expected != found:
        raise AssemblyError(
            f"The activations are for {len(found)} files and the stimulus set lists {len(expected)}; expected the same "
            "files in the same order."
        )
    trials = {name: assembly[name].values for name in TRIAL_COORDS if name in assembly.coords}
    columns = {str(name): stimulus_set[name].to_numpy().repeat(number_of_trials) for name in stimulus_set.columns}
    if taken := trials.keys() & columns.keys():
        raise AssemblyError(
            f"The stimulus set has columns {sorted(taken)}, which tell the trials of a model apart; rename them."
        )
    return add_presentation_coords(assembly, {**columns, **trials})
