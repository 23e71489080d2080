"""Convert values between judge and candidate to JSON and plain arrays, and read them back without trust.

A value is one of: None, bool, int, float, str; a list, tuple, or dict with str keys, of values; a NumPy array of
`DTYPES` or of texts, or a one-dimensional one of objects that are scalars; a `pandas.DataFrame` (categories
without entries are lost); an assembly. All else raises `ProtocolError`, on either side.
"""

from __future__ import annotations

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

__all__ = ["DTYPES", "Coordinate", "longest_text", "pack", "unpack"]

_BITS = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}
DTYPES = frozenset(np.dtype(f"{kind}{bits}").str for kind in _BITS for bits in _BITS[kind]) | {np.dtype(bool).str}
"""Array types besides texts, in NumPy's notation."""

_TEXT = re.compile(r"<U([1-9][0-9]{0,4})")
_MOST_TEXT = 20_000  # characters of one text in an array
_MOST_DEPTH = 12
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
    """A coordinate of an assembly as sent, its values still packed."""

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
    """Return the number of characters of a text type such as ``'<U12'``; 0 for any type that may not be sent."""
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
    # Plain types: a subclass of str or float may serialise itself in any way.
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


def unpack(tree: object, arrays: Sequence[npt.NDArray[Any]], depth: int = 0) -> object:
    """Return the value that `pack` converted; `ProtocolError` for anything else."""
    if depth > _MOST_DEPTH:
        raise ProtocolError(f"A value is nested more than {_MOST_DEPTH} times.")
    if isinstance(tree, list):
        return [unpack(item, arrays, depth + 1) for item in tree]
    if not isinstance(tree, dict):
        return tree  # a scalar of JSON
    if len(tree) != 1:
        raise ProtocolError(f"A value is an object of {len(tree)} entries; expected one, which says its kind.")
    ((kind, held),) = tree.items()
    if kind in ("array", "texts", "objects"):
        return _array(tree, arrays)
    if kind not in _READERS:
        raise ProtocolError(f"A value is of kind {shown(kind)}, which does not exist.")
    try:
        return _READERS[kind](held, arrays, depth)
    except ProtocolError:
        raise
    except CorruptFileError as error:
        raise ProtocolError(str(error)) from None
    except Exception as error:  # xarray and pandas raise many classes for what does not fit together
        raise ProtocolError(f"A value of kind {kind!r} cannot be made: {shown(str(error))}.") from error


def _array(tree: object, arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    if not isinstance(tree, dict) or len(tree) != 1:
        raise ProtocolError("Where an array should be is something else.")
    ((kind, held),) = tree.items()
    if kind == "objects":
        if not isinstance(held, list) or any(isinstance(item, (list, dict)) for item in held):
            raise ProtocolError("An array of objects holds more than scalars.")
        objects = np.empty(len(held), dtype=object)
        objects[:] = held
        return objects
    if kind not in ("array", "texts") or type(held) is not int or not 0 <= held < len(arrays):
        raise ProtocolError(f"An array is named that was not sent: {shown(held)} of {len(arrays)}.")
    array = arrays[held]
    if kind == "texts":
        if array.dtype.kind != "U" or array.ndim != 1:
            raise ProtocolError("Texts are of another type.")
        return array.astype(object)
    return array


def _dict(held: object, arrays: Sequence[npt.NDArray[Any]], depth: int) -> dict[str, object]:
    if not isinstance(held, list) or not all(
        isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) for item in held
    ):
        raise ProtocolError("A dict is not a list of keys with values.")
    result = {key: unpack(value, arrays, depth + 1) for key, value in held}
    if len(result) != len(held):
        raise ProtocolError("A dict has a key twice.")
    return result


def _tuple(held: object, arrays: Sequence[npt.NDArray[Any]], depth: int) -> tuple[object, ...]:
    if not isinstance(held, list):
        raise ProtocolError("A tuple is no list.")
    return tuple(unpack(item, arrays, depth + 1) for item in held)


def _table(held: object, arrays: Sequence[npt.NDArray[Any]], depth: int) -> pd.DataFrame:  # noqa: ARG001 - all readers alike
    table = checked(_TABLE, held, "table")
    if not isinstance(table.index, list) or len(table.index) != 2 or type(table.index[0]) is not int:
        raise ProtocolError("A table does not say how many rows it has.")
    n_rows, labels = table.index
    if not 0 <= n_rows <= 10**8:
        raise ProtocolError(f"A table has {shown(n_rows)} rows.")
    index = pd.RangeIndex(n_rows) if labels is None else pd.Index(_array(labels, arrays))
    columns = {}
    for column in table.columns:
        if column.dtype not in _COLUMN_TYPES or column.name in columns:
            raise ProtocolError(f"Column {shown(column.name)} is of type {shown(column.dtype)}, or there twice.")
        values = _array(column.values, arrays)
        if values.shape != (len(index),):
            raise ProtocolError(f"Column {shown(column.name)} has shape {values.shape}; expected ({len(index)},).")
        columns[column.name] = pd.Series(values, index=index, dtype=column.dtype)
    return pd.DataFrame(columns, index=index)


def _assembly(held: object, arrays: Sequence[npt.NDArray[Any]], depth: int) -> xr.DataArray:
    assembly = checked(_ASSEMBLY, held, "assembly")
    if assembly.kind not in _KINDS:
        raise ProtocolError(f"An assembly is of kind {shown(assembly.kind)}; expected one of {', '.join(_KINDS)}.")
    values = _array(assembly.values, arrays)
    if values.ndim != len(assembly.dims) or len(set(assembly.dims)) != len(assembly.dims):
        raise ProtocolError(f"An assembly has {values.ndim} dimensions and names for {len(set(assembly.dims))}.")
    sizes = dict(zip(assembly.dims, values.shape, strict=True))
    coords: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = {}
    for coordinate in assembly.coords:
        along = _array(coordinate.values, arrays)
        if coordinate.name in coords or along.shape != tuple(sizes.get(dim, -1) for dim in coordinate.dims):
            raise ProtocolError(f"Coordinate {shown(coordinate.name)} does not fit the dimensions, or is there twice.")
        coords[coordinate.name] = (coordinate.dims, along)
    attrs = unpack(assembly.attrs, arrays, depth + 1)
    if not isinstance(attrs, dict):
        raise ProtocolError("The attributes of an assembly are no dict.")
    return _KINDS[assembly.kind](values, coords=coords, dims=assembly.dims, name=assembly.name, attrs=attrs)


_READERS: dict[str, Callable[[object, Sequence[npt.NDArray[Any]], int], object]] = {
    "dict": _dict,
    "tuple": _tuple,
    "table": _table,
    "assembly": _assembly,
}
