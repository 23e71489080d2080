"""Small tools, independent of models and benchmarks: load content when it is first used, and name objects."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["LazyLoad", "fullname", "loaded"]

Content = Any  # any object


class LazyLoad:
    """A stand-in that loads its content on first use.

    Attributes, indexing, calls, iteration, `len`, `isinstance` and operators act on the loaded content. `type(lazy)`
    remains `LazyLoad`, and hashing goes by identity.

    Attributes
    ----------
    content : object
        The loaded content; None before.

    Examples
    --------
    >>> lazy = LazyLoad(lambda: [3, 1, 2])
    >>> sorted(lazy), len(lazy), lazy + [4], isinstance(lazy, list)
    ([1, 2, 3], 3, [3, 1, 2, 4], True)
    """

    _own = frozenset({"load_fnc", "content", "_loaded"})

    def __init__(self, load_fnc: Callable[[], Content]) -> None:
        self.load_fnc = load_fnc
        self.content: Content = None
        self._loaded = False

    def reload(self) -> None:
        """Load the content again."""
        self.content = self.load_fnc()
        self._loaded = True

    def _load(self) -> Content:
        if not self._loaded:
            self.reload()
        return self.content

    def __getattr__(self, name: str) -> Content:
        # Before __init__ has run (copy, pickle) there is no content.
        if name in LazyLoad._own:
            raise AttributeError(name)
        return getattr(self._load(), name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in LazyLoad._own:
            object.__setattr__(self, name, value)
        else:
            setattr(self._load(), name, value)

    @property  # type: ignore[misc]  # isinstance() sees the class of the content
    def __class__(self) -> type:
        return type(self._load())

    def __getitem__(self, item: Content) -> Content:
        return self._load()[item]

    def __setitem__(self, item: Content, value: object) -> None:
        self._load()[item] = value

    def __call__(self, *args: Content, **kwargs: Content) -> Content:
        """Call the content."""
        return self._load()(*args, **kwargs)

    def __len__(self) -> int:
        return len(self._load())

    def __bool__(self) -> bool:
        return bool(self._load())

    def __iter__(self) -> Iterator[Content]:
        return iter(self._load())

    def __contains__(self, item: object) -> bool:
        return item in self._load()

    def __array__(self, *args: Content, **kwargs: Content) -> Content:
        import numpy as np  # heavy; only needed for arrays

        return np.asarray(self._load(), *args, **kwargs)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return repr(self._load())

    def __reduce__(self) -> tuple[type, tuple[Callable[[], Content]]]:
        return LazyLoad, (self.load_fnc,)


def _forward(operation: Callable[[Content, Content], Content]) -> Callable[[LazyLoad, Content], Content]:
    def method(self: LazyLoad, other: Content) -> Content:
        return operation(loaded(self), loaded(other))

    return method


def _forward_reflected(operation: Callable[[Content, Content], Content]) -> Callable[[LazyLoad, Content], Content]:
    def method(self: LazyLoad, other: Content) -> Content:
        return operation(loaded(other), loaded(self))

    return method


def loaded(value: Content) -> Content:
    """Return the content of a `LazyLoad`, and anything else unchanged."""
    return value._load() if type(value) is LazyLoad else value  # noqa: SLF001 - this module's class


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(LazyLoad, f"__{_name}__", _forward(getattr(operator, _name)))
    setattr(LazyLoad, f"__r{_name}__", _forward_reflected(getattr(operator, _name)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(LazyLoad, f"__{_name}__", _forward(getattr(operator, _name)))


# -- names -------------------------------------------------------------------------------------------------------------


def fullname(obj: object) -> str:
    """Return module (unless builtins) and qualified name of an object's class, or of a class or function.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> fullname(OrderedDict()), fullname(fullname), fullname(3)
    ('collections.OrderedDict', 'brainscore_vision.utils.fullname', 'int')
    """
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    name = str(named.__qualname__)
    return name if module in (None, "builtins") else f"{module}.{name}"
