"""Convert values between judge and candidate to JSON and plain arrays, and back without trust.

A value is one of: None, bool, int, float, str; a list, tuple, or dict with str keys, of values; a NumPy array of
`DTYPES` or of texts, or a one-dimensional one of objects that are scalars; a `pandas.DataFrame` (categories
without entries are lost); an assembly. All else raises `ProtocolError`, on either side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from pydantic import TypeAdapter

from brainscore_core.errors import CorruptFileError, ProtocolError
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    NeuroidAssembly,
    walk_coords,
)
from brainscore_core.untrusted import Name, Untrusted, at_most, checked, shown

__all__ = ["DTYPES", "Announced", "Coordinate", "longest_text", "pack", "planned"]

_BITS = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}
DTYPES = frozenset(np.dtype(f"{kind}{bits}").str for kind in _BITS for bits in _BITS[kind]) | {np.dtype(bool).str}
"""Array types besides texts, in NumPy's notation."""

_TEXT = re.compile(r"<U([1-9][0-9]{0,4})")
_MOST_TEXT = 20_000  # characters of one text in an array
_MOST_DEPTH = 12
_LABEL_BYTES, _CODE_BYTES = 64, 16  # of a label that is an object, without its characters; of its number in an index
_KINDS: dict[str, type[xr.DataArray]] = {
    "NeuroidAssembly": NeuroidAssembly,
    "BehavioralAssembly": BehavioralAssembly,
    "DataAssembly": DataAssembly,
    "DataArray": xr.DataArray,
}
_COLUMN_TYPES = frozenset(
    ["object", "str", "string", "category", "boolean", "bool"]
    + [f"{kind}{bits}" for kind in _BITS for bits in _BITS[kind]]
    + [f"{kind}{bits}" for kind in ("Int", "UInt", "Float") for bits in (8, 16, 32, 64)[2 * (kind == "Float") :]]
)


@dataclass(frozen=True)
class Coordinate(Untrusted):
    """A coordinate of an assembly as sent."""

    name: Name
    dims: Annotated[tuple[Name, ...], at_most(8)]
    values: object


@dataclass(frozen=True)
class _Assembly(Untrusted):
    kind: Name
    dims: Annotated[tuple[Name, ...], at_most(8)]
    coords: Annotated[tuple[Coordinate, ...], at_most(1_000)]
    values: object
    name: Name | None
    attrs: object


@dataclass(frozen=True)
class _Column(Untrusted):
    name: Name
    dtype: Name
    values: object


@dataclass(frozen=True)
class _Table(Untrusted):
    columns: Annotated[tuple[_Column, ...], at_most(10_000)]
    index: object


_ASSEMBLY, _TABLE = TypeAdapter(_Assembly), TypeAdapter(_Table)


def longest_text(dtype: str) -> int:
    """Return the number of characters of a text type such as ``'<U12'``; 0 for types that may not be sent."""
    match = _TEXT.fullmatch(dtype)
    length = int(match[1]) if match else 0
    return length if length <= _MOST_TEXT else 0


# -- out ---------------------------------------------------------------------------------------------------------------


def pack(value: object, arrays: list[npt.NDArray[Any]], depth: int = 0) -> object:
    """Return a value as JSON; arrays are appended to `arrays` and named by position."""
    if depth > _MOST_DEPTH:
        raise ProtocolError(f"A value is nested more than {_MOST_DEPTH} times; it cannot be sent.")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return _scalar(value)
    if isinstance(value, (xr.DataArray, pd.DataFrame, np.ndarray)):
        return _packed_labelled(value, arrays, depth)
    if isinstance(value, Mapping):
        wrong = [key for key in value if not isinstance(key, str)]
        if wrong:
            raise ProtocolError(f"A dict has the key {wrong[0]!r}; only texts can be sent as keys.")
        return {"dict": [[str(key), pack(item, arrays, depth + 1)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [pack(item, arrays, depth + 1) for item in value]}
    if isinstance(value, list):
        return [pack(item, arrays, depth + 1) for item in value]
    raise ProtocolError(f"A {type(value).__qualname__} cannot be sent; expected numbers, texts, arrays or assemblies.")


def _packed_labelled(
    value: xr.DataArray | pd.DataFrame | npt.NDArray[Any], arrays: list[npt.NDArray[Any]], depth: int
) -> object:
    if isinstance(value, xr.DataArray):
        return {"assembly": _packed_assembly(value, arrays, depth)}
    if isinstance(value, pd.DataFrame):
        return {"table": _packed_table(value, arrays)}
    return _packed_array(value, arrays)


def _scalar(value: object) -> object:
    # A subclass of str or float may serialise itself in any way.
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return None


def _packed_array(array: npt.NDArray[Any], arrays: list[npt.NDArray[Any]]) -> object:
    if isinstance(array, np.ma.MaskedArray):
        raise ProtocolError("A masked array cannot be sent; fill it.")
    if array.dtype.kind == "O":
        return _packed_objects(array, arrays)
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
    if plain.dtype.str == "<U0":
        plain = plain.astype("<U1")
    if plain.dtype.str not in DTYPES and not longest_text(plain.dtype.str):
        raise ProtocolError(f"An array of type {array.dtype} cannot be sent; expected numbers, truth values or texts.")
    arrays.append(plain)
    return {"array": len(arrays) - 1}


def _packed_objects(array: npt.NDArray[Any], arrays: list[npt.NDArray[Any]]) -> object:
    if array.ndim != 1:
        raise ProtocolError(f"An array of objects with {array.ndim} dimensions cannot be sent; expected one.")
    items = array.tolist()
    if items and all(type(item) is str and not item.endswith("\0") for item in items):
        texts = np.asarray(items)
        if longest_text(texts.dtype.str) and texts.nbytes <= 2**20 + 16 * sum(map(len, items)):
            packed = _packed_array(texts, arrays)
            return {"texts": packed["array"]} if isinstance(packed, dict) else packed
    missing = [item for item in items if not (item is None or isinstance(item, (bool, int, float, str, np.generic)))]
    missing = [item for item in missing if item is not pd.NA]
    if missing:
        raise ProtocolError(f"An array holds a {type(missing[0]).__qualname__}, which cannot be sent.")
    return {"objects": [_scalar(item.item() if isinstance(item, np.generic) else item) for item in items]}


def _packed_table(table: pd.DataFrame, arrays: list[npt.NDArray[Any]]) -> object:
    columns = []
    for position, name in enumerate(table.columns):
        column = table.iloc[:, position]
        dtype = str(column.dtype)
        if not isinstance(name, str) or dtype not in _COLUMN_TYPES:
            raise ProtocolError(
                f"Column {name!r} of a table, of type {dtype}, cannot be sent; expected a text as name and numbers, "
                "truth values or texts as values."
            )
        plain = isinstance(column.dtype, np.dtype)
        values = column.to_numpy() if plain else column.to_numpy(dtype=object)
        columns.append({"name": name, "dtype": dtype, "values": _packed_array(values, arrays)})
    is_counted = isinstance(table.index, pd.RangeIndex) and table.index.equals(pd.RangeIndex(len(table)))
    index = None if is_counted else _packed_array(table.index.to_numpy(), arrays)
    return {"columns": columns, "index": [len(table), index]}


def _packed_assembly(assembly: xr.DataArray, arrays: list[npt.NDArray[Any]], depth: int) -> object:
    kind = next((base.__name__ for base in type(assembly).__mro__ if base.__name__ in _KINDS), "DataArray")
    coords = [
        {"name": name, "dims": [*map(str, dims)], "values": _packed_array(np.asarray(values), arrays)}
        for name, dims, values in walk_coords(assembly)
    ]
    return {
        "kind": kind,
        "dims": [*map(str, assembly.dims)],
        "coords": coords,
        "values": _packed_array(assembly.values, arrays),
        "name": None if assembly.name is None else str(assembly.name),
        "attrs": pack(dict(assembly.attrs), arrays, depth + 1),
    }


# -- in ----------------------------------------------------------------------------------------------------------------

Arrays = Sequence[npt.NDArray[Any]]
Made = Callable[[Arrays], Any]
"""Makes a value from the arrays of its message."""


@dataclass(frozen=True)
class Announced:
    """An array that a message will hold."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Size of its values."""
        return self.dtype.itemsize * math.prod(self.shape)


def planned(tree: object, announced: Sequence[Announced], most_bytes: int) -> Made:
    """Return the maker of a value that `pack` converted, before its arrays have arrived.

    Each array is named exactly once, shapes, names and sizes fit together, and arrays and values made of them take at
    most `most_bytes`. Raises `ProtocolError` otherwise, also later if xarray or pandas refuse the value.
    """
    plan = _Plan(announced, most_bytes)
    make = plan.value(tree, 0)
    if len(plan.named) != len(announced):
        raise ProtocolError(f"A message has {len(announced)} arrays and refers to {len(plan.named)} of them.")

    def made(arrays: Arrays) -> Any:
        try:
            return make(arrays)
        except Exception as error:  # xarray and pandas raise many classes for parts that do not fit together
            raise ProtocolError(f"A value cannot be decoded: {shown(str(error))}.") from error

    return made


class _Plan:
    """Check a message part by part, counting the memory that it will take."""

    def __init__(self, announced: Sequence[Announced], most_bytes: int) -> None:
        self._announced, self._most, self._left = announced, most_bytes, most_bytes
        self.named: set[int] = set()
        for array in announced:  # an empty dimension counts as one: NumPy refuses [0, 2**40, 2**40]
            self._charge(array.dtype.itemsize * math.prod(max(1, size) for size in array.shape))

    def _charge(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise ProtocolError(f"A message has more than {self._most / 2**20:,.0f} MiB, the limit for this answer.")

    def value(self, tree: object, depth: int) -> Made:
        if depth > _MOST_DEPTH:
            raise ProtocolError(f"A value is nested more than {_MOST_DEPTH} times.")
        if isinstance(tree, list):
            return self._sequence(list, tree, depth)
        if not isinstance(tree, dict):
            return lambda _: tree  # a scalar of JSON
        if len(tree) != 1:
            raise ProtocolError(f"A value is an object of {len(tree)} entries; expected one, the kind.")
        ((kind, held),) = tree.items()
        if kind in ("array", "texts", "objects"):
            return self._array(tree)[1]
        readers = {"dict": self._dict, "tuple": self._tuple, "table": self._table, "assembly": self._assembly}
        if kind not in readers:
            raise ProtocolError(f"A value is of kind {shown(kind)}, which does not exist.")
        try:
            return readers[kind](held, depth)
        except CorruptFileError as error:
            raise ProtocolError(str(error)) from None

    def _tuple(self, held: object, depth: int) -> Made:
        if not isinstance(held, list):
            raise ProtocolError("The items of a tuple are not a list.")
        return self._sequence(tuple, held, depth)

    def _sequence(self, kind: type[list[Any]] | type[tuple[Any, ...]], items: list[Any], depth: int) -> Made:
        makes = [self.value(item, depth + 1) for item in items]
        return lambda arrays: kind(make(arrays) for make in makes)

    def _dict(self, held: object, depth: int) -> Made:
        if not isinstance(held, list) or not all(
            isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) for item in held
        ):
            raise ProtocolError("A dict is not a list of pairs of key and value.")
        makes = {key: self.value(value, depth + 1) for key, value in held}
        if len(makes) != len(held):
            raise ProtocolError("A dict has a key twice.")
        return lambda arrays: {key: make(arrays) for key, make in makes.items()}

    def _array(self, tree: object) -> tuple[Announced, Made]:
        if not isinstance(tree, dict) or len(tree) != 1:
            raise ProtocolError("Expected an array, found something else.")
        ((kind, held),) = tree.items()
        if kind == "objects":
            if not isinstance(held, list) or any(isinstance(item, (list, dict)) for item in held):
                raise ProtocolError("An array of objects holds more than scalars.")
            self._charge(_LABEL_BYTES * len(held))
            return Announced(np.dtype(object), (len(held),)), lambda _: _objects(held)
        if kind not in ("array", "texts") or type(held) is not int or not 0 <= held < len(self._announced):
            raise ProtocolError(
                f"A value refers to an array that was not sent: {shown(held)} of {len(self._announced)}."
            )
        if held in self.named:
            raise ProtocolError(f"Array {held} is referred to twice.")
        self.named.add(held)
        array = self._announced[held]
        if len(array.shape) == 1:  # labels, which pandas and xarray convert
            of_text = _LABEL_BYTES + array.dtype.itemsize // 4
            self._charge(array.shape[0] * (of_text if array.dtype.kind == "U" else _CODE_BYTES))
        if kind == "array":
            return array, lambda arrays: arrays[held]
        if array.dtype.kind != "U" or len(array.shape) != 1:
            raise ProtocolError("An array of texts has another type.")
        return array, lambda arrays: arrays[held].astype(object)

    def _table(self, held: object, _: int) -> Made:
        table = checked(_TABLE, held, "table")
        if not isinstance(table.index, list) or len(table.index) != 2 or type(table.index[0]) is not int:
            raise ProtocolError("A table does not state its number of rows.")
        n_rows, labels = table.index
        if not 0 <= n_rows <= 10**8:
            raise ProtocolError(f"A table has {shown(n_rows)} rows.")
        index = None if labels is None else self._along("The index of a table", labels, (n_rows,))
        columns: dict[str, tuple[str, Made]] = {}
        for column in table.columns:
            if column.dtype not in _COLUMN_TYPES or column.name in columns:
                raise ProtocolError(f"Column {shown(column.name)} is of type {shown(column.dtype)}, or occurs twice.")
            make = self._along(f"Column {shown(column.name)}", column.values, (n_rows,))
            columns[column.name] = column.dtype, make

        def made(arrays: Arrays) -> pd.DataFrame:
            rows = pd.RangeIndex(n_rows) if index is None else pd.Index(index(arrays))
            series = {name: pd.Series(make(arrays), index=rows, dtype=dtype) for name, (dtype, make) in columns.items()}
            return pd.DataFrame(series, index=rows)

        return made

    def _assembly(self, held: object, depth: int) -> Made:
        assembly = checked(_ASSEMBLY, held, "assembly")
        if assembly.kind not in _KINDS:
            raise ProtocolError(f"An assembly is of kind {shown(assembly.kind)}; expected one of {', '.join(_KINDS)}.")
        values, make_values = self._array(assembly.values)
        dims = assembly.dims
        if len(values.shape) != len(dims) or len(set(dims)) != len(dims):
            raise ProtocolError(f"An assembly has {len(values.shape)} dimensions, but names for {len(set(dims))}.")
        sizes = dict(zip(dims, values.shape, strict=True))
        coords: dict[str, tuple[tuple[str, ...], Made]] = {}
        for coordinate in assembly.coords:
            if coordinate.name in coords or len(set(coordinate.dims)) != len(coordinate.dims):
                raise ProtocolError(f"Coordinate {shown(coordinate.name)} occurs twice, or names a dimension twice.")
            shape = tuple(sizes.get(dim, -1) for dim in coordinate.dims)
            make = self._along(f"Coordinate {shown(coordinate.name)}", coordinate.values, shape)
            coords[coordinate.name] = coordinate.dims, make
        make_attrs = self.value(assembly.attrs, depth + 1)

        def made(arrays: Arrays) -> xr.DataArray:
            along = {name: (dims_of, make(arrays)) for name, (dims_of, make) in coords.items()}
            attrs = make_attrs(arrays)
            if not isinstance(attrs, dict):
                raise ProtocolError("The attributes of an assembly are not a dict.")
            return _KINDS[assembly.kind](make_values(arrays), coords=along, dims=dims, name=assembly.name, attrs=attrs)

        return made

    def _along(self, what: str, tree: object, shape: tuple[int, ...]) -> Made:
        array, make = self._array(tree)
        if array.shape != shape:
            raise ProtocolError(f"{what} has shape {array.shape}; expected {shape}.")
        return make


def _objects(items: list[Any]) -> npt.NDArray[Any]:
    objects = np.empty(len(items), dtype=object)
    objects[:] = items
    return objects
