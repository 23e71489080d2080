"""The score: a number or array with its raw values, ceiling and error."""

# xarray leaves __init_subclass__ without types.
# mypy: allow-untyped-calls

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import xarray as xr

from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, merge_data_arrays

if TYPE_CHECKING:
    import numpy as np

Result = TypeVar("Result", bound=xr.DataArray)

_logger = logging.getLogger(__name__)


class Score(DataAssembly):
    """A score with its origin in ``attrs``; parameters are those of `DataAssembly`.

    ``attrs['raw']`` are the values before aggregation or normalisation, ``attrs['ceiling']`` the ceiling,
    ``attrs['error']`` the standard error; ``score.raw`` reads them too.

    Propagation of attrs:

    - `sel`, `isel`, `squeeze`, `expand_dims` keep all attrs and apply to those whose key contains ``raw``, if they have
      the dimension or coordinate.
    - Reductions (`mean`, `sum`, `std`, `min`, `max`, `median`, `reduce`, ...) keep attrs whose key contains ``raw``
      unchanged and drop the others: errors and ceilings of parts do not apply to the whole.
    - Arithmetic drops all attrs, as half a score isn't a score: set ``raw``, ``ceiling`` and ``error`` again.
    - Assigning values, ``score[...] = value``, never changes ``raw``.

    Examples
    --------
    >>> values = Score([0.2, 0.4], coords={'split': [0, 1]}, dims=['split'])
    >>> score = values.mean()
    >>> score.attrs['raw'] = values
    >>> f"{score:.2f} of {len(score.raw)} splits"
    '0.30 of 2 splits'
    """

    RAW_VALUES_KEY: ClassVar[str] = "raw"
    """Published metrics use it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return a number with its error, raw score and ceiling; arrays as `DataAssembly`."""
        if self.ndim or self.dtype.kind not in "fiu":
            return super().__repr__()
        error = _number(self.attrs.get("error"))
        numbers = {key: _number(self.attrs.get(key)) for key in ("raw", "ceiling")}
        parts = ", ".join(f"{key} {number:.4g}" for key, number in numbers.items() if number is not None)
        spread = "" if error is None else f" ± {error:.2g}"
        return f"<{type(self).__name__} {self.item():.8g}{spread}{f' ({parts})' if parts else ''}>"

    def sel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: str | None = None,
        tolerance: Any = None,
        drop: bool = False,
        *,
        _apply_raw: bool = True,
        **indexers_kwargs: Any,
    ) -> Self:
        """Select by labels, also from raw values; see `DataAssembly.sel`."""
        selection = {**(indexers or {}), **indexers_kwargs}
        result = super().sel(selection, method=method, tolerance=tolerance, drop=drop)
        return _followed(
            result, lambda raw: raw.sel(selection, method=method, tolerance=tolerance, drop=drop), apply_raw=_apply_raw
        )

    def isel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        drop: bool = False,
        missing_dims: Literal["raise", "warn", "ignore"] = "raise",
        *,
        _apply_raw: bool = True,
        **indexers_kwargs: Any,
    ) -> Self:
        """Select by positions, also from raw values; see `xarray.DataArray.isel`."""
        selection = {**(indexers or {}), **indexers_kwargs}
        result = super().isel(selection, drop=drop, missing_dims=missing_dims)
        return _followed(
            result, lambda raw: raw.isel(selection, drop=drop, missing_dims=missing_dims), apply_raw=_apply_raw
        )

    def squeeze(self, dim: Any = None, drop: bool = False, axis: Any = None, *, _apply_raw: bool = True) -> Self:
        """Remove dimensions of length one, also from raw values; see `xarray.DataArray.squeeze`."""
        result = super().squeeze(dim, drop=drop, axis=axis)
        return _followed(result, lambda raw: raw.squeeze(dim, drop=drop, axis=axis), apply_raw=_apply_raw)

    def expand_dims(
        self,
        dim: Any = None,
        axis: Any = None,
        create_index_for_new_dim: bool = True,
        *,
        _apply_raw: bool = True,
        **dim_kwargs: Any,
    ) -> Self:
        """Add dimensions, also to raw values; see `xarray.DataArray.expand_dims`."""

        def expand(array: xr.DataArray) -> xr.DataArray:
            return xr.DataArray.expand_dims(array, dim, axis, create_index_for_new_dim, **dim_kwargs)

        result = super().expand_dims(dim, axis, create_index_for_new_dim, **dim_kwargs)
        return _followed(result, expand, apply_raw=_apply_raw)

    def reduce(
        self,
        func: Callable[..., Any],
        dim: Any = None,
        *,
        axis: int | Sequence[int] | None = None,
        keep_attrs: bool | None = None,
        keepdims: bool = False,
        _apply_raw: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Reduce dimensions with a function; raw values stay as they are. See `xarray.DataArray.reduce`."""
        options: dict[str, Any] = {"axis": axis, "keep_attrs": keep_attrs, "keepdims": keepdims, **kwargs}
        result = super().reduce(func, dim, **options)
        result.attrs.update({key: value for key, value in self.attrs.items() if _is_raw(key)})
        return _followed(result, lambda raw: raw.reduce(func, dim, **options), apply_raw=_apply_raw)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        if isinstance(result, Score):
            result.attrs = {}
        return result

    @classmethod
    def merge(cls, *scores: Self, exception_handling: Literal["ignore", "warn", "raise"] = "ignore") -> Self:
        """Join one or more scores and their raw values; other attrs come from the first.

        Raw values that cannot be joined are dropped unless ``exception_handling`` is ``'raise'``.
        """
        result: Self = cls(merge_data_arrays(scores))
        for key in [key for key in result.attrs if _is_raw(key)]:
            raws = [score.attrs.get(key) for score in scores]
            try:
                result.attrs[key] = _merge_raw(raws, exception_handling)
            except (TypeError, ValueError, KeyError) as error:
                if exception_handling == "raise":
                    raise
                if exception_handling == "warn":
                    _logger.warning("The attribute %r of the scores cannot be merged and is left out: %s", key, error)
                del result.attrs[key]
        return result


def _followed(score: Result, change: Callable[[Any], Any], *, apply_raw: bool) -> Result:
    for key, raw in list(score.attrs.items()) if apply_raw else ():
        if _is_raw(key) and isinstance(raw, xr.DataArray):
            try:
                score.attrs[key] = change(raw)
            except (KeyError, ValueError, IndexError, TypeError) as error:
                # Raw values without this dimension or label stay unchanged.
                _logger.debug("The attribute %r of the score is unchanged: %s", key, error)
    return score


def _is_raw(key: Hashable) -> bool:
    return "raw" in str(key)


def _merge_raw(raws: Sequence[Any], exception_handling: Literal["ignore", "warn", "raise"]) -> Any:
    if not all(isinstance(raw, xr.DataArray) for raw in raws):
        raise TypeError(f"expected labelled arrays, got {sorted({type(raw).__name__ for raw in raws})}")
    if all(isinstance(raw, Score) for raw in raws):
        return Score.merge(*raws, exception_handling=exception_handling)
    return merge_data_arrays(raws)


def _number(value: object) -> float | None:
    try:
        return None if value is None else float(value)  # type: ignore[arg-type] # tried
    except (TypeError, ValueError):
        return None
