"""Digest what changes activations: weights, the structure and code of modules, preprocessing.

Everything here either counts or raises `NotDigestibleError`; nothing is left out silently, because a key that misses a
part would give wrong activations from the cache.
"""

from __future__ import annotations

import enum
import functools
import inspect
import logging
import sys
import types
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.caching import content_digest, file_digest

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["NotDigestibleError", "describe", "describe_module", "preprocessing_digest", "probe_image"]

Value = Any  # anything that a model may hold
Description = Any  # what `content_digest` takes: nested lists of plain values and arrays

# Packages whose code is identified by their version instead of their files.
_BY_VERSION = frozenset({"PIL", "builtins", "numpy", "scipy", "torch", *sys.stdlib_module_names})
_PRIMITIVES = (type(None), bool, int, float, str, bytes)


class NotDigestibleError(TypeError):
    """A part that may change the result has no digest."""


class _Plain:
    """An instance whose state is all in its attributes."""


def preprocessing_digest(preprocess: Callable[[list[str]], object] | None) -> str:
    """Return a digest of a preprocessing function: its code, its arguments and what it makes of a probe image.

    Parameters
    ----------
    preprocess : callable or None
        Takes a list of paths. If it (or the function inside a `functools.partial`) has an attribute
        ``cache_version``, that value stands for its code and arguments.

    Raises
    ------
    NotDigestibleError
        A part cannot be digested, or the same image gives different results.
    """
    if preprocess is None:
        return content_digest(None)
    declared = getattr(preprocess, "cache_version", None)
    code = [_qualified_name(preprocess), declared] if declared is not None else describe(preprocess)
    with TemporaryDirectory(prefix="brainscore-probe-") as folder:
        path = Path(folder) / "probe.png"
        probe_image().save(path)
        try:
            first, second = (content_digest(describe(preprocess([str(path)]))) for _ in range(2))
        except Exception as error:  # another's code may fail in any way; it only costs the cache
            raise NotDigestibleError(f"{_qualified_name(preprocess)} fails on a probe image: {error}") from error
    if first != second:
        raise NotDigestibleError(f"{_qualified_name(preprocess)} is random: the same image gives different results.")
    return content_digest(code, first)


def probe_image() -> Image.Image:
    """Return an image of 300 x 260 pixels with gradients, edges and fine texture, always the same."""
    y, x = np.mgrid[0:260, 0:300]
    red = x * 255 // 299
    green = (x * 37 + y * 91) % 256
    blue = np.where((x // 13 + y // 7) % 2 == 0, y * 255 // 259, 255)
    return Image.fromarray(np.stack([red, green, blue], axis=-1).astype(np.uint8))


def describe(value: Value, parents: tuple[int, ...] = ()) -> Description:
    """Turn a value into what `brainscore_core.caching.content_digest` takes.

    Parameters
    ----------
    value : anything
        Plain values, arrays, tensors, PyTorch modules, functions (with the file they are defined in and what they
        have captured), partial functions, classes, enumerations, and objects whose attributes are such.
    parents : tuple of int
        The `id` of what holds the value, from the outside, so that cycles end.

    Raises
    ------
    NotDigestibleError
        For anything else.
    """
    if isinstance(value, enum.Enum):
        return ["enum", *_describe_class(type(value)), value.name]
    if isinstance(value, (*_PRIMITIVES, np.generic)):
        return value
    if isinstance(value, Path):
        return value if value.is_file() else ["path", str(value)]
    if isinstance(value, np.dtype):
        return ["dtype", value.str]
    if isinstance(value, np.ndarray):
        return _describe_array(value, parents)
    if id(value) in parents:
        return ["again", len(parents) - parents.index(id(value))]
    inside = (*parents, id(value))
    if isinstance(value, Mapping):
        items = [[describe(key, inside), describe(item, inside)] for key, item in value.items()]
        return ["mapping", type(value).__qualname__, items]
    if isinstance(value, Set):
        return ["set", sorted(content_digest(describe(item, inside)) for item in value)]
    if isinstance(value, Sequence):
        return ["sequence", type(value).__qualname__, [describe(item, inside) for item in value]]
    return _describe_code(value, inside)


def _describe_array(array: npt.NDArray[np.generic], parents: tuple[int, ...]) -> Description:
    if array.dtype.hasobject:
        return ["objects", list(array.shape), [describe(item, parents) for item in array.ravel().tolist()]]
    return array


def _describe_code(value: Value, parents: tuple[int, ...]) -> Description:
    if isinstance(value, functools.partial):
        return ["partial", *(describe(part, parents) for part in (value.func, value.args, value.keywords))]
    if isinstance(value, types.FunctionType):
        return _describe_function(value, parents)
    if isinstance(value, types.MethodType):
        return ["method", describe(value.__func__, parents), describe(value.__self__, parents)]
    if isinstance(value, type):
        return ["class", *_describe_class(value)]
    if isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
        return ["builtin", _qualified_name(value), _version_of(getattr(value, "__module__", None) or "builtins")]
    if isinstance(value, types.ModuleType):
        return ["module", value.__name__, _code_digest(value.__name__, value)]
    if isinstance(value, weakref.ref):
        return ["reference", describe(value(), parents)]
    if isinstance(value, logging.Logger):
        return ["logger"]  # does not change results
    return _describe_object(value, parents)


def _describe_function(function: types.FunctionType, parents: tuple[int, ...]) -> Description:
    try:
        captured = [describe(cell.cell_contents, parents) for cell in function.__closure__ or ()]
    except ValueError as error:  # a cell that is still empty
        raise NotDigestibleError(f"{_qualified_name(function)} is not complete") from error
    defaults = [describe(part, parents) for part in (function.__defaults__, function.__kwdefaults__)]
    name = [function.__module__, function.__qualname__]
    # The file alone does not tell two functions of one name apart, such as lambdas.
    body = _describe_bytecode(function.__code__)
    uses = _describe_globals(function)
    return ["function", *name, body, _code_digest(function.__module__, function), captured, defaults, uses]


def _describe_globals(function: types.FunctionType) -> list[Description]:
    """Describe what a function finds in its module: values, and the files of functions, classes and modules."""
    described: list[Description] = []
    for name in sorted(_names_in(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, (*_PRIMITIVES, np.ndarray)) and value is not None:
            described.append([name, _describe_array(value, ()) if isinstance(value, np.ndarray) else value])
        elif isinstance(value, (types.FunctionType, type, types.ModuleType)):
            module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
            described.append([name, module, _file_digest_or_version(module, value)])
    return described


def _names_in(code: types.CodeType) -> set[str]:
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _file_digest_or_version(module: str, value: Value) -> str:
    try:
        return _code_digest(module, value)
    except NotDigestibleError:  # compiled code, such as that of OpenCV
        return _version_of(module)


def _describe_bytecode(code: types.CodeType) -> list[Description]:
    constants = [_describe_constant(part) for part in code.co_consts]
    return [code.co_firstlineno, code.co_code, list(code.co_names), constants]


def _describe_constant(part: Value) -> Description:
    if isinstance(part, types.CodeType):
        return _describe_bytecode(part)
    if isinstance(part, (tuple, frozenset)):
        items = [content_digest(_describe_constant(item)) for item in part]
        # The order of a set differs from process to process.
        return [type(part).__name__, sorted(items) if isinstance(part, frozenset) else items]
    return repr(part)


def _describe_object(value: Value, parents: tuple[int, ...]) -> Description:
    top = type(value).__module__.partition(".")[0]
    if hasattr(value, "state_dict") and hasattr(value, "named_modules"):
        return describe_module(value, parents)
    if top == "torch":
        if hasattr(value, "detach"):
            return _tensor_values(value)
        if type(value).__qualname__ in ("device", "dtype", "layout", "memory_format"):
            return ["torch", type(value).__qualname__, str(value)]
    if _has_hidden_state(type(value)):
        raise NotDigestibleError(f"a {type(value).__module__}.{type(value).__qualname__} may hold hidden state")
    return ["object", *_describe_class(type(value)), describe(vars(value), parents)]


def _has_hidden_state(cls: type) -> bool:
    """Whether instances may hold more than their attributes: in slots, in C structures, in what they pickle."""
    if not hasattr(cls, "__dict__") or not cls.__dictoffset__ or cls.__basicsize__ > _Plain.__basicsize__:
        return True
    own = [vars(base) for base in cls.__mro__[:-1]]
    return any(space.get("__slots__") or "__reduce__" in space or "__reduce_ex__" in space for space in own)


def describe_module(module: nn.Module, parents: tuple[int, ...] = ()) -> Description:
    """Describe a PyTorch module: weights and buffers, and class, code, settings and attributes of each submodule."""
    inside = (*parents, id(module))
    internal = _module_internals()
    parts = []
    for name, part in module.named_modules():
        state = vars(part)
        own = {key: value for key, value in state.items() if key not in internal}
        hooks = [list(state[key].values()) for key in ("_forward_hooks", "_forward_pre_hooks") if state.get(key)]
        classes = [_describe_class(type(part)), part.extra_repr() if hasattr(part, "extra_repr") else ""]
        # In eval mode, which is how activations are taken, `training` says nothing.
        own.pop("training", None)
        parts.append([name, classes, describe(own, inside), describe(hooks, inside)])
    tensors = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    extra = [[key, describe(value, inside)] for key, value in module.state_dict().items() if "_extra_state" in key]
    return ["nn.Module", parts, [[name, _tensor_values(tensor)] for name, tensor in tensors], extra]


@lru_cache(maxsize=1)
def _module_internals() -> frozenset[str]:
    from torch import nn  # only reached with a PyTorch module at hand

    return frozenset(vars(nn.Module()))


def _tensor_values(tensor: torch.Tensor) -> Description:
    import torch  # only reached with a tensor at hand

    values = tensor.detach().cpu().contiguous()
    kind = [str(values.dtype), list(values.shape)]
    if values.is_quantized or values.layout != torch.strided:
        raise NotDigestibleError(f"a tensor of layout {values.layout} has no digest")
    flat = values.reshape(-1)
    return ["tensor", kind, flat.view(torch.uint8).numpy() if flat.numel() else b""]


def _describe_class(cls: type) -> list[Description]:
    described: list[Description] = []
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] in _BY_VERSION:
            described.append([base.__module__, base.__qualname__, _version_of(base.__module__)])
        else:
            functions = [part for part in vars(base).values() if isinstance(part, types.FunctionType)]
            uses = [_describe_globals(function) for function in functions]
            described.append([base.__module__, base.__qualname__, _code_digest(base.__module__, base), uses])
    return described


def _code_digest(module_name: str | None, code: Value) -> str:
    top = (module_name or "").partition(".")[0]
    if top in _BY_VERSION:
        return _version_of(top)
    try:
        file = inspect.getsourcefile(code)
    except TypeError as error:
        raise NotDigestibleError(f"the source code of {_qualified_name(code)} is not available") from error
    if file is None or not Path(file).is_file():
        raise NotDigestibleError(f"the source code of {_qualified_name(code)} is not available")
    status = Path(file).stat()
    return f"{_version_of(top)} {_source_digest(file, status.st_mtime_ns, status.st_size)}"


@lru_cache(maxsize=4096)
def _source_digest(file: str, modified_ns: int, size_bytes: int) -> str:  # noqa: ARG001 - part of the key of lru_cache
    return file_digest(file, "sha256")


def _version_of(module_name: str) -> str:
    top = module_name.partition(".")[0]
    if top == "builtins" or top in sys.stdlib_module_names:
        return sys.version
    return f"{top} {getattr(sys.modules.get(top), '__version__', '')}"


def _qualified_name(code: Value) -> str:
    named = code if hasattr(code, "__qualname__") else type(code)
    return f"{getattr(named, '__module__', None)}.{named.__qualname__}"
