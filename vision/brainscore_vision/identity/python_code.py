"""Inspect Python code."""

import sys
import types
from collections.abc import Mapping
from typing import Any

from brainscore_vision.identity.sources import STANDARD, is_own_module

__all__ = [
    "LONGEST_PATH",
    "Value",
    "file_of",
    "function_in",
    "has_hidden_state",
    "is_own_function",
    "names_in",
    "qualified_name",
    "replaced_functions",
    "version_of",
]

Value = Any  # anything that a model may hold

LONGEST_PATH = 1024
"""Length from which a text is not taken for a path or a name."""


class _Plain:
    pass


def file_of(module_name: str) -> str | None:
    """Return an imported module's file; None without one."""
    file = getattr(sys.modules.get(module_name), "__file__", None)
    return file if isinstance(file, str) else None


def is_own_function(function: types.FunctionType) -> bool:
    """Tell whether a function is a user's: of neither an installed package nor this library."""
    name, file = str(function.__globals__.get("__name__")), function.__code__.co_filename
    return is_own_module(name, file_of(name) if file == "<string>" else file)


def names_in(code: types.CodeType) -> set[str]:
    """Return the names that code looks up, and its texts, which it may look up too."""
    texts = {part for part in code.co_consts if isinstance(part, str) and len(part) < LONGEST_PATH}
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return (texts | set(code.co_names)).union(*map(names_in, inner))


def has_hidden_state(cls: type) -> bool:
    """Tell whether instances may hold more than their attributes: in slots, C structures or pickles."""
    if not hasattr(cls, "__dict__") or not cls.__dictoffset__ or cls.__basicsize__ > _Plain.__basicsize__:
        return True
    own = [vars(base) for base in cls.__mro__[:-1]]
    return any(space.get("__slots__") or "__reduce__" in space or "__reduce_ex__" in space for space in own)


def function_in(attribute: Value) -> types.FunctionType | None:
    """Return the function that an attribute of a class is or holds."""
    function = attribute.fget if isinstance(attribute, property) else getattr(attribute, "__func__", attribute)
    return function if isinstance(function, types.FunctionType) else None


def replaced_functions(namespace: Mapping[str, Value], module_name: str) -> list[tuple[str, types.FunctionType]]:
    """Return name and function for a package's functions replaced by foreign code."""
    top = module_name.partition(".")[0]
    functions = [(name, value) for name, value in namespace.items() if isinstance(value, types.FunctionType)]
    homes = [str(value.__globals__.get("__name__", "")).partition(".")[0] for _, value in functions]
    expected = {top, "typing_extensions", *STANDARD}
    return [function for function, home in zip(functions, homes, strict=True) if home not in expected]


def version_of(module_name: str) -> str:
    """Return the version of a module's package; that of Python for its own library."""
    top = module_name.partition(".")[0]
    if top == "builtins" or top in sys.stdlib_module_names:
        return sys.version
    return f"{top} {getattr(sys.modules.get(top), '__version__', '')}"


def qualified_name(code: Value) -> str:
    """Return module and qualified name of a function or class, or of another object's class."""
    named = code if hasattr(code, "__qualname__") else type(code)
    return f"{getattr(named, '__module__', None)}.{named.__qualname__}"
