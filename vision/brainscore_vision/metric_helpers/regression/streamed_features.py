"""Pass features to a metric that are larger than memory, or made block by block.

    features = StreamedFeatures(stimulus_ids, np.load("features.npy", mmap_mode="r"))
    score = load_metric("pls")(features, measurement)

They replace an assembly of features in cross-validated and fixed-split regression metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["StreamedFeatures"]


class StreamedFeatures:
    """Features of stimuli as a stream of blocks of columns, with the names of the stimuli.

    Parameters
    ----------
    features : ColumnBlocks, memory map or array, shape (n_stimuli, n_features)
        Finite. A memory map is read block by block; `ColumnBlocks` can also compute blocks.
    coords : dict or None
        Further coordinates of the stimuli, name -> values, such as `object_name`, which stratify the splits of reverse
        metrics.

    Examples
    --------
    >>> features = StreamedFeatures(["a", "b"], np.eye(2, 5))
    >>> features.shape
    (2, 5)
    """

    dims = Defaults.expected_dims

    def __init__(
        self,
        stimulus_ids: ArrayLike,
        features: ArrayLike | ColumnBlocks,
        *,
        coords: Mapping[str, ArrayLike] | None = None,
        neuroid_ids: ArrayLike | None = None,
    ) -> None:
        self.blocks = ColumnBlocks.of(features)
        self.shape = self.blocks.shape
        presentation, neuroid = self.dims
        named = {Defaults.stimulus_coord: (presentation, np.asarray(stimulus_ids))}
        named.update({name: (presentation, np.asarray(values)) for name, values in (coords or {}).items()})
        columns = np.arange(self.shape[1]) if neuroid_ids is None else np.asarray(neuroid_ids)
        named[Defaults.neuroid_coord] = (neuroid, columns)
        sizes = dict(zip(self.dims, self.shape, strict=True))
        wrong = [f"{name}: {len(values)}" for name, (dim, values) in named.items() if len(values) != sizes[dim]]
        if wrong:
            raise AssemblyError(f"Features of shape {self.shape} do not match their labels ({', '.join(wrong)}).")
        # Holds the coordinates; takes no memory.
        self.labels = xr.DataArray(np.broadcast_to(np.nan, self.shape), coords=named, dims=self.dims)

    def __repr__(self) -> str:
        """Return the numbers of stimuli and features."""
        return f"StreamedFeatures({self.shape[0]} stimuli x {self.shape[1]} features)"
