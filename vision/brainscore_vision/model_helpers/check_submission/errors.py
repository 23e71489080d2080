"""Define what a check raises."""

from __future__ import annotations

from brainscore_core.errors import BrainScoreError

__all__ = ["ModelCheckError"]


class ModelCheckError(BrainScoreError, AssertionError):
    """A model does not do what every model has to."""
