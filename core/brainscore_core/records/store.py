"""Keep records, and find those there are in a folder or on a branch of git: what need not be scored again."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from brainscore_core.errors import CorruptFileError
from brainscore_core.files import atomic_path
from brainscore_core.git import BlobReader
from brainscore_core.identity import software
from brainscore_core.identity.digest import text_digest
from brainscore_core.records.record import MOST_BYTES, ScoreRecord, record_path, values_path
from brainscore_core.untrusted import read_start

__all__ = [
    "BranchStore",
    "FolderStore",
    "Store",
    "is_recorded",
    "keep",
    "keep_lock",
    "lock_path",
    "read_lock_of",
    "replaces",
    "reuse",
    "why_not_again",
]


def keep(record: ScoreRecord, path: Path, values: bytes = b"", lock: str = "", candidate_lock: str = "") -> ScoreRecord:
    """Write a record after those files beside it whose digests it names, each whole or not at all.

    Parameters
    ----------
    path : Path
        File of the record.
    values : bytes
        Values of single neuroids and subjects, see `brainscore_core.records.values`.
    lock : str
        Installed names and versions (`software.installed`), written once in each folder.
    candidate_lock : str
        The same for the model's environment, if it had its own.

    Returns
    -------
    ScoreRecord
        The record as written: without `ScoreRecord.values` if `values` have another digest.
    """
    for text, digest in (lock, record.environment), (candidate_lock, record.candidate_environment):
        if digest and text_digest(text) == digest:
            keep_lock(path, text)
    if not record.values or hashlib.sha256(values).hexdigest() != record.values:
        record = dataclasses.replace(record, values=None)
        record.write(path)
        return record
    # Neither replaces an older one before there was room for both.
    with atomic_path(path) as temporary:
        temporary.write_text(record.to_json(), encoding="utf-8")
        with atomic_path(values_path(path)) as beside:
            beside.write_bytes(values)
    return record


def keep_lock(record: Path, lock: str) -> str:
    """Write a lock to where `lock_path` says, unless it is there, and return its digest."""
    digest = text_digest(lock)
    there = lock_path(record, digest)
    if not there.is_file():
        with atomic_path(there) as temporary:
            temporary.write_text(lock, encoding="utf-8", newline="\n")
    return digest


def read_lock_of(record: Path, environment: str) -> str | None:
    """Return the lock beside a record with a digest; None if there is no such file, or it holds another lock."""
    try:
        content = read_start(lock_path(record, environment), MOST_BYTES).decode("utf-8")
    except (OSError, ValueError):
        return None
    return content if text_digest(content) == environment else None


def lock_path(record: Path, environment: str) -> Path:
    """Return where the lock of an environment stands beside a record: ``environment-<start of its digest>.txt``."""
    return record.with_name(f"environment-{environment[:16]}.txt")


class Store(Protocol):
    """Where records are."""

    def get(self, model: str, benchmark: str) -> ScoreRecord | None:
        """Return the record of a pair; None if there is none that can be read."""


class FolderStore:
    """A folder with records where `record_path` says.

    Parameters
    ----------
    folder : Path
        It need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, model: str, benchmark: str) -> ScoreRecord | None:
        """Return the record of a pair; None if there is none that can be read."""
        try:
            record = ScoreRecord.read(record_path(self.folder, model, benchmark))
        except OSError:  # which CorruptFileError is too
            return None
        return record if (record.model, record.benchmark) == (model, benchmark) else None

    def __iter__(self) -> Iterator[ScoreRecord]:
        """Yield all records that can be read, sorted by file."""
        for file in sorted(self.folder.glob("*/*.json")):
            try:
                record = ScoreRecord.read(file)
            except OSError:
                continue
            if record_path(self.folder, record.model, record.benchmark) == file:
                yield record


class BranchStore:
    """The records on a branch, read from git's own store without checking anything out; close it, or use it in `with`.

    Parameters
    ----------
    repository : Path
        Any folder of the checkout.
    branch : str
        Such as ``'origin/scores'``. One that does not exist holds no records.
    """

    def __init__(self, repository: Path, branch: str) -> None:
        self.branch = branch
        self._blobs = BlobReader(repository)
        self._exists = self._content("") is not None

    def get(self, model: str, benchmark: str) -> ScoreRecord | None:
        """Return the record of a pair; None if there is none that can be read."""
        if not self._exists:
            return None
        content = self._content(record_path(Path(), model, benchmark).as_posix())
        try:
            record = ScoreRecord.from_json(content or b"")
        except CorruptFileError:
            return None
        return record if (record.model, record.benchmark) == (model, benchmark) else None

    def _content(self, path: str) -> bytes | None:
        """Return what a file holds, cut where it is too large for a record; identifiers are encoded in paths."""
        return self._blobs.read(f"{self.branch}:{path}", MOST_BYTES + 1)

    def close(self) -> None:
        """End the program that reads."""
        self._blobs.close()

    def __enter__(self) -> BranchStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def why_not_again(
    record: ScoreRecord | None,
    model_revision: str | None,
    benchmark_revision: str | None,
    *,
    with_private: bool = False,
    version_class: str | None = None,
) -> str | None:
    """Return why a pair need not be scored again, or None.

    Parameters
    ----------
    record : ScoreRecord or None
        What there is.
    model_revision, benchmark_revision : str or None
        What the plugins are now.
    with_private : bool
        Whether private data are at hand, so that what was left out without them is tried again.
    version_class : str, optional
        Of the library; None: of the one that runs.

    Returns
    -------
    str or None
        A pair that failed is always tried again.
    """
    if record is None or not _is_current(record, (model_revision, benchmark_revision), version_class):
        return None
    if record.is_scored:
        how = "scored" if record.status == "scored" else "not applicable, as seen"
        return f"{how} on {record.created[:10]} with the same code and library {record.version_class}"
    if record.status.startswith("skipped:") and not with_private:
        return f"left out before: {record.status.removeprefix('skipped:')}"
    return None


def _is_current(
    record: ScoreRecord, revisions: tuple[str | None, str | None], version_class: str | None = None
) -> bool:
    """Tell whether a record is of the code and the library as they are now."""
    wanted = (*revisions, version_class or software.version_class())
    return None not in revisions and wanted == (record.model_revision, record.benchmark_revision, record.version_class)


def is_recorded(store: Store, revision_of: Callable[[str, str], str | None]) -> Callable[[str, str], bool]:
    """Return the function that tells whether there is a record of a pair as it is now, be it that it failed.

    ``revision_of`` is as for `reuse`.
    """

    def known(model: str, benchmark: str) -> bool:
        record = store.get(model, benchmark)
        revisions = revision_of("model", model), revision_of("benchmark", benchmark)
        return record is not None and _is_current(record, revisions)

    return known


def reuse(
    stores: Sequence[Store], revision_of: Callable[[str, str], str | None], *, with_private: bool = False
) -> Callable[[str, str], str | None]:
    """Return the function ``is_scored(model, benchmark)`` for planning and for running.

    Parameters
    ----------
    stores : sequence of Store
        Where records may be.
    revision_of : callable
        ``revision_of('model' or 'benchmark', identifier)`` returns what the plugin is now; asked only where there is a
        record.
    with_private : bool
        See `why_not_again`.
    """

    def is_scored(model: str, benchmark: str) -> str | None:
        for store in stores:
            record = store.get(model, benchmark)
            if record is not None:
                revisions = revision_of("model", model), revision_of("benchmark", benchmark)
                reason = why_not_again(record, *revisions, with_private=with_private)
                if reason is not None:
                    return reason
        return None

    return is_scored


def replaces(new: ScoreRecord, old: ScoreRecord | None) -> bool:
    """Tell whether a record takes the place of another one of the same pair.

    A score takes every place. A failure takes that of a score of other code, but not of the same: there it was the
    machine. What was left out takes no place but that of something left out.
    """
    if old is None or new.is_scored or old.status.startswith("skipped:"):
        return True
    if new.status.startswith("skipped:"):
        return False
    code = (new.model_revision, new.benchmark_revision, new.version_class)
    return not old.is_scored or code != (old.model_revision, old.benchmark_revision, old.version_class)
