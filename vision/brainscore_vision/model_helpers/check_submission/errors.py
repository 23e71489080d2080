"""Define the error of failed checks."""

from brainscore_core.errors import BrainScoreError

__all__ = ["ModelCheckError"]


class ModelCheckError(BrainScoreError, AssertionError):
    """A model fails a check."""
