"""Define every exception the library raises.

Each class is also the builtin exception a caller would catch, and where plugins written for the published system catch
``AssertionError``, it is that too. Messages say what was wrong, where, what was expected and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = [
    "AssemblyError",
    "BrainScoreError",
    "CeilingError",
    "ChecksumError",
    "ConfigurationError",
    "CorruptFileError",
    "DownloadError",
    "DuplicateIdentifierError",
    "LayerNotFoundError",
    "MissingStimulusError",
    "PluginError",
    "PrivateDataError",
    "RequirementsError",
    "StimulusError",
    "UnknownIdentifierError",
    "UploadError",
    "did_you_mean",
    "listed",
    "nearest",
]


class BrainScoreError(Exception):
    """Base of every error that Brain-Score raises on purpose; ``str(error)`` is always the plain message."""

    def __str__(self) -> str:
        # KeyError would show the repr of its message, OSError a tuple.
        return str(self.args[0]) if self.args else ""


class ConfigurationError(BrainScoreError, ValueError, AssertionError):
    """A setting or environment variable holds a value that has no meaning."""


class UnknownIdentifierError(BrainScoreError, KeyError, AssertionError):
    """No plugin registers the requested identifier."""


class DuplicateIdentifierError(BrainScoreError, ValueError, AssertionError):
    """More than one plugin registers the same identifier."""


class PluginError(BrainScoreError, ImportError, AssertionError):
    """A plugin cannot be parsed or imported."""


class RequirementsError(BrainScoreError, RuntimeError):
    """The requirements of a plugin cannot be installed."""


class AssemblyError(BrainScoreError, ValueError, AssertionError):
    """An assembly breaks the data standard; the message lists every problem at once."""


class StimulusError(BrainScoreError, ValueError, AssertionError):
    """A stimulus set breaks the data standard or a stimulus cannot be decoded."""


class MissingStimulusError(StimulusError, FileNotFoundError):
    """A stimulus file that is listed does not exist."""


class ChecksumError(BrainScoreError, OSError):
    """A file does not have the promised digest."""


class DownloadError(BrainScoreError, OSError):
    """A file cannot be fetched."""


class UploadError(BrainScoreError, OSError):
    """A file cannot be stored at a remote place."""


class PrivateDataError(DownloadError):
    """A file is private, and there are no credentials here that give access to it."""


class CorruptFileError(BrainScoreError, OSError):
    """A file is truncated or is not of the format it claims."""


class LayerNotFoundError(BrainScoreError, KeyError, AssertionError):
    """A model has no layer of the requested name."""


class CeilingError(BrainScoreError, ValueError):
    """A ceiling is not a number that a score can be divided by."""


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the known names closest to a wrong one, best first.

    There may be none; at most ``most`` are returned. The comparison ignores case.

    Examples
    --------
    >>> nearest('alexnt', ['resnet50', 'alexnet', 'vgg'])
    ['alexnet']
    """
    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=most, cutoff=0.6)
    return [by_folded[match] for match in matches]


def did_you_mean(name: object, known: Iterable[object], most: int = 1) -> str:
    """Return what an error says about the `nearest` names to a wrong one, with a space before it; empty without any.

    Examples
    --------
    >>> did_you_mean('alexnt', ['resnet50', 'alexnet', 'vgg'])
    " Did you mean 'alexnet'?"
    """
    close = nearest(str(name), map(str, known), most)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def listed(lines: Sequence[str], most: int = 10) -> str:
    """Return what an error lists, each on a line of its own, indented; of many the first ones and how many more."""
    rest = [f"... and {len(lines) - most} more"] if len(lines) > most else []
    return "".join(f"\n  {line}" for line in [*lines[:most], *rest])
