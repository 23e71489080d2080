"""Digest weights, and structure and code of modules and functions.

Every part counts or raises `NotDigestibleError`. User code is followed between modules, with values, named files and
environment variables. Installed packages count by version and files; the standard library, NumPy, SciPy, Pillow and
PyTorch by version and replaced functions.
"""

# Why code is followed
#
# Problem. A model is a Python object: weights, but also functions, closures, hooks, settings, and files and environment
# variables that its code reads. Cached activations must be those of exactly this object, or be computed again.
#
# Sources. The data model of Python (code objects, closures, slots); PEP 578 (audit hooks), which `opened_files` uses;
# joblib.Memory, whose keys have the arguments and the source of a function, but not of those that it calls.
#
# What else was tried or considered, and why not.
# - The model's identifier as the key (considered): two versions of a model would share activations.
# - Weights only (considered): preprocessing, hooks and settings change activations too.
# - The text of source files (considered): a function that was replaced at run time is not in them. Functions count as
#   they run, by code and captured values.
# - All installed packages as source (considered): O(gigabytes) for each key. They count by version and files.
# - Omitting what hides its state (considered): a wrong hit. `NotDigestibleError` switches the cache off, with a reason.
#
# Cost. O(bytes of the weights, and of the source that is followed), for each key.
#
# Where it breaks. Web addresses, and files that a compiled library opens, are invisible: such preprocessing needs an
# attribute `cache_version`. If code computes the name of an environment variable, all variables count.

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import logging
import sys
import types
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.identity.digest import content_digest
from brainscore_vision.identity.sources import (
    BY_VERSION,
    LONGEST_PATH,
    Value,
    describe_sources,
    file_of,
    function_in,
    has_hidden_state,
    is_own_function,
    is_own_module,
    names_in,
    note_counted,
    own_module,
    qualified_name,
    replaced_functions,
    source_digest,
    version_of,
)

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = [
    "NotDigestibleError",
    "describe",
    "describe_module",
    "describe_replaced",
    "describe_structure",
    "describe_weights",
    "preprocessing_digest",
    "probe_image",
]

Description = Any  # what `content_digest` takes: nested lists of plain values and arrays

_PRIMITIVES = (type(None), bool, int, float, str, bytes)
_HARMLESS = frozenset({"_thread", "re", "types", "typing", "typing_extensions"})  # locks, patterns, type variables
_BUILTIN = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
# Access to slots and C structures, besides functions and values.
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType)


class NotDigestibleError(TypeError):
    """A part that may change the result has no digest."""


def describe(value: Value) -> Description:
    """Turn a value into nested lists that `brainscore_core.identity.digest.content_digest` takes.

    Plain values, arrays, tensors, PyTorch modules, functions (with file and captured values), partial functions,
    classes, enumerations, and objects with such attributes have a description; `NotDigestibleError` for other values or
    references to them, or too deep references.
    """
    return _complete(lambda survey: survey.value(value, ()))


def describe_module(module: nn.Module) -> Description:
    """Describe structure and weights of a PyTorch module."""
    return _complete(lambda survey: survey.module(module, ()))


def describe_structure(module: nn.Module) -> Description:
    """Describe class, code, settings, attributes and hooks of each submodule."""
    return _complete(lambda survey: survey.structure(module, ()))


def describe_weights(module: nn.Module) -> Description:
    """Describe parameters, buffers and extra state."""
    return _complete(lambda survey: survey.weights(module, ()))


def describe_replaced(namespace: Mapping[str, Value], module_name: str) -> list[Description]:
    """Describe a package's functions replaced by foreign code."""
    return [[name, describe(value)] for name, value in replaced_functions(namespace, module_name)]


def _complete(describe_root: Callable[[_Survey], Description]) -> Description:
    survey = _Survey()
    try:
        return survey.completed(describe_root(survey))
    except RecursionError as error:
        raise NotDigestibleError("it refers to other objects too deeply") from error


class _Survey:
    """Describe values; number code and global objects in order of appearance, each described once, at the end.

    `parents` holds the `id` of each container of a value, outermost first: both end cycles.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._queue: list[tuple[Value, Callable[[Value], Description]]] = []
        self._modules: set[str] = set()  # of users

    def completed(self, description: Description) -> Description:
        # The queue grows while it is described.
        objects = [describe_object(value) for value, describe_object in self._queue]
        sources = describe_sources(self._modules) if self._modules else []
        return [description, objects, sources] if objects or sources else description

    def _once(self, value: Value, describe_object: Callable[[Value], Description]) -> Description:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._queue)
            self._queue.append((value, describe_object))  # the reference keeps the id from being reused
        return ["number", self._numbers[id(value)]]

    # --- values ------------------------------------------------------------------------------------------------------

    def value(self, value: Value, parents: tuple[int, ...]) -> Description:
        if isinstance(value, enum.Enum):
            return ["enum", self._once(type(value), self._class), value.name]
        if isinstance(value, (*_PRIMITIVES, np.generic)):
            return self._text(value) if isinstance(value, str) else value
        if isinstance(value, Path):
            return _noted(value) if value.is_file() else ["path", str(value)]
        if isinstance(value, np.dtype):
            return ["dtype", value.str]
        if isinstance(value, np.ndarray):
            return self._array(value, parents)
        if id(value) in parents:
            return ["again", len(parents) - parents.index(id(value))]
        inside = (*parents, id(value))
        if isinstance(value, Mapping):
            items = [[self.value(key, inside), self.value(item, inside)] for key, item in value.items()]
            return ["mapping", type(value).__qualname__, items]
        if isinstance(value, Set):
            # Each separately: a set's order differs between processes, and numbers follow the order.
            items = [_complete(functools.partial(_Survey.value, value=item, parents=inside)) for item in value]
            return ["set", sorted(map(content_digest, items))]
        if isinstance(value, Sequence):
            return ["sequence", type(value).__qualname__, [self.value(item, inside) for item in value]]
        return self._code(value, inside)

    def _text(self, text: str) -> Description:
        if not 0 < len(text) < LONGEST_PATH or "\0" in text or "\n" in text:
            return text
        if own_module(text) is not None:
            self._modules.add(text)
        try:
            return ["file", text, _noted(Path(text))] if Path(text).is_file() else text
        except OSError:
            return text

    def _array(self, array: npt.NDArray[np.generic], parents: tuple[int, ...]) -> Description:
        if array.dtype.hasobject:
            return ["objects", list(array.shape), [self.value(item, parents) for item in array.ravel().tolist()]]
        return array

    def _code(self, value: Value, parents: tuple[int, ...]) -> Description:
        if isinstance(value, functools.partial):
            return ["partial", *(self.value(part, parents) for part in (value.func, value.args, value.keywords))]
        if isinstance(value, types.FunctionType):
            return [self._digest(value.__module__, value), self._once(value, self._function)]
        if isinstance(value, types.MethodType):
            return ["method", self.value(value.__func__, parents), self.value(value.__self__, parents)]
        if isinstance(value, type):
            return ["class", self._once(value, self._class)]
        if isinstance(value, np.ufunc):  # before NumPy 2.2 without a module and a qualified name
            versions = [version_of(name) for name in ("numpy", "scipy")]
            return ["ufunc", getattr(value, "__module__", None), value.__name__, value.types, versions]
        if isinstance(value, _BUILTIN):
            return ["builtin", qualified_name(value), version_of(getattr(value, "__module__", None) or "builtins")]
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__, self._digest(value.__name__, value)]
        if isinstance(value, weakref.ref):
            return ["reference", self.value(value(), parents)]
        if isinstance(value, logging.Logger):
            return ["logger"]  # does not change results
        return self._object(value, parents)

    def _object(self, value: Value, parents: tuple[int, ...]) -> Description:
        top = type(value).__module__.partition(".")[0]
        if hasattr(value, "state_dict") and hasattr(value, "named_modules"):
            return self.module(value, parents)
        if top == "torch":
            if hasattr(value, "detach"):
                return _tensor_values(value)
            if type(value).__qualname__ in ("device", "dtype", "layout", "memory_format"):
                return ["torch", type(value).__qualname__, str(value)]
        if type(value) is object:  # a sentinel
            return ["object"]
        if has_hidden_state(type(value)):
            raise NotDigestibleError(f"a {type(value).__module__}.{type(value).__qualname__} may hold hidden state")
        state = dict(vars(value))
        generator = state.get("gen")
        unstarted = isinstance(generator, types.GeneratorType) and (
            inspect.getgeneratorstate(generator) == inspect.GEN_CREATED
        )
        if isinstance(value, contextlib.ContextDecorator) and unstarted:
            del state["gen"]  # made by `contextlib.contextmanager`: as a decorator, it restarts with every call
        return ["object", self._once(type(value), self._class), self.value(state, parents)]

    # --- PyTorch -----------------------------------------------------------------------------------------------------

    def module(self, module: nn.Module, parents: tuple[int, ...]) -> Description:
        return ["nn.Module", self.structure(module, parents), self.weights(module, parents)]

    def structure(self, module: nn.Module, parents: tuple[int, ...]) -> Description:
        from torch import nn  # heavy; imported already where there is a PyTorch module

        inside = (*parents, id(module))
        internal = vars(nn.Module())
        parts = []
        switches = (nn.Module.train, nn.Module.eval)
        evaluated = all((type(part).train, type(part).eval) == switches for part in module.modules())
        for name, part in module.named_modules():
            state = vars(part)
            own = {key: value for key, value in state.items() if key not in internal}
            hooks = [list(state[key].values()) for key in ("_forward_hooks", "_forward_pre_hooks") if state.get(key)]
            kind = [self._once(type(part), self._class), part.extra_repr() if hasattr(part, "extra_repr") else ""]
            if not evaluated:  # otherwise activations are taken in evaluation mode
                own["training"] = part.training
            parts.append([name, kind, *(self.value(items, inside) if items else None for items in (own, hooks))])
        return parts

    def weights(self, module: nn.Module, parents: tuple[int, ...]) -> Description:
        inside = (*parents, id(module))
        tensors = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
        extra = [(key, value) for key, value in module.state_dict().items() if "_extra_state" in key]
        values = [[name, _tensor_values(tensor)] for name, tensor in tensors]
        return [values, [[key, self.value(value, inside)] for key, value in extra]]

    # --- code --------------------------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType) -> Description:
        try:
            captured = [self.value(cell.cell_contents, ()) for cell in function.__closure__ or ()]
        except ValueError as error:  # a cell that is still empty
            raise NotDigestibleError(f"{qualified_name(function)} is not complete") from error
        bytecode = self._bytecode(function.__code__)
        names = self._globals_of_own(function) if is_own_function(function) else self._globals_of_installed(function)
        return [function.__module__, function.__qualname__, captured, bytecode, self._defaults(function), names]

    def _defaults(self, function: types.FunctionType) -> list[Description]:
        by_name = function.__kwdefaults__ or {}
        values = [*(function.__defaults__ or ()), *by_name.values()]
        # A plain object is a sentinel; it holds nothing.
        return [list(by_name), [["mark"] if type(value) is object else self.value(value, ()) for value in values]]

    def _globals_of_own(self, function: types.FunctionType) -> list[Description]:
        """Describe values that user code finds by name in its module and user modules there."""
        names = {name for text in names_in(function.__code__) for name in (text, *text.split("."))}
        home = function.__globals__
        values = {name: home[name] for name in sorted(names) if name in home}
        packages = {f"{home.get('__package__')}.{name}" for name in names}
        values |= {name: module for name in sorted(names | packages) if (module := own_module(name)) is not None}
        self._add_module(function.__module__)
        described, waiting, seen = [], list(values.items()), set[int]()
        while waiting:
            path, value = waiting.pop()
            described.append([path, self._global(value)])
            if isinstance(value, types.ModuleType) and own_module(value.__name__) is value and id(value) not in seen:
                seen.add(id(value))
                waiting += [(f"{path}.{name}", vars(value)[name]) for name in sorted(names & vars(value).keys())]
        return described

    def _global(self, value: Value) -> Description:
        if callable(value) and not isinstance(value, (types.FunctionType, type)):
            value = inspect.unwrap(value)  # such as a result of `lru_cache`
        if isinstance(value, (types.FunctionType, type, types.ModuleType)):
            name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
            own = is_own_function(value) if isinstance(value, types.FunctionType) else self._add_module(name)
            described = [name, self._digest_or_version(name, value)]
            if own and not isinstance(value, types.ModuleType):
                described.append(self._once(value, self._class if isinstance(value, type) else self._function))
            return described
        if value is None or isinstance(value, (*_PRIMITIVES, tuple)):
            return self._global_value(value)
        return self._once(value, self._global_value)

    def _global_value(self, value: Value) -> Description:
        try:
            return self.value(value, ())
        except NotDigestibleError:
            if type(value).__module__ in _HARMLESS and not isinstance(value, types.SimpleNamespace):
                return ["standard", qualified_name(value), getattr(value, "pattern", None)]
            raise

    def _globals_of_installed(self, function: types.FunctionType) -> list[Description]:
        """Describe a module's plain values, and the files of its functions, classes and modules."""
        described: list[Description] = []
        for name in sorted(names_in(function.__code__) & function.__globals__.keys()):
            value = function.__globals__[name]
            if isinstance(value, (types.FunctionType, type, types.ModuleType)):
                module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
                described.append([name, module, self._digest_or_version(module, value)])
            elif isinstance(value, (*_PRIMITIVES, np.ndarray)) and value is not None:
                described.append([name, self.value(value, ())])
        return described

    def _bytecode(self, code: types.CodeType) -> list[Description]:
        constants = [self._constant(part) for part in code.co_consts]
        return [code.co_firstlineno, code.co_code, list(code.co_names), constants]

    def _constant(self, part: Value) -> Description:
        if isinstance(part, types.CodeType):
            return self._bytecode(part)
        if isinstance(part, (tuple, frozenset)):
            items = [content_digest(self._constant(item)) for item in part]
            # The order of a set differs between processes.
            return [type(part).__name__, sorted(items) if isinstance(part, frozenset) else items]
        return repr(part) if not isinstance(part, str) else ["text", self._text(part)]

    def _class(self, cls: type) -> list[Description]:
        described: list[Description] = []
        for base in cls.__mro__:
            functions = {name: function for name, part in vars(base).items() if (function := function_in(part))}
            if base.__module__.partition(".")[0] in BY_VERSION:
                foreign = replaced_functions(functions, base.__module__)
                replaced = [[name, self.value(function, ())] for name, function in foreign]
                described.append([base.__module__, base.__qualname__, version_of(base.__module__), replaced])
            elif base is not cls:
                described.append(self._once(base, self._class))
            else:
                bodies = [[name, self._once(function, self._function)] for name, function in functions.items()]
                values = self._class_values(base, set(functions))
                described.append([base.__module__, base.__qualname__, self._digest(base.__module__, base)])
                described.append([bodies, values])
        return described

    def _class_values(self, cls: type, functions: Set[str]) -> Description:
        described = []
        for name, value in vars(cls).items():
            if name in functions or name.startswith("__") or name == "_abc_impl" or isinstance(value, _DESCRIPTORS):
                continue
            # A member of an enumeration refers to its class, which is being described.
            plain = value.value if isinstance(value, cls) and isinstance(value, enum.Enum) else value
            if is_own_module(cls.__module__, file_of(cls.__module__)):
                described.append([name, self._global(plain)])
            elif isinstance(plain, _PRIMITIVES):
                described.append([name, self.value(plain, ())])
        return described

    # --- files -------------------------------------------------------------------------------------------------------

    def _add_module(self, name: str | None) -> bool:
        """Follow a module if it belongs to a user; return whether it does."""
        if name is None or not is_own_module(name, file_of(name)):
            return False
        if own_module(name) is not None:
            self._modules.add(name)
        return True

    def _digest_or_version(self, module: str, value: Value) -> str:
        try:
            return self._digest(module, value)
        except NotDigestibleError:  # compiled code, such as that of OpenCV
            return version_of(module)

    def _digest(self, module_name: str | None, code: Value) -> str:
        top = (module_name or "").partition(".")[0]
        if top in BY_VERSION:
            return version_of(top)
        if isinstance(code, types.FunctionType) and code.__code__.co_filename == "<string>":
            # Generated, like methods of dataclasses: `_function` describes its code, this its module.
            code = sys.modules.get(code.__module__, code)
        try:
            file = inspect.getsourcefile(code)
        except TypeError as error:
            raise NotDigestibleError(f"the source code of {qualified_name(code)} is not available") from error
        if file is None or not Path(file).is_file():
            raise NotDigestibleError(f"the source code of {qualified_name(code)} is not available")
        note_counted(file)
        self._add_module(module_name)
        return f"{version_of(top)} {source_digest(file)}"


def _noted(path: Path) -> Path:
    note_counted(path)
    return path


def _tensor_values(tensor: torch.Tensor) -> Description:
    import torch  # heavy; as above

    values = tensor.detach().cpu().contiguous()
    kind = [str(values.dtype), list(values.shape)]
    if values.is_quantized or values.layout != torch.strided:
        raise NotDigestibleError(f"a tensor of layout {values.layout} has no digest")
    flat = values.reshape(-1)
    return ["tensor", kind, flat.view(torch.uint8).numpy() if flat.numel() else b""]


# -- preprocessing -----------------------------------------------------------------------------------------------------
# Digest preprocessing functions by code and result for a probe image.


def preprocessing_digest(preprocess: Callable[[list[str]], object] | None) -> str:
    """Return a digest of a preprocessing function: its code, arguments and result for a probe image.

    An attribute ``cache_version`` (of the function, also inside a `functools.partial`) replaces code and arguments.
    `NotDigestibleError` if a part has no digest, or results for one image differ.
    """
    if preprocess is None:
        return content_digest(None)
    declared = getattr(preprocess, "cache_version", None)
    code = [qualified_name(preprocess), declared] if declared is not None else describe(preprocess)
    try:
        with TemporaryDirectory(prefix="brainscore-probe-") as folder:
            path = Path(folder) / "probe.png"
            probe_image().save(path)
            try:
                first, second = (content_digest(describe(preprocess([str(path)]))) for _ in range(2))
            except Exception as error:  # a plugin's code may fail in any way; that only costs the cache
                raise NotDigestibleError(f"{qualified_name(preprocess)} fails on a probe image: {error}") from error
    except OSError as error:
        raise NotDigestibleError(f"the probe image cannot be written: {error}") from error
    if first != second:
        raise NotDigestibleError(
            f"{qualified_name(preprocess)} is random: it gives different results for the same image."
        )
    return content_digest(code, first)


def probe_image() -> Image.Image:
    """Return a fixed image of 300 x 260 pixels with gradients, edges and fine texture."""
    y, x = np.mgrid[0:260, 0:300]
    red = x * 255 // 299
    green = (x * 37 + y * 91) % 256
    blue = np.where((x // 13 + y // 7) % 2 == 0, y * 255 // 259, 255)
    return Image.fromarray(np.stack([red, green, blue], axis=-1).astype(np.uint8))
