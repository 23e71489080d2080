"""Types of arrays that kernels take and return."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "ArrayLike", "Floats", "Indices", "Integers", "Labels", "NDArray", "Notes", "Splits"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]  # positions in an array
Labels = NDArray[Any]  # Any: names or numbers
Integers = NDArray[np.int_]  # counts and labels
Notes = dict[str, Any]  # Any: entries of score attributes
Splits = Sequence[tuple[ArrayLike, ArrayLike]]  # train and test positions of every split
Array = Any  # Any: a NumPy array or a torch tensor, which share the operators that kernels use
