"""Digest what changes activations: weights, the structure and code of modules, preprocessing.

Everything here either counts or raises `NotDigestibleError`; nothing is left out silently, because a key that misses a
part would give wrong activations from the cache. The code of users is followed from module to module, with the values
that it finds there, the files that it names and the variables of the environment that it reads. Of installed packages
the version and the files count, and of the standard library, NumPy, SciPy, Pillow and PyTorch the version, besides what
has been put in place of their parts.
"""

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
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from brainscore_core.identity.digest import content_digest
from brainscore_vision.model_helpers.activations.sources import (
    BY_VERSION,
    STANDARD,
    describe_sources,
    is_own_module,
    note_counted,
    own_module,
    source_digest,
)

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = [
    "NotDigestibleError",
    "describe",
    "describe_module",
    "describe_structure",
    "describe_weights",
    "foreign_functions",
    "preprocessing_digest",
    "probe_image",
]

Value = Any  # anything that a model may hold
Description = Any  # what `content_digest` takes: nested lists of plain values and arrays

_PRIMITIVES = (type(None), bool, int, float, str, bytes)
_HARMLESS = frozenset({"_thread", "re", "types", "typing", "typing_extensions"})  # locks, patterns, type variables
_LONGEST_PATH = 1024
_BUILTIN = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc)
# What a class holds besides its functions and values: access to slots and to C structures, and what `abc` keeps.
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType)


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
    try:
        with TemporaryDirectory(prefix="brainscore-probe-") as folder:
            path = Path(folder) / "probe.png"
            probe_image().save(path)
            first, second = _outcomes(preprocess, str(path))
    except OSError as error:
        raise NotDigestibleError(f"no probe image can be written: {error}") from error
    if first != second:
        raise NotDigestibleError(f"{_qualified_name(preprocess)} is random: the same image gives different results.")
    return content_digest(code, first)


def _outcomes(preprocess: Callable[[list[str]], object], path: str) -> list[str]:
    try:
        return [content_digest(describe(preprocess([path]))) for _ in range(2)]
    except Exception as error:  # another's code may fail in any way; it only costs the cache
        raise NotDigestibleError(f"{_qualified_name(preprocess)} fails on a probe image: {error}") from error


def probe_image() -> Image.Image:
    """Return an image of 300 x 260 pixels with gradients, edges and fine texture, always the same."""
    y, x = np.mgrid[0:260, 0:300]
    red = x * 255 // 299
    green = (x * 37 + y * 91) % 256
    blue = np.where((x // 13 + y // 7) % 2 == 0, y * 255 // 259, 255)
    return Image.fromarray(np.stack([red, green, blue], axis=-1).astype(np.uint8))


def describe(value: Value) -> Description:
    """Turn a value into what `brainscore_core.identity.store.content_digest` takes.

    Parameters
    ----------
    value : anything
        Plain values, arrays, tensors, PyTorch modules, functions (with the file they are defined in and what they
        have captured), partial functions, classes, enumerations, and objects whose attributes are such.

    Raises
    ------
    NotDigestibleError
        For anything else, and for what refers to too much.
    """
    return _complete(lambda survey: survey.value(value, ()))


def describe_module(module: nn.Module) -> Description:
    """Describe a PyTorch module: weights and buffers, and class, code, settings and attributes of each submodule."""
    return _complete(lambda survey: survey.module(module, ()))


def describe_structure(module: nn.Module) -> Description:
    """Describe class, code, settings, attributes and hooks of a PyTorch module and of each submodule."""
    return _complete(lambda survey: survey.structure(module, ()))


def describe_weights(module: nn.Module) -> Description:
    """Describe parameters, buffers and what else the modules keep with them."""
    return _complete(lambda survey: survey.weights(module, ()))


def foreign_functions(namespace: Mapping[str, Value], module_name: str) -> list[Description]:
    """Describe the functions that somebody has put in place of those of a package."""
    return [[name, describe(value)] for name, value in _foreign(namespace, module_name)]


def _complete(describe_root: Callable[[_Survey], Description]) -> Description:
    survey = _Survey()
    try:
        return survey.completed(describe_root(survey))
    except RecursionError as error:
        raise NotDigestibleError("it refers to too much") from error


class _Survey:
    """Describe values, and once each piece of code and each object that code finds, wherever it is met.

    These are numbered in the order in which they are met and described at the end, which ends cycles and repeats
    nothing. `parents` is the `id` of what holds a value, from the outside, so that cycles of values end too.
    """

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._met: list[tuple[Value, Callable[[Value], Description]]] = []
        self._modules: set[str] = set()  # of users

    def completed(self, described: Description) -> Description:
        """Add what was met on the way to a description."""
        # The list grows while it is described.
        met = [describe_met(value) for value, describe_met in self._met]
        sources = describe_sources(self._modules) if self._modules else []
        return [described, met, sources] if met or sources else described

    def _once(self, value: Value, describe_met: Callable[[Value], Description]) -> Description:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._met)
            self._met.append((value, describe_met))  # kept, so that nothing else gets its id
        return ["number", self._numbers[id(value)]]

    # --- values ------------------------------------------------------------------------------------------------------

    def value(self, value: Value, parents: tuple[int, ...]) -> Description:
        """Describe anything; raise `NotDigestibleError` for what has no digest."""
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
            # Each by itself: the order of a set differs from process to process, and numbers follow the order.
            items = [_complete(functools.partial(_Survey.value, value=item, parents=inside)) for item in value]
            return ["set", sorted(map(content_digest, items))]
        if isinstance(value, Sequence):
            return ["sequence", type(value).__qualname__, [self.value(item, inside) for item in value]]
        return self._code(value, inside)

    def _text(self, text: str) -> Description:
        """Describe a text, and what it names: the content of a file, a module of a user."""
        if not 0 < len(text) < _LONGEST_PATH or "\0" in text or "\n" in text:
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
        if isinstance(value, _BUILTIN):
            return ["builtin", _qualified_name(value), _version_of(getattr(value, "__module__", None) or "builtins")]
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
        if type(value) is object:  # a mark that is only compared with itself
            return ["object"]
        if _has_hidden_state(type(value)):
            raise NotDigestibleError(f"a {type(value).__module__}.{type(value).__qualname__} may hold hidden state")
        state = dict(vars(value))
        if isinstance(value, contextlib.ContextDecorator) and _has_not_begun(state.get("gen")):
            # What `contextlib.contextmanager` makes: as a decorator, it begins anew with every call.
            del state["gen"]
        return ["object", self._once(type(value), self._class), self.value(state, parents)]

    # --- PyTorch -----------------------------------------------------------------------------------------------------

    def module(self, module: nn.Module, parents: tuple[int, ...]) -> Description:
        """See `describe_module`."""
        return ["nn.Module", self.structure(module, parents), self.weights(module, parents)]

    def structure(self, module: nn.Module, parents: tuple[int, ...]) -> Description:
        """See `describe_structure`."""
        inside = (*parents, id(module))
        internal = _module_internals()
        parts = []
        evaluated = all(map(_has_own_modes, {type(part) for part in module.modules()}))
        for name, part in module.named_modules():
            state = vars(part)
            own = {key: value for key, value in state.items() if key not in internal}
            hooks = [list(state[key].values()) for key in ("_forward_hooks", "_forward_pre_hooks") if state.get(key)]
            kind = [self._once(type(part), self._class), part.extra_repr() if hasattr(part, "extra_repr") else ""]
            if not evaluated:  # else in eval mode, which is how activations are taken
                own["training"] = part.training
            parts.append([name, kind, *(self.value(given, inside) if given else None for given in (own, hooks))])
        return parts

    def weights(self, module: nn.Module, parents: tuple[int, ...]) -> Description:
        """See `describe_weights`."""
        inside = (*parents, id(module))
        tensors = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
        extra = [(key, value) for key, value in module.state_dict().items() if "_extra_state" in key]
        values = [[name, _tensor_values(tensor)] for name, tensor in tensors]
        return [values, [[key, self.value(value, inside)] for key, value in extra]]

    # --- code --------------------------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType) -> Description:
        """Describe the code that runs, which need not be that of the file: another may have taken its place since."""
        try:
            captured = [self.value(cell.cell_contents, ()) for cell in function.__closure__ or ()]
        except ValueError as error:  # a cell that is still empty
            raise NotDigestibleError(f"{_qualified_name(function)} is not complete") from error
        bytecode = self._bytecode(function.__code__)
        found = self._found_by_own(function) if _is_own(function) else self._found_by_installed(function)
        return [function.__module__, function.__qualname__, captured, bytecode, self._defaults(function), found]

    def _defaults(self, function: types.FunctionType) -> list[Description]:
        by_name = function.__kwdefaults__ or {}
        values = [*(function.__defaults__ or ()), *by_name.values()]
        # A plain object is a mark for what was not given; it holds nothing.
        return [list(by_name), [["mark"] if type(value) is object else self.value(value, ()) for value in values]]

    def _found_by_own(self, function: types.FunctionType) -> list[Description]:
        """Describe what code of a user finds in its module, and in the modules of users that it finds there."""
        names = {name for text in _names_in(function.__code__) for name in (text, *text.split("."))}
        home = function.__globals__
        found = {name: home[name] for name in sorted(names) if name in home}
        packages = {f"{home.get('__package__')}.{name}" for name in names}
        found |= {name: module for name in sorted(names | packages) if (module := own_module(name)) is not None}
        self._add_module(function.__module__)
        described, waiting, met = [], list(found.items()), set[int]()
        while waiting:
            name, value = waiting.pop()
            described.append([name, self._found(value)])
            if isinstance(value, types.ModuleType) and own_module(value.__name__) is value and id(value) not in met:
                met.add(id(value))
                waiting += [(f"{name}.{each}", vars(value)[each]) for each in sorted(names & vars(value).keys())]
        return described

    def _found(self, value: Value) -> Description:
        """Describe what code of a user finds by a name."""
        if callable(value) and not isinstance(value, (types.FunctionType, type)):
            value = inspect.unwrap(value)  # such as what `lru_cache` returns
        if isinstance(value, (types.FunctionType, type, types.ModuleType)):
            name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
            own = _is_own(value) if isinstance(value, types.FunctionType) else self._add_module(name)
            described = [name, self._digest_or_version(name, value)]
            if own and not isinstance(value, types.ModuleType):
                described.append(self._once(value, self._class if isinstance(value, type) else self._function))
            return described
        if value is None or isinstance(value, (*_PRIMITIVES, tuple)):
            return self._found_value(value)
        return self._once(value, self._found_value)

    def _found_value(self, value: Value) -> Description:
        try:
            return self.value(value, ())
        except NotDigestibleError:
            if type(value).__module__ in _HARMLESS and not isinstance(value, types.SimpleNamespace):
                return ["standard", _qualified_name(value), getattr(value, "pattern", None)]
            raise

    def _found_by_installed(self, function: types.FunctionType) -> list[Description]:
        """Describe what other code finds in its module: plain values, and the files of functions, classes, modules."""
        described: list[Description] = []
        for name in sorted(_names_in(function.__code__) & function.__globals__.keys()):
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
            # The order of a set differs from process to process.
            return [type(part).__name__, sorted(items) if isinstance(part, frozenset) else items]
        return repr(part) if not isinstance(part, str) else ["text", self._text(part)]

    def _class(self, cls: type) -> list[Description]:
        described: list[Description] = []
        for base in cls.__mro__:
            functions = {name: function for name, part in vars(base).items() if (function := _function_of(part))}
            if base.__module__.partition(".")[0] in BY_VERSION:
                replaced = [[name, self.value(each, ())] for name, each in _foreign(functions, base.__module__)]
                described.append([base.__module__, base.__qualname__, _version_of(base.__module__), replaced])
            elif base is not cls:
                described.append(self._once(base, self._class))
            else:
                bodies = [[name, self._once(each, self._function)] for name, each in functions.items()]
                values = self._class_values(base, set(functions))
                described.append([base.__module__, base.__qualname__, self._digest(base.__module__, base)])
                described.append([bodies, values])
        return described

    def _class_values(self, cls: type, functions: Set[str]) -> Description:
        """Describe what else a class holds; of an installed package only plain values."""
        described = []
        for name, value in vars(cls).items():
            if name in functions or name.startswith("__") or name == "_abc_impl" or isinstance(value, _DESCRIPTORS):
                continue
            # A member of an enumeration names its class, which is what is being described.
            plain = value.value if isinstance(value, cls) and isinstance(value, enum.Enum) else value
            if is_own_module(cls.__module__, _file_of(cls.__module__)):
                described.append([name, self._found(plain)])
            elif isinstance(plain, _PRIMITIVES):
                described.append([name, self.value(plain, ())])
        return described

    # --- files -------------------------------------------------------------------------------------------------------

    def _add_module(self, name: str | None) -> bool:
        """Follow a module from here on if it belongs to a user; return whether it does."""
        if name is None or not is_own_module(name, _file_of(name)):
            return False
        if own_module(name) is not None:
            self._modules.add(name)
        return True

    def _digest_or_version(self, module: str, value: Value) -> str:
        try:
            return self._digest(module, value)
        except NotDigestibleError:  # compiled code, such as that of OpenCV
            return _version_of(module)

    def _digest(self, module_name: str | None, code: Value) -> str:
        """Return the digest of the file that code stands in; the version of a package that is identified by it."""
        top = (module_name or "").partition(".")[0]
        if top in BY_VERSION:
            return _version_of(top)
        if isinstance(code, types.FunctionType) and code.__code__.co_filename == "<string>":
            # Made from a text, like methods of dataclasses; what it does is described (`_function`), and here its home.
            code = sys.modules.get(code.__module__, code)
        try:
            file = inspect.getsourcefile(code)
        except TypeError as error:
            raise NotDigestibleError(f"the source code of {_qualified_name(code)} is not available") from error
        if file is None or not Path(file).is_file():
            raise NotDigestibleError(f"the source code of {_qualified_name(code)} is not available")
        note_counted(file)
        self._add_module(module_name)
        return f"{_version_of(top)} {source_digest(file)}"


def _noted(path: Path) -> Path:
    note_counted(path)
    return path


def _file_of(module_name: str) -> str | None:
    file = getattr(sys.modules.get(module_name), "__file__", None)
    return file if isinstance(file, str) else None


def _is_own(function: types.FunctionType) -> bool:
    """Whether a function belongs to a user: neither to an installed package nor to this library."""
    name, file = str(function.__globals__.get("__name__")), function.__code__.co_filename
    return is_own_module(name, _file_of(name) if file == "<string>" else file)


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that code looks up, and its texts, which it may look up too."""
    texts = {part for part in code.co_consts if isinstance(part, str) and len(part) < _LONGEST_PATH}
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return (texts | set(code.co_names)).union(*map(_names_in, inner))


def _has_hidden_state(cls: type) -> bool:
    """Whether instances may hold more than their attributes: in slots, in C structures, in what they pickle."""
    if not hasattr(cls, "__dict__") or not cls.__dictoffset__ or cls.__basicsize__ > _Plain.__basicsize__:
        return True
    own = [vars(base) for base in cls.__mro__[:-1]]
    return any(space.get("__slots__") or "__reduce__" in space or "__reduce_ex__" in space for space in own)


def _has_not_begun(value: Value) -> bool:
    return isinstance(value, types.GeneratorType) and inspect.getgeneratorstate(value) == inspect.GEN_CREATED


def _has_own_modes(cls: type) -> bool:
    """Whether ``eval()`` does to modules of a class what it does to all."""
    from torch import nn  # only reached with a PyTorch module at hand

    return all(getattr(cls, name, None) is getattr(nn.Module, name) for name in ("train", "eval"))


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


def _function_of(part: Value) -> types.FunctionType | None:
    """Return the function that an attribute of a class is or holds."""
    function = part.fget if isinstance(part, property) else getattr(part, "__func__", part)
    return function if isinstance(function, types.FunctionType) else None


def _foreign(namespace: Mapping[str, Value], module_name: str) -> list[tuple[str, types.FunctionType]]:
    """Return the functions that somebody has put in place of those of a package."""
    top = module_name.partition(".")[0]
    functions = [(name, value) for name, value in namespace.items() if isinstance(value, types.FunctionType)]
    homes = [str(value.__globals__.get("__name__", "")).partition(".")[0] for _, value in functions]
    known = {top, "typing_extensions", *STANDARD}
    return [function for function, home in zip(functions, homes, strict=True) if home not in known]


def _version_of(module_name: str) -> str:
    top = module_name.partition(".")[0]
    if top == "builtins" or top in sys.stdlib_module_names:
        return sys.version
    return f"{top} {getattr(sys.modules.get(top), '__version__', '')}"


def _qualified_name(code: Value) -> str:
    named = code if hasattr(code, "__qualname__") else type(code)
    return f"{getattr(named, '__module__', None)}.{named.__qualname__}"
