"""Get the activations of a model's layers for stimuli: in batches, labelled and cached."""

from __future__ import annotations

import itertools
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from brainscore_core.caching import cached_file, content_digest
from brainscore_core.errors import AssemblyError, LayerNotFoundError, MissingStimulusError, StimulusError, did_you_mean
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.model_helpers.activations.cache import CACHE_FORMAT, cache_wanted, read_entry, write_entry
from brainscore_vision.model_helpers.activations.digests import preprocessing_digest
from brainscore_vision.model_helpers.activations.images import load_image
from brainscore_vision.model_helpers.activations.packaging import Array, add_presentation_coords, package_layers

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = ["ActivationsExtractorHelper", "HookHandle", "attach_stimulus_set_meta"]

_logger = logging.getLogger(__name__)

Activations = Mapping[str, Array]  # by layer
Preprocessing = Callable[[list[str]], object]  # from paths to what the model takes
BatchHook = Callable[[Activations], Activations]
StimulusSetHook = Callable[[StimulusSet], StimulusSet]
Hook = TypeVar("Hook", bound=Callable[..., object])


class HookHandle(Generic[Hook]):
    """Remove a registered hook again, or switch it off for a while."""

    def __init__(self, hooks: dict[int, Hook], hook_id: int) -> None:
        self.id = hook_id
        self._hooks = hooks
        self._saved: Hook | None = None

    def remove(self) -> Hook:
        """Remove the hook and return it."""
        return self._hooks.pop(self.id)

    def disable(self) -> None:
        """Switch the hook off until `enable`."""
        self._saved = self.remove()

    def enable(self) -> None:
        """Switch a disabled hook on again."""
        if self._saved is not None:
            self._hooks[self.id] = self._saved
            self._saved = None


class ActivationsExtractorHelper:
    """Call a model's own function in batches and return labelled activations.

    Activations are cached by content if all that changes them is known: the files of the stimuli, the preprocessing,
    the layers and, through `model_digest`, the model. Otherwise they are computed at every call.
    A model that is random gives its first answer again from the cache; call it inside `without_cache` for new ones.

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
        Most stimuli in one call.
    model_digest : callable or None
        Takes no arguments and returns a str that changes with everything in the model that changes its activations
        (weights, code, settings), or raises `TypeError` if that is not known. None: it is not known.
    """

    def __init__(
        self,
        get_activations: Callable[..., Mapping[str, npt.ArrayLike]],
        preprocessing: Preprocessing | None,
        identifier: str | bool = False,
        batch_size: int = 64,
        *,
        model_digest: Callable[[], str] | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; expected at least 1.")
        self.identifier = identifier
        self.get_activations = get_activations
        self.preprocess = preprocessing
        self.model_digest = model_digest
        self._batch_size = batch_size
        self._visual_degrees: float | None = None
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
            How often each stimulus is shown. A model answers the same every time, so that it is shown once.

        Returns
        -------
        NeuroidAssembly (presentation, neuroid)
            In the order of the stimuli; see `from_stimulus_set` and `from_paths`.

        Raises
        ------
        LayerNotFoundError
            The model has no layer of that name.
        StimulusError
            A stimulus cannot be decoded.
        NotImplementedError
            `require_variance` is True.
        """
        if require_variance:
            raise NotImplementedError(
                "require_variance=True asks for trials that differ (microsaccades), which is not available. Ask "
                f"without it: the {number_of_trials} trials of a deterministic model are all the same."
            )
        layer_names = _layer_list(layers)
        if isinstance(stimuli, StimulusSet):
            return self.from_stimulus_set(stimuli, layer_names, stimuli_identifier=stimuli_identifier)
        return self.from_paths(list(stimuli), layer_names, stimuli_identifier=stimuli_identifier)

    def from_stimulus_set(
        self,
        stimulus_set: StimulusSet,
        layers: Sequence[str],
        stimuli_identifier: str | bool | None = None,
        require_variance: bool = False,
    ) -> NeuroidAssembly:
        """Return the activations for a stimulus set, with its columns as coordinates of ``presentation``.

        The parameters are those of `__call__`.
        """
        for hook in list(self._stimulus_set_hooks.values()):
            stimulus_set = hook(stimulus_set)
        stimulus_ids = stimulus_set["stimulus_id"].tolist()
        paths = [str(stimulus_set.get_stimulus(stimulus_id)) for stimulus_id in stimulus_ids]
        try:
            activations = self.from_paths(
                paths, layers, stimuli_identifier=stimuli_identifier, require_variance=require_variance
            )
        except _BadImageError as error:
            stimulus_id = stimulus_ids[paths.index(error.path)]
            raise type(error)(f"Stimulus {stimulus_id!r}: {error}", error.path) from error
        return attach_stimulus_set_meta(activations, stimulus_set)

    def from_paths(
        self,
        stimuli_paths: Sequence[str | Path],
        layers: Sequence[str],
        stimuli_identifier: str | bool | None = None,
        require_variance: bool | None = None,  # noqa: ARG002 - models that override this method pass it on
    ) -> NeuroidAssembly:
        """Return the activations for files, with ``stimulus_path`` as the coordinate of ``presentation``.

        A path that occurs several times is computed once. The parameters are those of `__call__`.
        """
        layer_names = _layer_list(layers)
        paths = [str(path) for path in stimuli_paths]
        unique_paths = list(dict.fromkeys(paths))
        if not paths:
            raise StimulusError("There are no stimuli to show; expected at least one.")
        _check_files(unique_paths)
        activations = self._activations_of(unique_paths, layer_names, use_cache=stimuli_identifier is not False)
        if len(unique_paths) < len(paths):
            place = {path: index for index, path in enumerate(unique_paths)}
            rows = np.asarray([place[path] for path in paths])
            activations = {layer: values[rows] for layer, values in activations.items()}
        return package_layers(activations, paths, str(self.identifier) if self.identifier else "")

    def register_batch_activations_hook(self, hook: BatchHook) -> HookHandle[BatchHook]:
        """Change the activations of every batch, arrays by layer; while such a hook is active, nothing is cached."""
        return _register(self._batch_activations_hooks, next(self._hook_ids), hook)

    def register_stimulus_set_hook(self, hook: StimulusSetHook) -> HookHandle[StimulusSetHook]:
        """Change every stimulus set before it is shown."""
        return _register(self._stimulus_set_hooks, next(self._hook_ids), hook)

    def set_visual_degrees(self, visual_degrees: float) -> None:
        """Tell the extractor how wide the model's field of view is, in degrees."""
        self._visual_degrees = visual_degrees

    def insert_attrs(self, wrapper: Any) -> None:  # any object that takes attributes
        """Make the methods of this extractor methods of a wrapper object."""
        wrapper.from_stimulus_set = self.from_stimulus_set
        wrapper.from_paths = self.from_paths
        wrapper.register_batch_activations_hook = self.register_batch_activations_hook
        wrapper.register_stimulus_set_hook = self.register_stimulus_set_hook

    def _activations_of(self, paths: list[str], layers: list[str], *, use_cache: bool) -> Activations:
        key_parts = self._cache_key(paths) if use_cache and cache_wanted() else None
        if key_parts is None:
            return self._compute(paths, layers)
        computed: dict[str, Array] = {}

        def compute(layer: str) -> Array:
            if layer not in computed:
                # One forward pass gives this layer and all that were not found so far.
                computed.update(self._compute(paths, layers[layers.index(layer) :]))
            return computed[layer]

        return {
            layer: cached_file(
                "activations",
                content_digest(key_parts, layer),
                ".npz",
                write=write_entry,
                read=partial(read_entry, n_stimuli=len(paths)),
                compute=partial(compute, layer),
            )
            for layer in layers
        }

    def _cache_key(self, paths: list[str]) -> str | None:
        """Return a digest of all that changes activations except the layer; None if it is not known."""
        if not self.identifier or self.model_digest is None or self._batch_activations_hooks:
            return None
        try:
            return content_digest(
                CACHE_FORMAT,
                self.model_digest(),
                preprocessing_digest(self.preprocess),
                self._batch_size,
                [Path(path) for path in paths],
            )
        except TypeError as error:  # NotDigestibleError is one, and so is what content_digest raises
            _logger.debug("Activations of %s are not cached: %s", self.identifier, error)
            return None

    def _compute(self, paths: list[str], layers: list[str]) -> dict[str, Array]:
        """Run the model on all files; one array per layer, filled batch by batch."""
        result: dict[str, Array] = {}
        starts = range(0, len(paths), self._batch_size)
        with tqdm(total=len(paths), unit="stimuli", desc="activations", leave=False, disable=None) as progress:
            for start in starts:
                batch = self._compute_batch(paths[start : start + self._batch_size], layers)
                for layer in layers:
                    values = np.asarray(batch[layer])
                    if layer not in result:
                        result[layer] = np.empty((len(paths), *values.shape[1:]), dtype=values.dtype)
                    result[layer][start : start + len(values)] = values
                progress.update(min(self._batch_size, len(paths) - start))
        return result

    def _compute_batch(self, paths: list[str], layers: list[str]) -> Activations:
        given = self.get_activations(self._preprocess_batch(paths), layers)
        _check_batch(given, layers, len(paths), self.identifier)
        activations: Activations = OrderedDict((layer, np.asarray(given[layer])) for layer in layers)
        for hook in list(self._batch_activations_hooks.values()):
            activations = hook(activations)
        return activations

    def _preprocess_batch(self, paths: list[str]) -> object:
        if self.preprocess is None:
            return paths
        try:
            return self.preprocess(paths)
        except (OSError, StimulusError):
            for path in paths:
                _check_image(path)  # names the file if it is a stimulus that is broken
            raise


def _register(hooks: dict[int, Hook], hook_id: int, hook: Hook) -> HookHandle[Hook]:
    hooks[hook_id] = hook
    return HookHandle(hooks, hook_id)


class _BadImageError(StimulusError):
    """A stimulus that cannot be decoded, with its path."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class _MissingFileError(_BadImageError, MissingStimulusError):
    """A stimulus file that does not exist, with its path."""


def _check_files(paths: Sequence[str]) -> None:
    for path in paths:
        if not Path(path).is_file():
            raise _MissingFileError(
                f"The stimulus file {path!r} does not exist. Correct stimulus_paths, or load the stimulus set again.",
                path,
            )


def _check_image(path: str) -> None:
    try:
        load_image(path)
    except StimulusError as error:
        raise _BadImageError(str(error), path) from error


def _layer_list(layers: Sequence[str] | None) -> list[str]:
    if layers is None:
        return ["logits"]
    names = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
    if not names:
        raise ValueError("The list of layers is empty; expected at least one, or None for the readout ('logits').")
    return names


def _check_batch(
    activations: Mapping[str, npt.ArrayLike], layers: list[str], n_inputs: int, identifier: object
) -> None:
    missing = [layer for layer in layers if layer not in activations]
    if missing:
        hint = did_you_mean(missing[0], activations) or " The forward pass may not reach that layer."
        raise LayerNotFoundError(
            f"Model {identifier!r} gave no activations for {missing}; it gave {list(activations)}.{hint}"
        )
    for layer in layers:
        shape = np.shape(activations[layer])
        if not shape or shape[0] != n_inputs:
            raise AssemblyError(
                f"Layer {layer!r} of model {identifier!r} gave shape {shape} for {n_inputs} stimuli; expected one "
                "entry for each stimulus on the first axis."
            )


def attach_stimulus_set_meta(assembly: NeuroidAssembly, stimulus_set: StimulusSet) -> NeuroidAssembly:
    """Put the columns of a stimulus set on the presentations instead of ``stimulus_path``.

    Parameters
    ----------
    assembly : NeuroidAssembly (presentation, ...)
        One presentation for each row of the stimulus set, in the same order, with coordinate ``stimulus_path``.
    stimulus_set : StimulusSet
        With a column ``stimulus_id``.

    Returns
    -------
    NeuroidAssembly
        Without attributes.

    Raises
    ------
    AssemblyError
        The presentations are not those of the stimulus set.
    """
    expected = [str(stimulus_set.get_stimulus(stimulus_id)) for stimulus_id in stimulus_set["stimulus_id"]]
    found = [str(path) for path in assembly["stimulus_path"].values]
    if expected != found:
        raise AssemblyError(
            f"The activations are for {len(found)} files and the stimulus set lists {len(expected)}; expected the same "
            "files in the same order."
        )
    return add_presentation_coords(
        assembly, {str(name): stimulus_set[name].to_numpy() for name in stimulus_set.columns}
    )
