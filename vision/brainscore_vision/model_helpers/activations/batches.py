"""Run a model batch by batch, while a thread prepares the next, and check its inputs and answers."""

from __future__ import annotations

import contextvars
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import AssemblyError, LayerNotFoundError, MissingStimulusError, StimulusError, did_you_mean
from brainscore_vision.model_helpers.activations.images import load_image

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = [
    "AHEAD",
    "BadImageError",
    "BatchTooLargeError",
    "GivenInStepsError",
    "ImageBatch",
    "Preprocessing",
    "Shapes",
    "check_files",
    "check_layers",
    "is_finite",
    "is_out_of_memory",
    "layer_names",
    "preprocess_files",
    "run_batches",
    "stimuli_axes",
    "stimuli_first",
]

AHEAD = 2
"""Number of batches to prepare ahead; each takes memory."""

Inputs = Any  # result of the preprocessing
Prepare = Callable[[int, int], Inputs]

# Messages for lack of memory without an exception class.
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate memory")


class BatchTooLargeError(MemoryError):
    """The memory suffices only for batches of `size`."""

    def __init__(self, batch_size: int, size: int) -> None:
        super().__init__(
            f"The memory does not suffice for {batch_size} stimuli at a time; going on with {size}, which "
            f"batch_size={size} asks for at once."
        )
        self.size = size


@dataclass(frozen=True)
class ImageBatch:
    """The activations, arrays (stimulus, ...) by layer, of the stimuli from `start` to before `stop`."""

    start: int
    stop: int
    activations: Mapping[str, Array]


def run_batches(
    count: int,
    prepare: Prepare,
    run: Callable[[Inputs], Mapping[str, Array]],
    *,
    batch_size: int,
    first: int = 0,
    describe: Callable[[int], str],
) -> Generator[ImageBatch]:
    """Yield activations batch by batch, in order.

    Close the iterator (`contextlib.closing`) to end the thread early.

    Parameters
    ----------
    count
        Number of stimuli.
    prepare
        ``prepare(start, stop)`` preprocesses the stimuli from `start` to before `stop`, in one thread.
    run
        ``run(inputs)`` returns arrays (stimulus, ...) by layer, in the caller's thread.
    describe
        ``describe(index)`` names a stimulus in messages.

    Raises
    ------
    BatchTooLargeError
        See the class.
    AssemblyError
        A layer has the wrong number of entries, or a value that is not finite.
    """
    size = batch_size
    while True:
        # One batch of a smaller size shows whether it fits.
        bounds = range(first, count if size == batch_size else first + size, size)
        try:
            with closing(_run_all(bounds, count, prepare, run, describe)) as batches:
                for batch in batches:
                    if size < batch_size:
                        break
                    yield batch
                    first = batch.stop
        except Exception as error:
            attempted = min(size, count - first)
            if not is_out_of_memory(error):
                raise
            if attempted == 1:
                error.add_note(f"The memory does not suffice for one stimulus, {describe(first)}.")
                raise
            size = attempted // 2
        else:
            break
    if size < batch_size:
        raise BatchTooLargeError(batch_size, size)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether any framework's exception means lack of memory."""
    if isinstance(error, MemoryError) or any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _OUT_OF_MEMORY)


def _run_all(
    starts: range,
    count: int,
    prepare: Prepare,
    run: Callable[[Inputs], Mapping[str, Array]],
    describe: Callable[[int], str],
) -> Generator[ImageBatch]:
    bounds = [(start, min(start + starts.step, count)) for start in starts]
    with closing(_prepared(bounds, prepare)) as batches:
        for (start, stop), inputs in zip(bounds, batches, strict=True):
            activations = run(inputs)
            _check(activations, start, stop, describe)
            yield ImageBatch(start, stop, activations)


def _prepared(bounds: Sequence[tuple[int, int]], prepare: Prepare) -> Generator[Inputs]:
    finished: SimpleQueue[tuple[Inputs, BaseException | None]] = SimpleQueue()
    allowed = threading.Semaphore(AHEAD)
    stopped = threading.Event()

    def work() -> None:
        for start, stop in bounds:
            allowed.acquire()
            if stopped.is_set():
                return
            try:
                finished.put((prepare(start, stop), None))
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                finished.put((None, error))
                return

    context = contextvars.copy_context()
    # A daemon: the process's end must not wait for unused pictures.
    thread = threading.Thread(target=context.run, args=(work,), name="brainscore-prepare", daemon=True)
    thread.start()
    try:
        for _ in bounds:
            inputs, error = finished.get()
            if error is not None:
                raise error
            yield inputs
            del inputs  # frees memory for the next batch
            allowed.release()
    finally:
        stopped.set()
        allowed.release()
        thread.join(timeout=1)  # short: Ctrl-C then ends at once even during a slow batch


def _check(activations: Mapping[str, Array], start: int, stop: int, describe: Callable[[int], str]) -> None:
    for layer, values in activations.items():
        shape = np.shape(values)
        if not shape or shape[0] != stop - start:
            raise AssemblyError(
                f"Layer {layer!r} gave shape {shape} for {stop - start} stimuli; expected one entry for each stimulus "
                "on the first axis."
            )
        if not is_finite(values):
            finite = np.isfinite(values).reshape(stop - start, -1).all(axis=1)
            place = int(np.argmin(finite))
            if np.isnan(values).all():
                raise AssemblyError(
                    f"All values of layer {layer!r} are NaN, for all {stop - start} stimuli of a batch that starts "
                    f"with {describe(start)}. Look at the weights (a training that diverged) and at the preprocessing."
                )
            kinds = " and ".join(
                name for name, test in (("NaN", np.isnan), ("infinity", np.isinf)) if test(values[place]).any()
            )
            raise AssemblyError(
                f"Layer {layer!r} gave values that are not finite ({kinds}) for {describe(start + place)} and for "
                f"{int((~finite).sum()) - 1} more of its batch. Look at the weights, the preprocessing and the "
                "precision of the model: half precision ends at 65,504."
            )


def is_finite(values: Array) -> bool:
    """Tell whether all values are finite; integers and text are."""
    if not np.issubdtype(values.dtype, np.inexact):
        return True
    with np.errstate(all="ignore"):
        # NaN and infinity survive a sum, which is several times faster than testing every value.
        total = values.sum(dtype=np.float32 if values.dtype == np.float16 else None)
    return bool(np.isfinite(total)) or bool(np.isfinite(values).all())


# -- stimulus files ----------------------------------------------------------------------------------------------------
# Preprocess stimulus files, and name the file that fails.

Preprocessing = Callable[[list[str]], object]  # from paths to inputs of the model


class BadImageError(StimulusError):
    """A stimulus, with its path, cannot be decoded."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class _MissingFileError(BadImageError, MissingStimulusError):
    pass


def preprocess_files(preprocess: Preprocessing | None, paths: list[str]) -> object:
    """Return a model's inputs for files; the paths if `preprocess` is None."""
    if preprocess is None:
        return paths
    try:
        inputs = preprocess(paths)
    except (OSError, StimulusError):
        for path in paths:  # names the broken one
            try:
                load_image(path)
            except MissingStimulusError as error:  # deleted since the stimuli were listed
                raise _MissingFileError(str(error), path) from error
            except StimulusError as error:
                raise BadImageError(str(error), path) from error
        raise
    except Exception as error:
        if not is_out_of_memory(error):
            error.add_note(f"The preprocessing failed on {_first_failing(preprocess, paths)}.")
        raise
    _check_inputs(inputs, paths)
    return inputs


def check_files(paths: Sequence[str]) -> None:
    """Raise `MissingStimulusError`, as a `BadImageError`, if a file does not exist."""
    for path in paths:
        if not Path(path).is_file():
            raise _MissingFileError(
                f"The stimulus file {path!r} does not exist. Correct stimulus_paths, or load the stimulus set again.",
                path,
            )


def _first_failing(preprocess: Preprocessing, paths: list[str]) -> str:
    for path in paths:
        try:
            preprocess([path])
        except Exception:  # noqa: BLE001 - the first error is raised by the caller
            return f"stimulus {path!r}"
    return f"a batch of {len(paths)} stimuli from {paths[0]!r}, but not on any single one"


def _check_inputs(inputs: object, paths: list[str]) -> None:
    shape = (len(inputs),) if isinstance(inputs, (list, tuple)) else getattr(inputs, "shape", None)
    if shape is not None and (len(shape) == 0 or shape[0] != len(paths)):  # other inputs may be anything
        raise StimulusError(
            f"The preprocessing returned a {type(inputs).__name__} of shape {tuple(shape)} for {len(paths)} stimuli; "
            "expected one entry for each stimulus on the first axis."
        )
    if isinstance(inputs, np.ndarray) and not is_finite(inputs):
        bad = int(np.argmin(np.isfinite(inputs).reshape(len(paths), -1).all(axis=1)))
        raise BadImageError(
            f"The preprocessing made values that are not finite of {paths[bad]!r}. Check the file, and the divisors in "
            "the preprocessing.",
            paths[bad],
        )


# -- axis of the stimuli -----------------------------------------------------------------------------------------------
# Find the axis of a layer's output that counts the stimuli.
#
# Recurrent networks and sequence-first attention put steps, tokens or layers first: an LSTM's ``[1][0]`` is (layer,
# stimulus, unit). One batch cannot tell 2 stimuli from 2 layers, but two batches of different sizes can: only the axis
# of the stimuli follows both.

Shapes = dict[str, dict[int, tuple[int, ...]]]
"""By layer, the shape of its output for each number of stimuli in a batch."""


def stimuli_first(answer: Mapping[str, Array], shapes: Shapes, identifier: object) -> OrderedDict[str, Array]:
    """Move the axis of the stimuli to the front; `AssemblyError` if none, or several, follow the number of stimuli."""
    moved: OrderedDict[str, Array] = OrderedDict()
    for layer, values in answer.items():
        axes = stimuli_axes(shapes[layer])
        # Without other axes, one stimulus has the same values whichever axis of size 1 comes first.
        if not axes or (len(axes) > 1 and set(shapes[layer]) != {1}):
            seen = ", ".join(f"{shape} for {count} stimuli" for count, shape in shapes[layer].items())
            raise AssemblyError(
                f"Layer {layer!r} of model {identifier!r} gave shape {seen}; expected one entry for each stimulus on "
                "exactly one axis. Record another layer, or another part of its output, such as 'lstm[1][0]', or let a "
                "module of the model reshape it."
            )
        moved[layer] = np.ascontiguousarray(np.moveaxis(values, axes[0], 0)) if axes[0] else values
    return moved


def stimuli_axes(shapes: Mapping[int, tuple[int, ...]]) -> list[int]:
    """Return the axes that have one entry for each stimulus, whatever the number of stimuli in a batch."""
    if len({len(shape) for shape in shapes.values()}) > 1:
        return []
    return [axis for axis, sizes in enumerate(zip(*shapes.values(), strict=True)) if sizes == tuple(shapes)]


# -- requested layers --------------------------------------------------------------------------------------------------
# Check requested layers against those that a model gave.


def layer_names(layers: Sequence[str] | None) -> list[str]:
    """Return the names as a list without repeats; ``['logits']`` for None."""
    if layers is None:
        return ["logits"]
    names = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
    if not names:
        raise ValueError("The list of layers is empty; expected at least one, or None for the readout ('logits').")
    return names


class GivenInStepsError(LayerNotFoundError):
    """The model gave layers in steps; `layers` are those to ask for instead."""

    def __init__(self, message: str, layers: list[str]) -> None:
        super().__init__(message)
        self.layers = layers


def check_layers(activations: Mapping[str, object], layers: list[str], identifier: object) -> None:
    """Raise `LayerNotFoundError` if the activations of a model lack layers."""
    missing = [layer for layer in layers if layer not in activations]
    if not missing:
        return
    hint = did_you_mean(missing[0], activations) or " The forward pass may not reach that layer."
    message = f"Model {identifier!r} gave no activations for {missing}; it gave {list(activations)}.{hint}"
    steps = {}
    for layer in missing:
        numbers = {name: name.removeprefix(f"{layer}-t") for name in activations if name.startswith(f"{layer}-t")}
        ordered = sorted((int(number), name) for name, number in numbers.items() if number.isdecimal())
        steps[layer] = [name for _, name in ordered]
    if all(steps.values()):
        raise GivenInStepsError(message, [step for layer in layers for step in steps.get(layer, [layer])])
    raise LayerNotFoundError(message)
