"""Find files that git must not hold: unreadable code, links, and names that some systems confuse."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from brainscore_core.git import ask_git

_SYMLINK, _SUBMODULE = "120000", "160000"
# Python runs these, and no reviewer can read them.
_BYTE_CODE = re.compile(r"\.(pyc|pyo|pyd|so|dll|dylib|pth|egg|egg-link)(\.[0-9]+)*$", re.IGNORECASE)
_CACHE = "__pycache__"


@dataclass(frozen=True, kw_only=True)
class TrackedFile:
    """One entry of git: path relative to the repository, with ``/``, and mode, empty for untracked files."""

    path: str
    mode: str = ""


@dataclass(frozen=True, kw_only=True)
class Unwanted:
    """A file that git must not hold, why, and the static check that says so."""

    path: str
    rule: str
    reason: str
    fix: str


def tracked_files(repository: Path, commit: str | None = None) -> list[TrackedFile]:
    """Return the entries of a commit, or tracked and untracked files of the working tree, except ignored ones."""
    if commit is not None:
        listed = _entries(ask_git(repository, "ls-tree", "-r", "-z", "--full-tree", commit, "--"))
        return [
            TrackedFile(path=path, mode=head.split(" ")[0]) for head, _, path in (one.partition("\t") for one in listed)
        ]
    top = Path(ask_git(repository, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n"))
    staged = _entries(ask_git(top, "ls-files", "--stage", "-z"))
    modes = {path: head.split(" ")[0] for head, _, path in (one.partition("\t") for one in staged)}
    unknown = _entries(ask_git(top, "ls-files", "--others", "--exclude-standard", "-z"))
    now = {
        path: _SYMLINK if os.path.islink(f"{top}/{path}") else mode  # noqa: PTH114 - a Path each doubles the time
        for path, mode in {**modes, **dict.fromkeys(unknown, "")}.items()
    }
    gone = set(_entries(ask_git(top, "ls-files", "--deleted", "-z")))
    return [TrackedFile(path=path, mode=now[path]) for path in sorted(now.keys() - gone)]


def _entries(output: bytes) -> list[str]:
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def is_byte_code(path: str) -> bool:
    """Return whether Python may run a file directly, or as the byte code of a source."""
    *folders, name = path.split("/")
    return _CACHE in map(str.casefold, (*folders, name)) or _BYTE_CODE.search(name) is not None


def find_unwanted(files: Iterable[TrackedFile]) -> list[Unwanted]:
    """Return unwanted files: byte code, shared objects, links, submodules, and names that differ by case alone."""
    unwanted: list[Unwanted] = []
    first: dict[str, str] = {}
    for file in files:
        twin = _twin(file.path, first)
        if is_byte_code(file.path):
            rule, reason = "binary-file", "holds unreadable code that Python may run instead of the source"
            fix = "remove it from git: git rm --cached"
        elif file.mode == _SYMLINK:
            rule, reason = "symlink", "is a symbolic link, which may lead anywhere"
            fix = "replace it by what it points to"
        elif file.mode == _SUBMODULE:
            rule, reason = "symlink", "is a submodule, whose content is elsewhere"
            fix = "put the files themselves there"
        elif twin:
            rule, fix = "file-name", "rename one of them"
            reason = (
                f"differs from {twin!r} only in case or in how its letters are encoded: some systems take them for one"
            )
        else:
            continue
        unwanted.append(Unwanted(path=file.path, rule=rule, reason=reason, fix=fix))
    return unwanted


def _twin(path: str, first: dict[str, str]) -> str | None:
    """Return the earlier file or folder that a path, or a folder of it, is confused with."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        name = "/".join(parts[:end])
        earlier = first.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if earlier != name:
            return earlier
    return None
