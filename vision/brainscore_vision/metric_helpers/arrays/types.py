"""Name the types of arrays that kernels take and give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "ArrayLike", "Floats", "Indices", "Integers", "Labels", "NDArray", "Notes", "Splits"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]  # positions in an array
Labels = NDArray[Any]  # Any: names or numbers, whatever a coordinate holds
Integers = NDArray[np.int_]  # counts and labels
Notes = dict[str, Any]  # Any: entries for the attributes of a score, which hold anything
Splits = Sequence[tuple[ArrayLike, ArrayLike]]  # positions of the stimuli that train and that test, for every split
Array = Any  # Any: an array of NumPy or a tensor of torch, which have the operators that kernels use in common
