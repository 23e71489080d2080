"""Run a model batch by batch, while a thread prepares the next."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import AssemblyError

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["AHEAD", "BatchTooLargeError", "ImageBatch", "is_finite", "is_out_of_memory", "run_batches"]

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
        thread.join(timeout=1)  # short, so that Ctrl-C ends at once even during a slow batch


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
