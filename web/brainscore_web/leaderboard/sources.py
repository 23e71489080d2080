"""List and read records in a folder or at a commit of git."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from brainscore_core import untrusted
from brainscore_core.errors import ConfigurationError
from brainscore_core.git import BlobReader, ask_git, commit_named
from brainscore_core.records.record import MOST_BYTES, record_path
from brainscore_core.records.store import BRANCH_FOLDER, RUN_FILE

_PREFIX = f"{BRANCH_FOLDER}/"
_REMOTE = re.compile(r"(?:https://|(?:ssh://)?git@)([\w.-]+)[:/]([\w./-]+?)(?:\.git)?/?", re.ASCII)


def pair_of(path: str) -> tuple[str, str] | None:
    """Return (benchmark, model) of a record by its path; None for any other file."""
    parts = path.split("/")
    if len(parts) != 2 or not parts[1].endswith(".json"):
        return None
    benchmark, model = _identifier(parts[0]), _identifier(parts[1].removesuffix(".json"))
    return None if benchmark is None or model is None else (benchmark, model)


@lru_cache(maxsize=100_000)  # a model has a record of the same name for each benchmark
def _identifier(name: str) -> str | None:
    """Return the identifier that a name in a record's path encodes, or None."""
    try:
        identifier = unquote(name, errors="strict")
    except UnicodeDecodeError:
        return None
    return identifier if record_path(Path(), "model", identifier).parts[0] == name else None


@dataclass(frozen=True)
class RecordChange:
    """Replacement or removal of a record by a commit: git's digests (empty if removed), and seconds since 1970."""

    path: str
    before: str
    after: str
    commit: str
    at_s: int


@dataclass(frozen=True)
class FolderSource:
    """Records in a folder, at the places of `record_path`."""

    folder: Path

    @property
    def revision(self) -> str | None:
        """A folder has no revision."""
        return None

    @property
    def address(self) -> str | None:
        """A folder has no address."""
        return None

    def paths(self) -> list[str]:
        """Return the path of each record below the folder, sorted.

        Raises `ConfigurationError` if the folder does not exist.
        """
        if not self.folder.is_dir():
            raise ConfigurationError(f"{self.folder} is not a folder. To make records, run: brainscore score --records")
        with os.scandir(self.folder) as folders:
            names = sorted(entry.name for entry in folders if entry.is_dir() and not entry.name.startswith("."))
        paths = []
        for name in names:
            with os.scandir(self.folder / name) as files:
                inside = sorted(entry.name for entry in files if entry.is_file())
            paths += [path for path in (f"{name}/{file}" for file in inside) if pair_of(path) is not None]
        return paths

    def run(self) -> bytes | None:
        """Return the notes of the last run, or None."""
        try:
            return untrusted.read_start(self.folder / RUN_FILE)
        except OSError:
            return None

    def read(self, paths: Iterable[str]) -> Iterator[bytes]:
        """Yield each record's content, cut where it is too large for one."""
        for path in paths:
            with open(f"{self.folder}/{path}", "rb", buffering=0) as stream:  # noqa: PTH123  # a Path takes twice as long
                # Python reserves memory for all bytes asked for, so ask for no more than the file has.
                yield stream.read(min(MOST_BYTES + 1, os.fstat(stream.fileno()).st_size + 1))


@dataclass(frozen=True)
class CommitSource:
    """Records in the `BRANCH_FOLDER` of a commit; `repository` is any folder of the checkout, `revision` its digest."""

    repository: Path
    revision: str

    @classmethod
    def of(cls, repository: Path, name: str, day: dt.date | None = None) -> CommitSource:
        """Take a branch, tag or commit by its name, now or at the end of a day (UTC).

        Raises `ConfigurationError` if the name is unknown, or its first commit is later.
        """
        commit = commit_named(repository, name)
        if commit is None:
            raise ConfigurationError(
                f"{repository} has no branch or commit {name!r}. To fetch it, run: git fetch origin"
            )
        if day is not None:
            until = f"--before={day.isoformat()}T23:59:59Z"
            earlier = ask_git(repository, "rev-list", "-1", "--first-parent", until, commit).decode().strip()
            if not earlier:
                raise ConfigurationError(
                    f"{name!r} in {repository} had no commits by the end of {day.isoformat()} (UTC)."
                )
            commit = earlier
        return cls(repository, commit)

    @property
    def address(self) -> str | None:
        """Web page of the remote ``origin``, or None."""
        url = ask_git(self.repository, "config", "--default", "", "--get", "remote.origin.url").decode().strip()
        remote = _REMOTE.fullmatch(url)
        return None if remote is None else f"https://{remote[1]}/{remote[2]}"

    def paths(self) -> list[str]:
        """See `FolderSource.paths`."""
        listed = ask_git(self.repository, "ls-tree", "-r", "-z", "--full-tree", self.revision, _PREFIX)
        paths = []
        for line in listed.decode("utf-8", "replace").split("\0")[:-1]:
            head, _, path = line.partition(f"\t{_PREFIX}")
            if head.startswith("100") and pair_of(path) is not None:
                paths.append(path)
        return sorted(paths)

    def read(self, paths: Iterable[str]) -> Iterator[bytes]:
        """See `FolderSource.read`."""
        with closing(BlobReader(self.repository)) as blobs:
            for path in paths:
                yield blobs.read(f"{self.revision}:{_PREFIX}{path}", MOST_BYTES + 1) or b""

    def run(self) -> bytes | None:
        """See `FolderSource.run`."""
        with closing(BlobReader(self.repository)) as blobs:
            return blobs.read(f"{self.revision}:{RUN_FILE}", untrusted.MOST_BYTES + 1)

    def changes(self) -> Iterator[RecordChange]:
        """Yield the commits that replaced or removed a record, oldest first; merges relative to their first parent."""
        how = ("--first-parent", "-m", "--raw", "-z", "--no-abbrev", "--no-renames", "--diff-filter=MD", "--reverse")
        # Overrides a person's configuration.
        plain = (f"--relative={_PREFIX}", "--no-show-signature", "--no-color", "--format=%H %ct")
        log = ask_git(self.repository, "log", *how, *plain, self.revision, "--").decode("utf-8", "replace")
        parts = iter(log.split("\0"))
        commit, at_s = "", 0
        for part in parts:
            if part.lstrip("\n").startswith(":"):
                mode, _, before, after, status = part.lstrip("\n:").split(" ")
                path = next(parts)
                if mode.startswith("100") and pair_of(path) is not None:
                    yield RecordChange(path, before, "" if status == "D" else after, commit, at_s)
            elif part.strip():
                commit, _, seconds = part.strip().partition(" ")
                at_s = int(seconds)

    def read_blobs(self, digests: Iterable[str]) -> Iterator[bytes]:
        """Yield contents by git's digests, each cut where it is too large for a record."""
        with closing(BlobReader(self.repository)) as blobs:
            for digest in digests:
                yield blobs.read(digest, MOST_BYTES + 1) or b""


Source = FolderSource | CommitSource
