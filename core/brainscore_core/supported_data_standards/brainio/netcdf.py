"""Write assemblies to netCDF files and read them back, refusing unsafe files."""

from __future__ import annotations

import itertools
import json
import logging
import re
import shutil
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from brainscore_core.errors import AssemblyError, CorruptFileError, listed
from brainscore_core.files import atomic_path, locked
from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio import _coordinates
from brainscore_core.validation.assemblies import check_alignment
from brainscore_core.validation.problem import errors_of
from brainscore_core.validation.standards import LEGACY_STIMULUS_ID, PRESENTATION, STIMULUS_ID

# -- netCDF files ------------------------------------------------------------------------------------------------------


Assembly = TypeVar("Assembly", bound=xr.DataArray)

VARIABLE = "data"
_MISSING_TEXT = "brainio_missing_text"
"""Attribute of a text coordinate: its text for a missing value."""
_COMPRESSION: dict[str, Any] = {"zlib": True, "complevel": 4, "shuffle": True}
_COMPRESS_FROM_BYTES = 1024
"""Compressing smaller variables makes files larger."""
_UNNAMEABLE = frozenset("/\0")
_BLOCK_BYTES = 64 * 2**20
"""Bytes held in memory while a memory map is written."""


def write_netcdf(
    assembly: xr.DataArray,
    target_netcdf_file: str | Path,
    append: bool = False,
    group: str | None = None,
    compress: bool = True,
) -> str:
    """Write an assembly to a netCDF4 file, whole or not at all, and return its SHA-1.

    The same assembly always gives the same bytes. Attrs that are None, data frames, labelled arrays or assemblies are
    left out. Raises `AssemblyError` if a netCDF file cannot hold a coordinate or an attribute.

    Parameters
    ----------
    append
        Add to an existing file instead of replacing it.
    group
        Group to write to, by default the root.
    compress
        Whether numbers are compressed (zlib, level 4, shuffled).
    """
    path = Path(target_netcdf_file)
    dataset = _to_dataset(assembly)
    encoding = _encoding(dataset) if compress else {}
    with atomic_path(path) as temporary:
        appending = append and path.exists()
        if appending:
            shutil.copyfile(path, temporary)
        dataset.to_netcdf(temporary, mode="a" if appending else "w", group=group, engine="h5netcdf", encoding=encoding)
    return file_digest(path, "sha1")


def read_netcdf(
    path: str | Path, cls: type[Assembly], group: str | None = None, *, memory_map: Path | None = None
) -> Assembly:
    """Read an assembly from a netCDF file, fully into memory unless ``memory_map`` is given.

    Parameters
    ----------
    path
        A netCDF4 file, or one in the classic format, with exactly one variable that is not a coordinate.
    group
        Group to read, by default the root.
    memory_map
        File of the uncompressed values, except text, written once and read on demand. Its name must identify the
        content. Changed values stay in memory.

    Raises
    ------
    CorruptFileError
        If the file is truncated, damaged or not netCDF.
    AssemblyError
        If it lacks the group, or does not hold exactly one variable.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist.")
    check_self_contained(path)
    groups = list_groups(path)
    if group is not None and group.strip("/").split("/")[0] not in groups:
        raise AssemblyError(f"{path} has no group {group!r}; it has {groups or 'none'}.")
    try:
        with xr.open_dataset(path, engine=_engine(path), group=group) as opened:
            if memory_map is not None:
                opened = _with_mapped_values(opened, memory_map)
            dataset = opened.load()
    except UNREADABLE as error:
        raise corrupt(path, error) from error
    names = list(dataset.data_vars)
    if len(names) != 1:
        raise AssemblyError(f"{path} holds {len(names)} variables {names}; an assembly has exactly one.")
    return _to_assembly(dataset[names[0]], cls)


def _with_mapped_values(dataset: xr.Dataset, target: Path) -> xr.Dataset:
    """Return the data set with its numbers mapped from ``target``, which is written unless complete."""
    replaced = {}
    for name, variable in dataset.data_vars.items():
        if variable.dtype.kind not in "biuf" or not variable.size:
            continue
        with locked(target):
            values = _mapped(target, variable)
            if values is None:
                with atomic_path(target) as temporary:
                    _copy_in_blocks(variable, temporary)
                values = _mapped(target, variable)
        replaced[name] = (variable.dims, values, variable.attrs)
    return dataset.assign(replaced)


def _mapped(target: Path, variable: xr.DataArray) -> npt.NDArray[Any] | None:
    try:
        # Copy on write: changes stay in this process.
        values: npt.NDArray[Any] = np.load(target, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return values if (values.shape, values.dtype) == (variable.shape, variable.dtype) else None


def _copy_in_blocks(variable: xr.DataArray, target: Path) -> None:
    mapped = np.lib.format.open_memmap(target, mode="w+", dtype=variable.dtype, shape=variable.shape)
    if variable.ndim == 0:
        mapped[...] = variable.values
    else:
        rows = max(1, _BLOCK_BYTES * len(variable) // variable.nbytes)
        for start in range(0, len(variable), rows):
            mapped[start : start + rows] = variable[start : start + rows].values
    mapped.flush()


def list_groups(path: str | Path) -> list[str]:
    """Return the names of the groups directly below the root."""
    import h5netcdf

    path = Path(path)
    if _engine(path) == "scipy":
        return []
    try:
        with h5netcdf.File(path, "r") as file:
            return sorted(str(name) for name in file.groups)
    except UNREADABLE as error:
        raise corrupt(path, error) from error


def _engine(path: Path) -> str:
    return "scipy" if is_classic(path) else "h5netcdf"


def _to_dataset(assembly: xr.DataArray) -> xr.Dataset:
    problems: list[str] = []
    attrs = {str(key): value for key, value in _storable_attrs(assembly.attrs, problems).items()}
    variables = {
        name: _storable(name, dims, values, problems)
        for name, (dims, values) in _coordinates.plain_coordinates(assembly).items()
    }
    problems += [
        f"{name!r}: names cannot contain a slash or a NUL; rename it."
        for name in variables
        if _UNNAMEABLE & set(str(name))
    ]
    data = _storable("the values", assembly.dims, assembly.values, problems)
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise AssemblyError(f"This {type(assembly).__name__} cannot be written to a netCDF file:\n{listed}")
    data.attrs.update(attrs)
    return xr.Dataset({VARIABLE: data}, coords=variables)


def _storable(name: Hashable, dims: tuple[Hashable, ...], values: npt.NDArray[Any], problems: list[str]) -> xr.Variable:
    attrs: dict[str, str] = {}
    encoding: dict[str, Any] = {}
    if values.dtype == object:
        values, attrs = _storable_objects(name, values, problems)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    elif values.dtype.kind in "Mm":
        values = _in_nanoseconds(name, values, problems)
        encoding = {"units": "nanoseconds", "dtype": "int64"}
        if values.dtype.kind == "M":
            encoding |= {"units": "nanoseconds since 1970-01-01", "calendar": "proleptic_gregorian"}
    elif values.dtype.kind not in "biufUS":
        problems.append(f"{name!s}: {values.dtype} has no netCDF type; convert it to numbers or text.")
    if values.dtype.kind == "U" and "\0" in "".join(values.ravel().tolist()):
        problems.append(f"{name!s}: contains text with a NUL, which would end the text in the file; remove it.")
    return xr.Variable(dims, values, attrs=attrs, encoding=encoding)


def _in_nanoseconds(name: Hashable, values: npt.NDArray[Any], problems: list[str]) -> npt.NDArray[Any]:
    """Return times in the unit that files hold; pandas prefers microseconds, which xarray would not convert."""
    converted: npt.NDArray[Any] = values.astype(f"{values.dtype.kind}8[ns]")
    same = converted.astype(values.dtype) == values
    if not np.all(same | np.isnat(values)):
        problems.append(
            f"{name!s}: {values[~same].ravel()[0]} is outside the range of nanoseconds in 64 bits (292 years from "
            "1970)."
        )
    return converted


def _storable_objects(
    name: Hashable, values: npt.NDArray[Any], problems: list[str]
) -> tuple[npt.NDArray[Any], dict[str, str]]:
    missing = np.asarray(pd.isna(values))
    if missing.all():
        return np.full(values.shape, np.nan), {}
    kinds = {type(value) for value in values[~missing].ravel()}
    if kinds <= {str, np.str_}:
        texts = set(values[~missing].ravel())
        # Other programs understand the empty text.
        candidates = itertools.chain(("", "nan"), (f"<missing {number}>" for number in itertools.count()))
        stand_in = next(text for text in candidates if text not in texts)
        filled = values.copy()
        filled[missing] = stand_in
        return filled.astype(str), {_MISSING_TEXT: stand_in} if missing.any() else {}
    if kinds <= {bool, np.bool_} and not missing.any():
        return values.astype(bool), {}
    if kinds <= {int, float, np.int64, np.float64, np.float32, np.int32}:
        filled = values.copy()
        filled[missing] = np.nan
        if missing.any() or kinds & {float, np.float64, np.float32}:
            return filled.astype(float), {}
        if all(_fits(value) for value in values.ravel()):
            return filled.astype(np.int64), {}
        problems.append(f"{name!s}: holds an integer beyond 64 bits; convert it to text or float.")
        return np.zeros(values.shape), {}
    type_names = ", ".join(sorted(kind.__name__ for kind in kinds))
    problems.append(
        f"{name!s}: holds objects of type {type_names}; convert them to one of text, numbers, bool or times."
    )
    return np.zeros(values.shape), {}


def _storable_attrs(attrs: Mapping[Any, Any], problems: list[str]) -> dict[Any, Any]:
    stored: dict[Any, Any] = {}
    for key, value in attrs.items():
        if value is None or isinstance(value, (pd.DataFrame, pd.Series, xr.DataArray, xr.Dataset)):
            continue
        if isinstance(value, (bool, np.bool_)):
            stored[key] = np.int8(value)  # netCDF has no truth values
        elif isinstance(value, (str, int, float, np.integer, np.floating)):
            stored[key] = value
            if isinstance(value, str) and "\0" in value:
                problems.append(f"attrs[{key!r}] is text with a NUL, which would end the text in the file; remove it.")
            elif isinstance(value, int) and not _fits(value):
                problems.append(f"attrs[{key!r}] is an integer beyond 64 bits; convert it to text.")
        elif isinstance(value, Path):
            stored[key] = str(value)
        elif _is_plain_list(value):
            stored[key] = value
        else:
            try:
                stored[key] = json.dumps(value, sort_keys=True)
            except (TypeError, ValueError):
                problems.append(
                    f"attrs[{key!r}] is a {type(value).__name__}; expected text, a number, or a list of them. "
                    "Convert or delete it."
                )
    return stored


def _fits(value: object) -> bool:
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _is_plain_list(value: object) -> bool:
    """Return whether a list is of numbers, or of text that HDF5 can hold; JSON holds others."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return False
    texts = [entry for entry in value if isinstance(entry, str)]
    if texts:
        return len(texts) == len(value) and "\0" not in "".join(texts)
    return np.asarray(value).dtype.kind in "iuf"


def _encoding(dataset: xr.Dataset) -> dict[Hashable, dict[str, Any]]:
    """Compress large variables that become smaller.

    HDF5 keeps text of variable length outside compressed chunks, but compresses characters of fixed length, which read
    as text too.
    """
    encoding: dict[Hashable, dict[str, Any]] = {}
    for name, variable in dataset.variables.items():
        if not variable.ndim or variable.nbytes < _COMPRESS_FROM_BYTES:
            continue
        if variable.dtype.kind in "biufMm":
            encoding[name] = dict(_COMPRESSION)
        elif variable.dtype.kind == "U":
            lengths = np.strings.str_len(variable.values)
            longest = int(lengths.max())
            # A few long texts among short ones would blow up the rest.
            if 0 < longest * lengths.size <= 16 * (int(lengths.sum()) + lengths.size):
                encoding[name] = {**_COMPRESSION, "shuffle": False, "dtype": "S1"}
    return encoding


def _to_assembly(array: xr.DataArray, cls: type[Assembly]) -> Assembly:
    coords = {}
    for name, (dims, values) in _coordinates.plain_coordinates(array).items():
        restored = _text(values)
        stand_in = array.coords[name].attrs.get(_MISSING_TEXT)
        if stand_in is not None:
            restored = restored.astype(object)
            restored[restored == stand_in] = np.nan
        coords[name] = (dims, restored)
    attrs = {key: value for key, value in array.attrs.items() if key != _MISSING_TEXT}
    name = None if array.name in (VARIABLE, "__xarray_dataarray_variable__") else array.name
    return cls(_text(array.values), coords=coords, dims=array.dims, name=name, attrs=attrs)


def _text(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype == object and values.size and all(isinstance(value, str) for value in values.ravel()):
        return values.astype(str)
    return values


UNREADABLE = (OSError, RuntimeError, KeyError, ValueError, TypeError)
"""Errors that h5py and HDF5 raise for damaged files."""

_CLASSIC = b"CDF"  # start of files of the classic netCDF format, which refer to nothing
_CLAIM_FROM_BYTES = 2**30
_CLAIM_MOST = 2000  # deflate shrinks a file at most 1032 times


def check_self_contained(path: str | Path) -> None:
    """Refuse a netCDF4 (HDF5) file whose values lie in other files, or that would fill the memory with nothing.

    HDF5 can link to other files' data sets, take values from any file's raw bytes, and assemble virtual data sets, so
    an outside file could make us read files of this machine, even if something precedes its signature.
    """
    import h5py  # not needed to fetch

    path = Path(path)
    if is_classic(path):
        return
    problems: list[str] = []
    sizes: dict[str, int] = {}
    try:
        with h5py.File(path, "r") as file:
            _check_group(file, problems, sizes, set())
    except UNREADABLE as error:
        raise corrupt(path, error) from error
    claimed_bytes, file_bytes = sum(sizes.values()), path.stat().st_size
    if claimed_bytes > max(_CLAIM_FROM_BYTES, _CLAIM_MOST * file_bytes):
        largest = max(sizes, key=lambda name: sizes[name])
        others = "" if sizes[largest] > _CLAIM_FROM_BYTES else f" (all {len(sizes)} together {claimed_bytes})"
        problems.append(f"{largest!r} claims to hold {sizes[largest]} bytes{others}, in a file of {file_bytes}")
    if problems:
        raise CorruptFileError(f"{path} is not read, because it is not safe:{listed(problems)}")


def is_classic(path: Path) -> bool:
    """Return whether a file is in the classic format, which is not HDF5."""
    with path.open("rb") as stream:
        return stream.read(len(_CLASSIC)) == _CLASSIC


def corrupt(path: Path, error: Exception) -> CorruptFileError:
    """Return the error that says that a file is truncated, damaged or not netCDF."""
    return CorruptFileError(
        f"{path} ({path.stat().st_size} bytes) is truncated or not a netCDF file: {error}. Delete it and fetch or "
        "write it again."
    )


def _check_group(group: Any, problems: list[str], sizes: dict[str, int], seen: set[Any]) -> None:
    """Note problems, and how many bytes each data set claims to hold."""
    import h5py

    if group.id.__hash__() in seen:  # groups may contain each other
        return
    seen.add(group.id.__hash__())
    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
            problems.append(f"{group.name}: {name!r} is a link to another file")
            continue
        item = group.get(name)
        if isinstance(item, h5py.Group):
            _check_group(item, problems, sizes, seen)
        elif isinstance(item, h5py.Dataset):
            if item.external:
                problems.append(f"{item.name!r} takes its values from another file")
            elif item.is_virtual:
                problems.append(f"{item.name!r} is put together from other files")
            sizes[str(item.name)] = (item.size or 0) * item.dtype.itemsize


# -- assemblies with their stimulus sets -------------------------------------------------------------------------------
#
# Read assemblies from files and attach the stimulus set that they were measured with.


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
            for name, coord in _coordinates.plain_coordinates(assembly).items()
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
                f"{self.file_path} has no coordinate {STIMULUS_ID!r} along {PRESENTATION!r} to join the stimulus set "
                f"by; it has {[str(name) for name in assy.coords]}. Load it with merge_stimulus_set_meta=False, or "
                "package it again."
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
        stimulus_ids = _coordinates.values_of(assembly, STIMULUS_ID).tolist()
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
                f"({_examples(candidates)}) differ in type and do not match one to one, neither as texts nor as "
                "numbers. Package both with the same texts, for example with astype(str)."
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
