"""Find records in a folder or at a commit of git, and tell of each what its content is without reading all of them."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from brainscore_core import untrusted
from brainscore_core.errors import ConfigurationError
from brainscore_core.git import BlobReader, ask_git, commit_named
from brainscore_core.identity.stamp import stamp_of
from brainscore_core.records.record import MOST_BYTES, record_path
from brainscore_core.records.run import RUN_FILE

__all__ = ["Change", "CommitSource", "FolderSource", "Source", "pair_of"]

_RACY_NS = 2 * 10**9
"""A file that was changed less than this before it was read may change again within one tick of its clock."""


def pair_of(path: str) -> tuple[str, str] | None:
    """Return (benchmark, model) of which a path may be the record; None if it is that of none."""
    parts = path.split("/")
    if len(parts) != 2 or not parts[1].endswith(".json"):
        return None
    benchmark, model = _identifier(parts[0]), _identifier(parts[1].removesuffix(".json"))
    return None if benchmark is None or model is None else (benchmark, model)


@lru_cache(maxsize=100_000)  # a model has as many records as there are benchmarks, under the same name
def _identifier(name: str) -> str | None:
    """Return what a name in the path of a record means; None if it is that of nothing."""
    try:
        identifier = unquote(name, errors="strict")
    except UnicodeDecodeError:
        return None
    return identifier if record_path(Path(), "model", identifier).parts[0] == name else None


@dataclass(frozen=True)
class Change:
    """What a commit did to a record that was there.

    Attributes
    ----------
    path : str
        Of the record.
    before, after : str
        Git's digests of its content; `after` is empty where it was removed.
    commit : str
    at_s : int
        When that was committed, seconds since 1970.
    """

    path: str
    before: str
    after: str
    commit: str
    at_s: int


@dataclass(frozen=True)
class FolderSource:
    """Records in a folder, where `record_path` says."""

    folder: Path

    @property
    def revision(self) -> str | None:
        """The commit these are of: none."""
        return None

    def digests(
        self, noted: Mapping[str, list[object]] | None = None
    ) -> tuple[dict[str, str], dict[str, list[object]]]:
        """Return the SHA-256 of each record, and a note with which the next call need not read them again.

        As git does, a file counts as unchanged whose inode, size and both times are those that were noted, unless it
        was changed so shortly before it was read that a later change could have left the times as they are.

        Parameters
        ----------
        noted : mapping of str to list
            What an earlier call returned.
        """
        if not self.folder.is_dir():
            raise ConfigurationError(f"{self.folder} is no folder; records are kept by: brainscore score --records")
        found: dict[str, str] = {}
        notes: dict[str, list[object]] = {}
        for path, entry in self._files():
            stamp = stamp_of(entry.stat())
            state = list(stamp)
            before = (noted or {}).get(path)
            if before is not None and before[:-1] == state:
                found[path], notes[path] = str(before[-1]), before
                continue
            now = time.time_ns()
            found[path] = hashlib.sha256(self._content(path)).hexdigest()
            if stamp.is_older_than(_RACY_NS, now):
                notes[path] = [*state, found[path]]
        return found, notes

    def is_of(self, content: bytes, digest: str) -> bool:
        """Tell whether what was read has the digest that was told before."""
        return len(content) > MOST_BYTES or hashlib.sha256(content).hexdigest() == digest

    def run(self) -> bytes | None:
        """Return what is told of the last run, see `brainscore_core.records.run`; None if nothing is."""
        try:
            return untrusted.read_start(self.folder / RUN_FILE)
        except OSError:
            return None

    def _files(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        with os.scandir(self.folder) as folders:
            names = sorted(each.name for each in folders if each.is_dir() and not each.name.startswith("."))
        for name in names:
            with os.scandir(self.folder / name) as files:
                inside = sorted((each for each in files if each.is_file()), key=lambda each: each.name)
            for each in inside:
                path = f"{name}/{each.name}"
                if pair_of(path) is not None:
                    yield path, each

    def read(self, paths: Iterable[str]) -> Iterator[bytes]:
        """Yield the content of each record, cut where it is too large for one."""
        for path in paths:
            yield self._content(path, MOST_BYTES + 1)

    def _content(self, path: str, most_bytes: int | None = None) -> bytes:
        whole = f"{self.folder}/{path}"
        with open(whole, "rb", buffering=0) as stream:  # noqa: PTH123  # a Path takes as long again; there are 214,000
            if most_bytes is None:
                return stream.read()
            # For a number of bytes room is made first: for as many as there are, since a record is far from the limit.
            return stream.read(min(most_bytes, os.fstat(stream.fileno()).st_size + 1))


@dataclass(frozen=True)
class CommitSource:
    """Records as they were at a commit.

    Attributes
    ----------
    repository : Path
        Any folder of the checkout.
    revision : str
        Digest of the commit; see `of`.
    """

    repository: Path
    revision: str

    @classmethod
    def of(cls, repository: Path, name: str, day: dt.date | None = None) -> CommitSource:
        """Take a branch, a tag or a commit by its name, as it is now or as it was at the end of a day (UTC).

        Raises
        ------
        ConfigurationError
            If there is none of that name, or none that is so old.
        """
        commit = commit_named(repository, name)
        if commit is None:
            raise ConfigurationError(
                f"There is no branch or commit {name!r} in {repository}; bring it here with: git fetch origin"
            )
        if day is not None:
            before = f"--before={day.isoformat()}T23:59:59Z"
            then = ask_git(repository, "rev-list", "-1", "--first-parent", before, commit).decode().strip()
            if not then:
                raise ConfigurationError(f"{name!r} in {repository} had no commit yet on {day.isoformat()} (UTC).")
            commit = then
        return cls(repository, commit)

    def digests(
        self, noted: Mapping[str, list[object]] | None = None
    ) -> tuple[dict[str, str], dict[str, list[object]]]:
        """Return git's own digest of each record; nothing need be noted."""
        del noted
        listed = ask_git(self.repository, "ls-tree", "-r", "-z", "--full-tree", self.revision)
        found = {}
        for line in listed.decode("utf-8", "replace").split("\0")[:-1]:
            head, _, path = line.partition("\t")
            mode, _, digest = head.split()
            if mode.startswith("100") and pair_of(path) is not None:
                found[path] = digest
        return found, {}

    def is_of(self, content: bytes, digest: str) -> bool:
        """Tell whether what was read is what was meant: nothing at a commit changes."""
        del content, digest
        return True

    def read(self, paths: Iterable[str]) -> Iterator[bytes]:
        """Yield the content of each record, cut where it is too large for one."""
        with closing(BlobReader(self.repository)) as blobs:
            for path in paths:
                yield blobs.read(f"{self.revision}:{path}", MOST_BYTES + 1) or b""

    def run(self) -> bytes | None:
        """Return what is told of the last run, see `brainscore_core.records.run`; None if nothing is."""
        with closing(BlobReader(self.repository)) as blobs:
            return blobs.read(f"{self.revision}:{RUN_FILE}", untrusted.MOST_BYTES + 1)

    def line(self) -> list[str]:
        """Return the commits from this one back to the first; where branches were merged, those of the first parent."""
        return ask_git(self.repository, "rev-list", "--first-parent", self.revision).decode().split()

    def changes(self, since: str | None = None) -> Iterator[Change]:
        """Yield what took the place of records, or removed them, oldest first.

        Parameters
        ----------
        since : str, optional
            One of `line`: only later commits are looked at.
        """
        how = ("--first-parent", "-m", "--raw", "-z", "--no-abbrev", "--no-renames", "--diff-filter=MD", "--reverse")
        plain = ("--no-show-signature", "--no-color", "--format=%H %ct")  # whatever a person has configured
        wanted = self.revision if since is None else f"{since}..{self.revision}"
        told = ask_git(self.repository, "log", *how, *plain, wanted, "--").decode("utf-8", "replace")
        parts = iter(told.split("\0"))
        commit, at_s = "", 0
        for part in parts:
            if part.lstrip("\n").startswith(":"):
                mode, _, before, after, status = part.lstrip("\n:").split(" ")
                path = next(parts)
                if mode.startswith("100") and pair_of(path) is not None:
                    yield Change(path, before, "" if status == "D" else after, commit, at_s)
            elif part.strip():
                commit, _, seconds = part.strip().partition(" ")
                at_s = int(seconds)

    def read_blobs(self, digests: Iterable[str]) -> Iterator[bytes]:
        """Yield contents by git's own digests, each cut where it is too large for a record."""
        with closing(BlobReader(self.repository)) as blobs:
            for digest in digests:
                yield blobs.read(digest, MOST_BYTES + 1) or b""


Source = FolderSource | CommitSource
