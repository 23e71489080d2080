"""Define every exception the library raises.

Each class is also the builtin exception a caller would catch, and ``AssertionError`` where published plugins catch it.
Messages state the value, its place, the expectation and the remedy.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence

__all__ = [
    "AssemblyError",
    "BrainScoreError",
    "CandidateDiedError",
    "CandidateError",
    "CandidateTimeoutError",
    "CeilingError",
    "ChecksumError",
    "ClusterError",
    "ConfigurationError",
    "ContractError",
    "CorruptFileError",
    "DataNotHereError",
    "DownloadError",
    "DuplicateIdentifierError",
    "InvalidAnswerError",
    "IsolationError",
    "LayerNotFoundError",
    "LockTimeoutError",
    "MissingStimulusError",
    "ModelChangedError",
    "NotApplicableError",
    "OfflineError",
    "PeerClosedError",
    "PeerTimeoutError",
    "PluginError",
    "PrivateDataError",
    "ProtocolError",
    "RecordsError",
    "RequirementsError",
    "StateChangedError",
    "StimulusError",
    "UnavailableError",
    "UnknownIdentifierError",
    "UploadError",
    "ValidationError",
    "count",
    "did_you_mean",
    "harmless",
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


class UnavailableError(UnknownIdentifierError):
    """A known name cannot be loaded; the message says why."""


class DuplicateIdentifierError(BrainScoreError, ValueError, AssertionError):
    """More than one plugin registers the same identifier."""


class ClusterError(BrainScoreError, RuntimeError):
    """Machines for scoring cannot be reached, or are gone."""


class PluginError(BrainScoreError, ImportError, AssertionError):
    """A plugin cannot be parsed or imported."""


class RequirementsError(BrainScoreError, RuntimeError):
    """The requirements of a plugin cannot be installed."""


class ValidationError(BrainScoreError, ValueError, AssertionError):
    """Data break the data standard."""


class AssemblyError(ValidationError):
    """An assembly breaks the data standard; the message lists every problem at once."""


class StimulusError(ValidationError):
    """A stimulus set breaks the data standard or a stimulus cannot be decoded."""


class MissingStimulusError(StimulusError, FileNotFoundError):
    """A listed stimulus file does not exist."""

    # This one of its builtin bases decides an instance's layout in memory. tblib, which dask loads, copies by calling
    # `__new__` as it is found, and would find the one of the other base.
    __new__ = FileNotFoundError.__new__  # type: ignore[assignment] # that of `object` takes no arguments


class ChecksumError(BrainScoreError, OSError):
    """A file does not have the promised digest."""


class DownloadError(BrainScoreError, OSError):
    """A file cannot be fetched."""


class UploadError(BrainScoreError, OSError):
    """A file cannot be stored at a remote place."""


class PrivateDataError(DownloadError):
    """A file is private, and no credentials here give access."""


class OfflineError(DownloadError):
    """A file is not here, and ``BRAINSCORE_OFFLINE=1`` forbids downloading it.

    `absent` is the missing file and its place, such as ``"s3://... is not at /home/..."``; may be empty.
    """

    def __init__(self, message: str = "", absent: str = "") -> None:
        super().__init__(message)
        self.absent = absent


class DataNotHereError(DownloadError):
    """Data of a benchmark are neither on this machine nor available."""


class CorruptFileError(BrainScoreError, OSError):
    """A file is truncated or is not of the format it claims."""


class LockTimeoutError(BrainScoreError, TimeoutError):
    """Another process held a lock for longer than this one may wait."""


class IsolationError(BrainScoreError, RuntimeError):
    """A program cannot be put into a box, so it does not run."""


class NotApplicableError(BrainScoreError):
    """A model cannot take a benchmark by its nature; its record says why and is not a failure.

    After the model has seen stimuli, it is scored 0 for this reason.
    """


class LayerNotFoundError(BrainScoreError, KeyError, AssertionError):
    """A model has no layer of the requested name."""


class ModelChangedError(BrainScoreError, RuntimeError):
    """A model changed during a recording."""


class CeilingError(BrainScoreError, ValueError):
    """A ceiling is not a number that a score can be divided by."""


class ContractError(BrainScoreError, TypeError, ValueError):
    """A metric, a score or the result of a factory breaks the contract between two parts."""


class RecordsError(BrainScoreError, OSError):
    """Records cannot be read or written: damaged files, a full or read-only disk."""


class ProtocolError(BrainScoreError, ValueError):
    """A message breaks the protocol of a connection, or a value cannot be sent over it."""


class PeerClosedError(ProtocolError):
    """The other side of a connection has closed it."""


class PeerTimeoutError(ProtocolError):
    """The other side of a connection did not answer in time."""


class CandidateError(BrainScoreError, RuntimeError):
    """A candidate in its own process raised an error of an unknown class."""


class CandidateDiedError(CandidateError):
    """A candidate's process ended or closed its connection before it answered."""


class CandidateTimeoutError(CandidateError):
    """A candidate in its own process did not answer in time."""


class InvalidAnswerError(CandidateError, ValueError):
    """A candidate in its own process gave an answer that does not fit the question."""


class StateChangedError(CandidateError):
    """A candidate's state differs from the state of its earlier answers; ask for all of them again."""


def harmless(text: str) -> str:
    r"""Return the text with JSON's ``\u001b`` for each character that could act on a terminal or reorder a line.

    These are all unprintable ones except line breaks, tabulators and U+2060, which keeps words together.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t\u2060" else json.dumps(character)[1:-1]
        for character in text
    )


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return up to `most` known names closest to a wrong one, best first, ignoring case.

    Examples
    --------
    >>> nearest('neuroids', ['region', 'neuroid', 'subject'])
    ['neuroid']
    """
    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.casefold(), candidate)
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=most, cutoff=0.6)
    return [by_folded[match] for match in matches]


def did_you_mean(name: object, known: Iterable[object], most: int = 1) -> str:
    """Return a sentence that suggests the `nearest` names, with a leading space; empty if none is near."""
    close = nearest(str(name), map(str, known), most)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, such as '1 plugin' or '1,300 entries'."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(lines: Sequence[str], most: int = 10) -> str:
    """Return the first items, one a line and indented, and the number of others."""
    rest = [f"... and {len(lines) - most} more"] if len(lines) > most else []
    return "".join(f"\n  {line}" for line in [*lines[:most], *rest])
