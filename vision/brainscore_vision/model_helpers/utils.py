"""Published plugins import this from here."""

from brainscore_vision.utils import fullname

__all__ = ["fullname"]
