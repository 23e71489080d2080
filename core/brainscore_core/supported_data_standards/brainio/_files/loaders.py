"""Read assemblies from files and attach the stimulus set that they were measured with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio._files.netcdf import list_groups, read_netcdf
from brainscore_core.supported_data_standards.brainio._index import coordinates
from brainscore_core.validation.standards import LEGACY_STIMULUS_ID, PRESENTATION, STIMULUS_ID

if TYPE_CHECKING:
    import xarray as xr


class AssemblyLoader:
    """Read one assembly of class ``cls`` from a netCDF file; see `read_netcdf`."""

    def __init__(
        self, cls: type[xr.DataArray], file_path: str | Path, group: str | None = None, memory_map: Path | None = None
    ) -> None:
        self.assembly_class = cls
        self.file_path = Path(file_path)
        self.group = group
        self.memory_map = memory_map

    def load(self) -> xr.DataArray:
        """Return the assembly; a coordinate ``image_id`` is renamed ``stimulus_id``."""
        assembly = read_netcdf(self.file_path, self.assembly_class, group=self.group, memory_map=self.memory_map)
        return self.correct_stimulus_id_name(assembly)

    def other_groups(self) -> list[str]:
        """Return the names of the other groups of the file."""
        return [name for name in list_groups(self.file_path) if name != self.group]

    @staticmethod
    def correct_stimulus_id_name(assembly: xr.DataArray) -> xr.DataArray:
        """Return the assembly with ``image_id``, the name in old files, renamed unless both exist."""
        if LEGACY_STIMULUS_ID not in assembly.coords or STIMULUS_ID in assembly.coords:
            return assembly
        coords = {
            STIMULUS_ID if name == LEGACY_STIMULUS_ID else name: coord
            for name, coord in coordinates.plain_coordinates(assembly).items()
        }
        return type(assembly)(
            assembly.values, coords=coords, dims=assembly.dims, name=assembly.name, attrs=assembly.attrs
        )


class StimulusReferenceAssemblyLoader(AssemblyLoader):
    """Read one assembly, with its stimulus set and that set's identifier in its ``attrs``."""

    def __init__(
        self,
        cls: type[xr.DataArray],
        file_path: str | Path,
        stimulus_set_identifier: str | None = None,
        stimulus_set: pd.DataFrame | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cls, file_path, **kwargs)
        self.stimulus_set_identifier = stimulus_set_identifier
        self.stimulus_set = stimulus_set

    def load(self) -> xr.DataArray:
        """Return the assembly with its stimulus set in ``attrs``."""
        assembly = super().load()
        assembly.attrs["stimulus_set_identifier"] = self.stimulus_set_identifier
        assembly.attrs["stimulus_set"] = self.stimulus_set
        return assembly


class StimulusMergeAssemblyLoader(StimulusReferenceAssemblyLoader):
    """Read one assembly and give its presentations the columns of the stimulus set as coordinates."""

    def load(self) -> xr.DataArray:
        """Return the assembly with its stimulus set in ``attrs`` and in its coordinates."""
        assembly = super().load()
        return assembly if self.stimulus_set is None else self.merge_stimulus_set_meta(assembly, self.stimulus_set)

    def merge_stimulus_set_meta(self, assy: xr.DataArray, stimulus_set: pd.DataFrame) -> xr.DataArray:
        """Return the assembly with a stimulus set's columns joined to its presentations by ``stimulus_id``.

        Presentations keep their order, existing coordinates their values; absent stimuli get missing values.
        """
        if STIMULUS_ID not in assy.coords or assy.coords[STIMULUS_ID].dims != (PRESENTATION,):
            raise AssemblyError(
                f"{self.file_path} has no coordinate {STIMULUS_ID!r} along {PRESENTATION!r}, by which to join the "
                f"stimulus set; it has {[str(name) for name in assy.coords]}. Load it with "
                "merge_stimulus_set_meta=False, or package it anew."
            )
        if STIMULUS_ID not in stimulus_set.columns:
            raise AssemblyError(f"The stimulus set has no column {STIMULUS_ID!r}; it has {list(stimulus_set.columns)}.")
        positions = self._rows(assy, stimulus_set)
        added = {
            str(column): (PRESENTATION, _take(stimulus_set[column], positions))
            for column in stimulus_set.columns
            if str(column) not in assy.coords and str(column) not in assy.dims
        }
        return assy.assign_coords(added) if added else assy

    def _rows(self, assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> npt.NDArray[np.intp]:
        keys = pd.Index(np.asarray(stimulus_set[STIMULUS_ID]))
        if not keys.is_unique:
            repeated = keys[keys.duplicated()].unique()[:5].tolist()
            raise AssemblyError(f"The stimulus set lists a {STIMULUS_ID} more than once: {repeated}.")
        stimulus_ids = coordinates.values_of(assembly, STIMULUS_ID)
        is_text = keys.dtype.kind in "OUS" or isinstance(keys.dtype, pd.StringDtype)
        if stimulus_ids.dtype.kind in "OUS" and not is_text:
            keys = keys.astype(str)  # a table read from text has numbers where the assembly has text
        return np.asarray(keys.get_indexer(pd.Index(stimulus_ids)), dtype=np.intp)


def _take(column: pd.Series[Any], positions: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return the values at some positions, missing ones at -1."""
    values = np.asarray(column.reset_index(drop=True).reindex(positions))
    is_text = values.dtype == object and values.size and all(isinstance(value, str) for value in values)
    return values.astype(str) if is_text else values
