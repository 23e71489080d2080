"""Save and restore the random numbers of Python, NumPy and PyTorch."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["random_state_as_before", "save_random_state"]


def save_random_state() -> Callable[[], None]:
    """Save the state of the global generators and return a function that restores it.

    They are those of `random`, `numpy.random` and, if PyTorch is imported, of its CPU and all GPUs in use.
    """
    python = random.getstate()
    legacy = np.random.get_state()  # noqa: NPY002 - the generator that networks use
    torch = sys.modules.get("torch")
    if torch is None:

        def restore_torch() -> None:
            pass
    else:
        cpu = torch.get_rng_state()
        gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None

        def restore_torch() -> None:
            torch.set_rng_state(cpu)
            if gpus:
                torch.cuda.set_rng_state_all(gpus)
            if mps is not None:
                torch.mps.set_rng_state(mps)

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002 - as above
        restore_torch()

    return restore


@contextmanager
def random_state_as_before(*, only_after_an_error: bool = False) -> Iterator[None]:
    """Restore the global generators after the block, see `save_random_state`."""
    restore = save_random_state()
    try:
        yield
    except BaseException:
        restore()
        raise
    if not only_after_an_error:
        restore()
