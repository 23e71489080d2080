"""Published plugins import this from here: decorators that used to keep the results of functions, and keep nothing now.

The package of this name on PyPI (0.5) pickles results of a function under the text of some arguments, which omits the
code and objects (stimuli, responses), so a changed model or changed stimuli silently get the result of others. Here a
decorated function is the function itself; activations, which take the longest, have a cache by content.

This is one module because it must share no file with the package on PyPI, which Python finds first where both are
installed, and which then caches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

__all__ = ["NotCachedError", "cache", "is_iterable", "store", "store_dict", "store_netcdf", "store_xarray"]

Function = TypeVar("Function", bound=Callable[..., Any])  # any function
Decorator = Callable[[Function], Function]


class NotCachedError(Exception):
    """A result that was asked for from the cache only; nothing here raises it."""


def store(identifier_ignore: Sequence[str] = ()) -> Decorator[Function]:  # noqa: ARG001 - the published signature
    """Decorate a function with nothing.

    Examples
    --------
    >>> from result_caching import store
    >>> @store(identifier_ignore=['stimuli'])
    ... def number_of(model, stimuli):
    ...     return len(stimuli)
    >>> number_of('alexnet', ['a']), number_of('alexnet', ['a', 'b'])
    (1, 2)
    """
    return _same


def cache(identifier_ignore: Sequence[str] = ()) -> Decorator[Function]:  # noqa: ARG001 - the published signature
    """Decorate a function with nothing; see `store`."""
    return _same


def store_netcdf(identifier_ignore: Sequence[str] = ()) -> Decorator[Function]:  # noqa: ARG001 - the published signature
    """Decorate a function with nothing; see `store`."""
    return _same


def store_dict(
    dict_key: str,  # noqa: ARG001 - the published signature
    identifier_ignore: Sequence[str] = (),  # noqa: ARG001 - the published signature
) -> Decorator[Function]:
    """Decorate a function that returns a dict with nothing; see `store`."""
    return _same


def store_xarray(
    combine_fields: Sequence[str] | Mapping[str, str],  # noqa: ARG001 - the published signature
    sub_fields: bool = False,  # noqa: ARG001 - the published signature
    map_field_values: Callable[[str, Any], Any] | None = None,  # noqa: ARG001 - the published signature
    map_field_values_inverse: Callable[[str, Any], Any] | None = None,  # noqa: ARG001 - the published signature
    identifier_ignore: Sequence[str] = (),  # noqa: ARG001 - the published signature
) -> Decorator[Function]:
    """Decorate a function that returns an assembly with nothing; see `store`."""
    return _same


def _same(function: Function) -> Function:
    return function


def is_iterable(x: object) -> bool:
    """Tell whether a value, other than a str, can be iterated over."""
    return not isinstance(x, str) and hasattr(x, "__iter__")
