"""Run a model batch after batch, while the next batches are prepared in a thread."""

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

__all__ = ["AHEAD", "Batch", "BatchTooLargeError", "is_finite", "is_out_of_memory", "run_batches"]

AHEAD = 2
"""How many batches are prepared before they are needed; each takes memory."""

Inputs = Any  # whatever preprocessing returns and the model takes
Prepare = Callable[[int, int], Inputs]

# What frameworks and allocators say when memory is short and their exception has no class of its own.
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate memory")


class BatchTooLargeError(MemoryError):
    """The memory does not suffice for a batch; `size` is that of batches it does suffice for."""

    def __init__(self, batch_size: int, size: int) -> None:
        super().__init__(
            f"The memory does not suffice for {batch_size} stimuli at a time; going on with {size}, which "
            f"batch_size={size} asks for at once."
        )
        self.size = size


@dataclass(frozen=True)
class Batch:
    """What a model gave for the stimuli from `start` to before `stop`.

    Attributes
    ----------
    activations : mapping of str to array (stimulus, ...)
        By layer, ``stop - start`` entries on the first axis.
    """

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
    ahead: int = AHEAD,
) -> Generator[Batch]:
    """Give the activations of stimuli batch by batch, in order.

    Parameters
    ----------
    count : int
        Number of stimuli.
    prepare : callable
        ``prepare(start, stop)`` decodes and preprocesses the stimuli from `start` to before `stop`. It is called in
        one thread, batch after batch, up to `ahead` batches before they are needed. Its exceptions are raised here,
        where their batch would have come.
    run : callable
        ``run(inputs)`` returns arrays (stimulus, ...) by layer. It is called in the thread of the caller.
    batch_size : int
        Most stimuli in one batch.
    first : int
        The stimulus to begin with.
    describe : callable
        ``describe(index)`` names a stimulus in messages.
    ahead : int
        0 prepares every batch when it is needed, without a thread.

    Raises
    ------
    BatchTooLargeError
        The memory does not suffice for so many stimuli at a time, but for fewer.
    AssemblyError
        A layer gave another number of entries than there are stimuli, or a value that is NaN or infinite; the message
        names layer and stimulus.

    Notes
    -----
    Close the iterator (`contextlib.closing`) if it may be left before its end, so that the thread ends.
    """
    size = batch_size
    while True:
        # Of smaller batches one is enough, to see whether it fits.
        bounds = range(first, count if size == batch_size else first + size, size)
        try:
            with closing(_run_all(bounds, count, prepare, run, describe, ahead)) as batches:
                for batch in batches:
                    if size < batch_size:
                        break
                    yield batch
                    first = batch.stop
        except Exception as error:
            shown = min(size, count - first)
            if not is_out_of_memory(error):
                raise
            if shown == 1:
                error.add_note(f"The memory does not suffice for one stimulus, {describe(first)}.")
                raise
            size = shown // 2
        else:
            break
    if size < batch_size:
        raise BatchTooLargeError(batch_size, size)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception says that memory is short: of Python, NumPy, PyTorch on any device, ONNX or others."""
    if isinstance(error, MemoryError) or any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _OUT_OF_MEMORY)


def _run_all(
    starts: range,
    count: int,
    prepare: Prepare,
    run: Callable[[Inputs], Mapping[str, Array]],
    describe: Callable[[int], str],
    ahead: int,
) -> Generator[Batch]:
    bounds = [(start, min(start + starts.step, count)) for start in starts]
    with closing(_prepare_ahead(bounds, prepare, ahead) if ahead else _prepare_each(bounds, prepare)) as prepared:
        for (start, stop), inputs in zip(bounds, prepared, strict=True):
            activations = run(inputs)
            _check(activations, start, stop, describe)
            yield Batch(start, stop, activations)


def _prepare_each(bounds: Sequence[tuple[int, int]], prepare: Prepare) -> Generator[Inputs]:
    for start, stop in bounds:
        yield prepare(start, stop)


def _prepare_ahead(bounds: Sequence[tuple[int, int]], prepare: Prepare, ahead: int) -> Generator[Inputs]:
    """Prepare batches in a thread, at most `ahead` of them before they are asked for."""
    finished: SimpleQueue[tuple[Inputs, BaseException | None]] = SimpleQueue()
    allowed = threading.Semaphore(ahead)
    stopped = threading.Event()

    def work() -> None:
        for start, stop in bounds:
            allowed.acquire()
            if stopped.is_set():
                return
            try:
                finished.put((prepare(start, stop), None))
            except BaseException as error:  # noqa: BLE001 - it is raised in the thread that asks for the batch
                finished.put((None, error))
                return

    context = contextvars.copy_context()
    # A daemon, because nobody shall wait at the end of the process for pictures that nobody wants.
    thread = threading.Thread(target=context.run, args=(work,), name="brainscore-prepare", daemon=True)
    thread.start()
    try:
        for _ in bounds:
            inputs, error = finished.get()
            if error is not None:
                raise error
            yield inputs
            del inputs  # the next ones take its place in memory
            allowed.release()
    finally:
        stopped.set()
        allowed.release()
        thread.join(timeout=1)  # no longer: it may be at work on a slow batch, and Ctrl-C shall end at once


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
            kinds = " and ".join(
                name for name, test in (("NaN", np.isnan), ("infinity", np.isinf)) if test(values[place]).any()
            )
            raise AssemblyError(
                f"Layer {layer!r} gave values that are not finite ({kinds}) for {describe(start + place)} and for "
                f"{int((~finite).sum()) - 1} more of its batch. Look at the weights, the preprocessing and the "
                "precision of the model: half precision ends at 65,504."
            )


def is_finite(values: Array) -> bool:
    """Tell whether all values of an array are finite; whole numbers and text are."""
    if not np.issubdtype(values.dtype, np.inexact):
        return True
    with np.errstate(all="ignore"):
        # One sum is several times faster than testing every value, and NaN and infinity survive it.
        total = values.sum(dtype=np.float32 if values.dtype == np.float16 else None)
    return bool(np.isfinite(total)) or bool(np.isfinite(values).all())
