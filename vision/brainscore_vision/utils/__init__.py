"""Small tools, independent of models and benchmarks."""

from brainscore_vision.utils._lazy import LazyLoad, loaded
from brainscore_vision.utils._names import fullname

__all__ = ["LazyLoad", "fullname", "loaded"]
