"""Mathematics of the metrics: pure functions of NumPy arrays in float64, stimuli on the first axis of responses.

============= ==================================================================================================
`regression`  fits and predictions for many splits: PLS, ridge, least squares, one to one
`geometry`    dissimilarities between stimuli, alignment of kernels
`behavior`    agreement of choices, patterns over objects
`reliability` repeatability of measurements and the ceilings that follow
`influence`   how stimuli, neuroids and answers move each of these
`tuning`      properties of single neurons
============= ==================================================================================================

`backend`, `column_blocks`, `correlation` and `seeds` serve all of them. The arithmetic of a single metric is in its
plugin. ``kernels()`` finds every function by its name, and ``dir()`` shows the modules.

Docstrings describe a parameter only where it differs from these conventions:

source : array-like, memory map or ColumnBlocks, shape (n_stimuli, n_features)
    Finite features of a model, or other predictors. Read block by block.
target : array-like, shape (n_stimuli, n_neuroids)
    Finite responses.
splits : sequence of (train, test)
    Positions of stimuli. Repeated training stimuli count repeatedly; ValueError if a training set is empty.
backend : str, Backend or None
    Where to compute; see `backend.resolve`.
seed : int
    Root of the seed tree; see `seeds`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["kernels"]


def kernels() -> dict[str, Callable[..., Any]]:  # of whatever their signatures say
    """Return every public function of these modules by its name, sorted; it imports all of them.

    Examples
    --------
    >>> kernels()["spearman_brown"].__module__.rpartition("metric_helpers.")[2]
    'arrays.reliability.split_half'
    """
    found: dict[str, Callable[..., Any]] = {}
    for place in pkgutil.walk_packages(__path__, f"{__name__}."):
        module = importlib.import_module(place.name)
        found |= {
            name: value for name in getattr(module, "__all__", ()) if inspect.isfunction(value := vars(module)[name])
        }
    return dict(sorted(found.items()))


def __dir__() -> list[str]:
    return sorted([*__all__, *(place.name for place in pkgutil.iter_modules(__path__))])
