"""Read assemblies from files and attach the stimulus set that they were measured with."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio._files.netcdf import list_groups, read_netcdf
from brainscore_core.supported_data_standards.brainio._index import coordinates
from brainscore_core.validation.assemblies import check_alignment
from brainscore_core.validation.problem import errors_of
from brainscore_core.validation.standards import LEGACY_STIMULUS_ID, PRESENTATION, STIMULUS_ID

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

logger = logging.getLogger(__name__)

_EXAMPLES = 5
_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)


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

        Presentations keep their order, existing coordinates their values; absent stimuli get missing values, with a
        warning. Identifiers of another type than the set's (7 and ``'007'``) become the set's.

        Raises
        ------
        AssemblyError
            No stimulus is in the set, or identifiers of different types are not one to one, such as 7 in the assembly
            and ``'7'``, ``'007'`` in the set.
        """
        if STIMULUS_ID not in assy.coords or assy.coords[STIMULUS_ID].dims != (PRESENTATION,):
            raise AssemblyError(
                f"{self.file_path} has no coordinate {STIMULUS_ID!r} along {PRESENTATION!r}, by which to join the "
                f"stimulus set; it has {[str(name) for name in assy.coords]}. Load it with "
                "merge_stimulus_set_meta=False, or package it anew."
            )
        if STIMULUS_ID not in stimulus_set.columns:
            raise AssemblyError(f"The stimulus set has no column {STIMULUS_ID!r}; it has {list(stimulus_set.columns)}.")
        assy, positions = self._rows(assy, stimulus_set)
        added = {
            str(column): (PRESENTATION, _take(stimulus_set[column], positions))
            for column in stimulus_set.columns
            if str(column) not in assy.coords and str(column) not in assy.dims
        }
        return assy.assign_coords(added) if added else assy

    def _rows(self, assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> tuple[xr.DataArray, npt.NDArray[np.intp]]:
        """Return the assembly with the set's own identifiers, and the row of each presentation, -1 if absent."""
        keys = np.asarray(stimulus_set[STIMULUS_ID]).tolist()
        rows = {key: row for row, key in enumerate(keys)}
        if len(rows) < len(keys):
            repeated = [key for key, count in Counter(keys).items() if count > 1][:_EXAMPLES]
            raise AssemblyError(f"The stimulus set lists a {STIMULUS_ID} more than once: {repeated}.")
        stimulus_ids = coordinates.values_of(assembly, STIMULUS_ID).tolist()
        unknown = [one for one in dict.fromkeys(stimulus_ids) if one not in rows]
        key_of = {}
        if unknown and _are_texts(unknown) != _are_texts(keys):
            key_of = self._keys_of_other_type(dict.fromkeys(stimulus_ids), keys)
        positions = np.asarray([rows.get(key_of.get(one, one), -1) for one in stimulus_ids], dtype=np.intp)
        if key_of:
            set_ids = _take(stimulus_set[STIMULUS_ID], positions)
            assembly = assembly.assign_coords({STIMULUS_ID: (PRESENTATION, set_ids)})
        for problem in errors_of(check_alignment(assembly, stimulus_set)) if unknown else ():
            if (positions < 0).all():
                raise AssemblyError(f"{self.file_path}: {problem}.")
            logger.warning("%s: %s.", self.file_path, problem)
        return assembly, positions

    def _keys_of_other_type(self, stimulus_ids: Iterable[Any], keys: Sequence[Any]) -> dict[Any, Any]:
        """Return the key that each identifier is in another type; `AssemblyError` if they are not one to one."""
        by_reading = {_reading(key): key for key in keys}
        key_of = {one: by_reading.get(_reading(one)) for one in stimulus_ids}
        times = Counter(map(_reading, [*keys, *key_of]))
        wrong = [one for one in key_of if times[_reading(one)] != 2]
        if wrong:
            candidates = [key for key in keys if times[_reading(key)] > 2] or keys
            raise AssemblyError(
                f"The {STIMULUS_ID} in {self.file_path} ({_examples(wrong)}) and in its stimulus set "
                f"({_examples(candidates)}) differ in type, and neither as texts nor as numbers does each belong to "
                "one of the other side. Package both with the same texts, see astype(str)."
            )
        return key_of


def _are_texts(identifiers: Iterable[Any]) -> set[bool]:
    return {isinstance(identifier, str) for identifier in identifiers}


def _reading(identifier: Any) -> str | Decimal:
    """Return a number exactly, also if it is written as text, and any other identifier as text."""
    text = str(identifier)
    return Decimal(text) if _NUMBER.fullmatch(text) else text


def _examples(identifiers: Sequence[Any]) -> str:
    types = sorted({type(identifier).__name__ for identifier in identifiers})
    return f"{' and '.join(types)}, such as {', '.join(map(repr, identifiers[:_EXAMPLES]))}"


def _take(column: pd.Series[Any], positions: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return the values at some positions, missing ones at -1."""
    values = np.asarray(column.reset_index(drop=True).reindex(positions))
    is_text = values.dtype == object and values.size and all(isinstance(value, str) for value in values)
    return values.astype(str) if is_text else values
