"""Call the factory of a plugin and check its result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brainscore_core.errors import BrainScoreError, PluginError
from brainscore_core.metrics import described
from brainscore_core.plugin_management.import_plugin import find_plugin, import_plugin
from brainscore_core.plugin_management.registry import Kind, kind_named


@dataclass(frozen=True)
class Expected:
    """The result of a kind's factories, such as ``'a model, which has a method look_at'``, and advice if it is another.

    ``fits`` is not called for classes and None.
    """

    what: str
    fits: Callable[[object], bool]
    remedy: str = ""


def make(library: str, kind: str, identifier: str, expected: Expected, /, *args: Any, **kwargs: Any) -> Any:
    """Import the plugin that registers an identifier (see `import_plugin`) and return the result of its factory.

    Raises `PluginError` if the plugin registers an object instead of a factory, a factory that needs further arguments,
    or one whose result is not `expected`.
    """
    registered_kind = kind_named(kind)
    factory = import_plugin(library, kind, identifier)
    _check_factory(library, registered_kind, identifier, factory, args, kwargs)
    result = factory(*args, **kwargs)
    if result is None or isinstance(result, type) or not expected.fits(result):
        remedy = expected.remedy
        if result is None:
            remedy = "Does it end with return?"
        elif isinstance(result, type):
            remedy = f"Make an object of the class: {result.__name__}(...)."
        place = _place(library, registered_kind, identifier)
        raise PluginError(
            f"The factory of the {registered_kind.label} {identifier!r} returned {described(result)}{place}; expected "
            f"{expected.what}. {remedy}".rstrip()
        )
    return result


def _check_factory(
    library: str, kind: Kind, identifier: str, factory: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    problem = _lacking(factory, args, kwargs) if callable(factory) else ""
    is_object = not isinstance(factory, (type, functools.partial)) and not inspect.isroutine(factory)
    if callable(factory) and (not problem or ((kwargs or args or kind.name == "metric") and not is_object)):
        return  # Python reports arguments that the caller of a metric forgot
    registered = f"{kind.registry}[{identifier!r}]"
    place = _place(library, kind, identifier)
    if is_object:
        raise PluginError(
            f"{registered} is {described(factory)}{place}; expected a function or class that creates one on every "
            f"load. Write {registered} = lambda: ..., with the code that creates it after the colon."
        )
    raise PluginError(
        f"{registered} is a factory that cannot be called without arguments ({problem}){place}; loading passes none. "
        f"Write {registered} = lambda: ..., with the arguments."
    )


def _lacking(factory: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return why a factory cannot be called with these arguments; empty if it can or has no signature."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def _place(library: str, kind: Kind, identifier: str) -> str:
    """Return where an identifier is registered, as ``' (path:line)'``; empty if no plugin registers it."""
    try:
        plugin = find_plugin(library, kind.name, identifier)
    except BrainScoreError:
        return ""
    lines = [
        entry.line
        for entry in plugin.registrations
        if entry.registry == kind.registry
        and (entry.identifier == identifier or (entry.is_scheme and identifier.startswith(entry.identifier)))
    ]
    return f" ({plugin.init_file}{f':{lines[0]}' if lines else ''})"
