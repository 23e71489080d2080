"""Names of objects for messages and logs."""

__all__ = ["fullname"]


def fullname(obj: object) -> str:
    """Return module (unless builtins) and qualified name of an object's class, or of a class or function.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> fullname(OrderedDict()), fullname(fullname), fullname(3)
    ('collections.OrderedDict', 'brainscore_vision.utils._names.fullname', 'int')
    """
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    name = str(named.__qualname__)
    return name if module in (None, "builtins") else f"{module}.{name}"
