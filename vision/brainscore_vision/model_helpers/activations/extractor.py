"""Get activations of layers for stimuli: in batches, labelled and cached."""

from __future__ import annotations

import itertools
import logging
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, StimulusError
from brainscore_core.identity.digest import content_digest
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.identity.numerics import numerics
from brainscore_vision.identity.objects import NotDigestibleError, preprocessing_digest
from brainscore_vision.identity.sources import OpenedFiles, counted_files
from brainscore_vision.model_helpers.activations.batches import (
    BadImageError,
    BatchTooLargeError,
    GivenInStepsError,
    ImageBatch,
    Preprocessing,
    Shapes,
    check_files,
    check_layers,
    is_out_of_memory,
    layer_names,
    preprocess_files,
    run_batches,
    stimuli_axes,
    stimuli_first,
)
from brainscore_vision.model_helpers.activations.cache.switches import cache_wanted, refuse_to_run
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
from brainscore_vision.model_helpers.activations.packaging import (
    add_presentation_coords,
    attach_stimulus_set_meta,
    package,
    require_ids,
)
from brainscore_vision.model_helpers.activations.steadiness import (
    PROBE,
    STEADY,
    WeightSums,
    deviation_between_batches,
    deviation_between_passes,
    unchanged_weights,
)
from brainscore_vision.model_helpers.activations.trials import Trials, random_state_as_before

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a notebook without ipywidgets shows the bar as text, which is fine
    from tqdm.auto import tqdm  # a widget in a notebook

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_vision.model_helpers.activations.cache.layout import Recorded

__all__ = ["ActivationsExtractorHelper"]

_logger = logging.getLogger(__name__)

_Inputs = tuple[int, int, object]  # number of the first stimulus, number of stimuli, and input of the model

_PROGRESS_AFTER_S = 2


def _is_watched() -> bool:
    """Return whether to show a progress bar: as asked for, or by default at a terminal or in a notebook, not in CI."""
    asked = settings().progress
    return (sys.stderr.isatty() or "ipykernel" in sys.modules) and not settings().on_ci if asked is None else asked


class ActivationsExtractorHelper:
    """Call a model's function in batches and return labelled activations.

    Activations are cached if everything that changes them has a digest: stimulus files, preprocessing, layers and,
    through `model_digest`, the model.

    Parameters
    ----------
    get_activations
        ``get_activations(inputs, layer_names)`` returns a dict of layer name to array (input, ...), in order. The axis
        of the inputs may be another one, such as in sequence-first networks; see `stimuli_axes`.
    preprocessing
        Takes a list of paths and returns the inputs of one batch. None: the paths.
    identifier
        False: nothing is cached.
    batch_size
        Most stimuli in one call, halved with a warning while memory does not suffice.
    model_digest
        Returns a str that changes with weights, code and settings of the model, or several by name. None, or
        `TypeError`: the model has no digest.
    stochastic
        Whether the model is random by intent, such as through active dropout. Every trial is computed.
    seed
        From 0. The random numbers of Python, NumPy and PyTorch are seeded for each batch and restored after it.
    check_steady
        Whether two stimuli are first shown twice, to test if the model is deterministic.

    Attributes
    ----------
    deviation_between_passes
        By layer, the deviation between two passes of the first stimuli of the latest recording, relative to the largest
        absolute value. Deviating activations are not cached, with a warning, and have the largest deviation in their
        attribute of this name.
    weight_sums
        Returns numbers by name that change with the weights, such as ``partial(steadiness.weight_sums, module)``,
        compared before and after a recording.
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
        layers
            None: the readout, ``['logits']``.
        stimuli_identifier
            False: nothing is cached. Otherwise ignored: the content of the stimuli counts.
        number_of_trials
            Trials of each stimulus with `require_variance` or for a `stochastic` model; otherwise one.
        require_variance
            Whether the eye moves between trials; see `trials.microsaccades` and `trials.shift_images`.

        Returns
        -------
        NeuroidAssembly (presentation, neuroid)
            In the order of the stimuli, trials of a stimulus adjacent; see `from_stimulus_set` and `from_paths`. Trials
            that differ have the coordinates of `trials.Trials.coords`.

        Raises
        ------
        LayerNotFoundError
            The model has no layer of that name.
        StimulusError
            A stimulus cannot be decoded.
        ModelChangedError
            The model's weights changed meanwhile.
        AssemblyError
            A layer gave non-finite values, or not one entry for each stimulus.
        ConfigurationError
            `require_variance` is True without `set_visual_degrees`.
        """
        names = layer_names(layers)
        asked = self._asked(number_of_trials, require_variance=require_variance)
        if isinstance(stimuli, StimulusSet):
            return self.from_stimulus_set(stimuli, names, stimuli_identifier=stimuli_identifier, **asked)
        if hasattr(stimuli, "columns"):
            raise StimulusError(
                f"The stimuli are a table of type {type(stimuli).__name__}, which has no paths of pictures; expected "
                "a StimulusSet or a list of paths. Make one: StimulusSet(table), and set its stimulus_paths."
            )
        return self.from_paths(list(stimuli), names, stimuli_identifier=stimuli_identifier, **asked)

    def from_stimulus_set(
        self,
        stimulus_set: StimulusSet,
        layers: Sequence[str],
        stimuli_identifier: str | bool | None = None,
        require_variance: bool = False,
        *,
        number_of_trials: int = 1,
    ) -> NeuroidAssembly:
        """Return activations for a stimulus set, with its columns as coordinates; see `__call__`."""
        for hook in list(self._stimulus_set_hooks.values()):
            stimulus_set = hook(stimulus_set)
        require_ids(stimulus_set)
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
        """Return the activations for files, with coordinate ``stimulus_path``; see `__call__`.

        A repeated path is computed once. If `get_activations` returns a layer in steps, ``<layer>-t<step>``, as
        published wrappers of recurrent networks do, these replace the layer.
        """
        names = layer_names(layers)
        paths = [str(path) for path in stimuli_paths]
        trials = self._trials(number_of_trials, require_variance=bool(require_variance))
        # A random model differs between repeats.
        unique_paths = paths if self.stochastic else list(dict.fromkeys(paths))
        if not paths:
            raise StimulusError("The stimulus set is empty; expected at least one stimulus.")
        check_files(unique_paths)
        rows = None
        if len(unique_paths) < len(paths):
            place = {path: index for index, path in enumerate(unique_paths)}
            rows = [place[path] * trials.number + trial for path in paths for trial in range(trials.number)]
        use_cache = stimuli_identifier is not False and cache_wanted()
        presented = trials.repeat(unique_paths)
        recorded = None
        while recorded is None:
            try:
                recorded = extract(self._extraction(presented, names, trials), use_cache=use_cache, rows=rows)
            except GivenInStepsError as error:
                names = error.layers
            except BatchTooLargeError as error:
                # Restart with all stimuli: the batch size changes results and is in the key.
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
                "require_variance=True moves stimuli by fractions of a degree, but the width of the model's field of "
                "view is not set: call set_visual_degrees(<degrees>) of its extractor, as ModelCommitment does."
            )
        differ = require_variance or self.stochastic
        return Trials(
            int(number_of_trials) if differ else 1,
            visual_degrees=self._visual_degrees if require_variance else None,
            seed=self.seed if self.stochastic else None,
        )

    def _asked(self, number_of_trials: int, *, require_variance: bool) -> dict[str, Any]:
        trials = self._trials(number_of_trials, require_variance=require_variance)
        # Only what differs from the defaults: overridden methods may lack these arguments.
        asked: dict[str, Any] = {"number_of_trials": trials.number} if trials.number > 1 else {}
        return {**asked, "require_variance": True} if require_variance else asked

    def register_batch_activations_hook(self, hook: BatchHook) -> HookHandle[BatchHook]:
        """Change every batch's activations, arrays by layer; nothing is cached unless it is a `CacheableHook`."""
        return register(self._batch_activations_hooks, next(self._hook_ids), hook)

    @property
    def batch_hooks(self) -> list[BatchHook]:
        """The active batch hooks, in order."""
        return list(self._batch_activations_hooks.values())

    def register_stimulus_set_hook(self, hook: StimulusSetHook) -> HookHandle[StimulusSetHook]:
        """Change every stimulus set before showing it."""
        return register(self._stimulus_set_hooks, next(self._hook_ids), hook)

    def set_visual_degrees(self, visual_degrees: float) -> None:
        """Set the width of the field of view, degrees."""
        self._visual_degrees = visual_degrees

    def insert_attrs(self, wrapper: Any) -> None:  # any object that takes attributes
        """Give a wrapper object the methods of this extractor."""
        wrapper.from_stimulus_set = self.from_stimulus_set
        wrapper.from_paths = self.from_paths
        wrapper.register_batch_activations_hook = self.register_batch_activations_hook
        wrapper.register_stimulus_set_hook = self.register_stimulus_set_hook

    def _extraction(self, paths: list[str], layers: list[str], trials: Trials) -> Extraction:
        def stimuli_parts() -> dict[str, Any]:  # plain values
            place = {path: index for index, path in enumerate(dict.fromkeys(paths))}
            try:
                digest = content_digest([Path(path) for path in place], [place[path] for path in paths])
            except FileNotFoundError:
                check_files(paths)  # names it
                raise
            return {"number of stimuli": len(paths), "stimuli": digest, "trials": trials.key}

        return Extraction(
            layers,
            len(paths),
            batches=partial(self._batches, paths, trials),
            model_parts=self.model_parts,
            stimuli_parts=stimuli_parts,
            stamp=partial(file_stamps, list(dict.fromkeys(paths))),
            about={"model": str(self.identifier), "first stimulus": paths[0]},
            notes=self._notes,
        )

    def model_parts(self) -> dict[str, Any]:  # plain values
        """Return the model's parts of a cache key; TypeError if one has no digest."""
        if not self.identifier:
            raise TypeError("the model has no identifier")
        if self.deviation_between_passes:
            raise TypeError("the model answers differently each time")
        if self.model_digest is None:
            raise TypeError("nothing identifies the model (model_digest)")
        with counted_files() as counted:
            digest = self.model_digest()
            preprocessing = preprocessing_digest(self.preprocess)
        if unknown := self._opened.unknown(counted):
            raise NotDigestibleError(
                f"it reads {', '.join(unknown[:3])}{f' and {len(unknown) - 3} more files' if len(unknown) > 3 else ''} "
                "while it runs, which its code does not name. Read it when the model is made, or write its name there"
            )
        digests = {"": digest} if isinstance(digest, str) else digest
        parts = {f"model {name}".rstrip(): part for name, part in digests.items()}
        return {
            **parts,
            "preprocessing": preprocessing,
            "batch size": self._batch_size,
            "reduction": [parts_of(hook) for hook in self.batch_hooks],
            **numerics(),
        }

    def _notes(self, layer: str) -> dict[str, Any]:  # plain values
        notes: dict[str, Any] = {}
        for hook in self.batch_hooks:
            if isinstance(hook, CacheableHook):
                notes.update(hook.notes(layer))
        return notes

    def _batches(
        self, paths: list[str], trials: Trials, layers: Sequence[str], first: int, stop: int
    ) -> Generator[ImageBatch]:
        refuse_to_run(str(self.identifier), layers, stop - first)

        def prepare(start: int, end: int) -> _Inputs:
            with self._opened.noticing(besides=paths[start:end]):
                return start, end - start, trials.show(self._preprocess_batch, paths[start:end], start)

        shapes: Shapes = {}
        options: dict[str, Any] = {"layers": list(layers), "trials": trials, "paths": paths, "shapes": shapes}
        self._measure_steadiness(prepare, partial(self._run_model, **options), first, stop)
        batches = run_batches(
            stop,
            prepare,
            partial(self._run_batch, **options),
            batch_size=self._batch_size,
            first=first,
            describe=lambda index: f"stimulus {paths[index]!r}",
        )
        progress = tqdm(
            total=len(paths),
            initial=first,
            unit="stimuli",
            desc="activations",
            leave=False,
            delay=_PROGRESS_AFTER_S,
            disable=not _is_watched(),
        )
        with unchanged_weights(self.weight_sums, self.identifier), closing(batches), progress:
            for batch in batches:
                yield batch
                progress.update(batch.stop - batch.start)

    def _measure_steadiness(
        self,
        prepare: Callable[[int, int], _Inputs],
        run: Callable[[_Inputs], Activations],
        first: int,
        stop: int,
    ) -> None:
        self.deviation_between_passes = {}
        if not self.check_steady:
            return
        deviations = deviation_between_passes(prepare, run, first, stop)
        self.deviation_between_passes = {layer: value for layer, value in deviations.items() if value > STEADY}
        if self.deviation_between_passes:
            layer, most = max(self.deviation_between_passes.items(), key=itemgetter(1))
            _logger.warning(
                "The model %r is not deterministic: two passes over the same stimuli differ by %.2g of the largest "
                "value (layer %s). Its activations are not cached. If that is intended, set stochastic=True of its "
                "extractor, for trials that differ and can be repeated.", self.identifier, most, layer,
            )  # fmt: skip
        elif between := deviation_between_batches(prepare, run, first, min(stop, first + self._batch_size)):
            layer, most = max(between.items(), key=itemgetter(1))
            _logger.warning(
                "The answers of the model %r depend on the other stimuli of a batch, by %.2g of the largest value "
                "(layer %s): its score changes with batch size and order. Put it in evaluation mode, model.eval(), and "
                "let nothing average over a batch.", self.identifier, most, layer,
            )  # fmt: skip

    def _run_model(
        self, batch: _Inputs, *, layers: list[str], trials: Trials, paths: list[str], shapes: Shapes
    ) -> Activations:
        """Return the answer to a batch, with the stimuli on the first axis of each layer.

        If other axes are as long, or no batch of another size follows, one is shown once, of at most 3 stimuli;
        otherwise two layers of an LSTM look like two stimuli.
        """
        ask = partial(self._answer, layers=layers, trials=trials, paths=paths, shapes=shapes)
        answer, count = ask(batch), batch[1]
        is_ambiguous = any(len(stimuli_axes(of_layer)) > 1 for of_layer in shapes.values())
        # From three stimuli on, the test of steadiness compares two sizes.
        is_untested = self.check_steady and min(self._batch_size, len(paths)) <= PROBE
        is_only_size = all(len(of_layer) == 1 for of_layer in shapes.values()) and max(count, self._batch_size) > 1
        if is_only_size and (is_ambiguous or is_untested):
            other = PROBE if count != PROBE else PROBE + 1 if self._batch_size > PROBE else 1
            with random_state_as_before():
                try:
                    self._show_again(ask, other, trials, paths)
                except Exception:  # what normalises over a batch refuses a single stimulus
                    if other > 1:
                        raise
                    self._show_again(ask, PROBE + 1, trials, paths)
        return stimuli_first(answer, shapes, self.identifier)

    def _show_again(self, ask: Callable[[_Inputs], object], number: int, trials: Trials, paths: list[str]) -> None:
        """Ask for a batch of another size, of the first stimuli, repeated if there are fewer."""
        shown = [paths[place % len(paths)] for place in range(number)]
        ask((0, number, trials.show(self._preprocess_batch, shown, 0)))

    def _answer(
        self, batch: _Inputs, *, layers: list[str], trials: Trials, paths: list[str], shapes: Shapes
    ) -> Activations:
        """Return the answer to a batch as the model gives it, and note its shapes."""
        start, count, inputs = batch
        with trials.randomness(start), self._opened.noticing(besides=paths):
            try:
                answer = self.get_activations(inputs, layers)
            except Exception as error:  # of any framework
                if is_out_of_memory(error) or "CUDA" in str(error):
                    error.add_note(
                        f"Model {self.identifier!r} failed on a batch of {count} stimuli, from {paths[start]!r}. "
                        "Choose another device by BRAINSCORE_DEVICE, such as cuda:1 or cpu, or a smaller batch_size."
                    )
                raise
        check_layers(answer, layers, self.identifier)
        arrays = OrderedDict((layer, np.asarray(answer[layer])) for layer in layers)
        for layer, values in arrays.items():
            shapes.setdefault(layer, {})[count] = values.shape
        return arrays

    def _run_batch(self, batch: _Inputs, **options: Any) -> Activations:  # those of `_run_model`
        activations = self._run_model(batch, **options)
        for hook in self.batch_hooks:
            activations = hook(activations)
        return activations

    def _preprocess_batch(self, paths: list[str]) -> object:
        return preprocess_files(self.preprocess, paths)
