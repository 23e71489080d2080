"""Call what a plugin registered, and say so if it is no factory or makes something else than its kind."""

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

__all__ = ["Expected", "make"]


@dataclass(frozen=True)
class Expected:
    """What the factories of one kind have to make.

    Attributes
    ----------
    what : str
        In words, such as ``'a model, which has a method look_at'``.
    fits : callable
        Tells whether an object is one. Classes and None never are.
    remedy : str
        A sentence on how to mend a factory that makes something else.
    """

    what: str
    fits: Callable[[object], bool]
    remedy: str = ""


def make(library: str, kind: str, identifier: str, expected: Expected, /, *args: Any, **kwargs: Any) -> Any:
    """Import the plugin that registers an identifier and return what its factory makes.

    Parameters
    ----------
    library, kind, identifier : str
        As for `import_plugin`.
    expected : Expected
        What the factory has to make.
    *args, **kwargs
        For the factory.

    Raises
    ------
    PluginError
        The plugin registers an object in place of what makes one, a factory that needs arguments that nobody gives, or
        one that makes something else than `expected`.
    BrainScoreError
        As `import_plugin` does.
    """
    wanted = kind_named(kind)
    factory = import_plugin(library, kind, identifier)
    _check_factory(library, wanted, identifier, factory, args, kwargs)
    made = factory(*args, **kwargs)
    if made is None or isinstance(made, type) or not expected.fits(made):
        remedy = expected.remedy
        if made is None:
            remedy = "Does it end with return?"
        elif isinstance(made, type):
            remedy = f"Make an object of the class: {made.__name__}(...)."
        place = _place(library, wanted, identifier)
        raise PluginError(
            f"The factory of the {wanted.label} {identifier!r} made {described(made)}{place}; expected "
            f"{expected.what}. {remedy}".rstrip()
        )
    return made


def _check_factory(
    library: str, kind: Kind, identifier: str, factory: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise if what is registered is no factory, or one that cannot be called without arguments."""
    problem = _lacking(factory, args, kwargs) if callable(factory) else ""
    is_object = not isinstance(factory, (type, functools.partial)) and not inspect.isroutine(factory)
    if callable(factory) and (not problem or ((kwargs or args or kind.name == "metric") and not is_object)):
        return  # what the caller of a metric forgot is for Python to say
    registered = f"{kind.registry}[{identifier!r}]"
    place = _place(library, kind, identifier)
    if is_object:
        raise PluginError(
            f"{registered} is {described(factory)}{place}; expected a function or class that makes one at every load. "
            f"Write {registered} = lambda: ..., with what makes it after the colon."
        )
    raise PluginError(
        f"{registered} is a factory that cannot be called without arguments ({problem}){place}; nobody gives it any. "
        f"Write {registered} = lambda: ..., with the arguments."
    )


def _lacking(factory: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return why a factory cannot be called with these arguments; empty if it can, or nobody knows."""
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
    """Return where an identifier is registered, in parentheses with a space before; empty if no plugin does so."""
    try:
        plugin = find_plugin(library, kind.name, identifier)
    except BrainScoreError:
        return ""
    lines = [
        each.line for each in plugin.registrations if (each.registry, each.identifier) == (kind.registry, identifier)
    ]
    return f" ({plugin.init_file}{f':{lines[0]}' if lines else ''})"
