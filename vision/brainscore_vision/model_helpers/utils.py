"""Offer under its established name what models use of the library's small tools."""

from brainscore_vision.utils import fullname

__all__ = ["fullname"]
