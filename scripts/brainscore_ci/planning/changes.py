"""Find the files that differ between two states of a repository, and those that git must not hold."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast, get_args

from brainscore_core.errors import ConfigurationError
from brainscore_core.git import BlobReader, ask_git, commit_named, run_git
from brainscore_core.plugin_management.source import LARGEST_FILE, SourceFile

NO_COMMIT = "0" * 40
"""GitHub's commit "before" the first push of a branch."""

Status = Literal["added", "copied", "deleted", "modified", "renamed", "type changed", "unmerged"]
_STATUSES: dict[str, Status] = {name[0].upper(): name for name in cast("tuple[Status, ...]", get_args(Status))}
_SYMLINK, _SUBMODULE = "120000", "160000"
# Settings of a person or repository must not change the result.
_DIFF = (
    "--raw",
    "-z",
    "--no-abbrev",
    "--find-renames",
    "-l0",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
)


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """One file that differs."""

    # Current path, or the last one of a deleted file; relative to the repository, with ``/``. Bytes that are not UTF-8
    # are surrogates.
    path: str
    status: Status
    old_path: str | None = None  # previous path of a renamed or copied file
    special: Literal["symlink", "submodule"] | None = None
    # Digests of the contents in git's store, if there
    before: str = field(default="", repr=False, compare=False)
    after: str = field(default="", repr=False, compare=False)
    same_code: bool = False  # whether only comments, docstrings and layout of a Python file differ

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path the change touches; a copy leaves its source unchanged."""
        return (self.old_path, self.path) if self.status == "renamed" and self.old_path else (self.path,)


@dataclass(frozen=True, kw_only=True)
class ChangeSet:
    """The files that differ; without `base` all count as added, without `head` in the working tree."""

    changes: tuple[FileChange, ...]
    base: str | None
    head: str | None
    note: str


def parse_raw_diff(output: bytes) -> tuple[FileChange, ...]:
    """Parse the output of ``git diff --raw -z``."""
    fields = output.decode("utf-8", "surrogateescape").split("\0")
    if fields.pop() != "":
        raise ValueError("The output of git diff --raw -z does not end with a NUL.")
    rest = iter(fields)
    changes = []
    for head in rest:
        parts = head.split(" ")
        if len(parts) != 5 or not head.startswith(":") or parts[4][:1] not in _STATUSES:
            raise ValueError(f"This is no entry of git diff --raw: {head!r}.")
        status = _STATUSES[parts[4][0]]
        names = [next(rest) for _ in range(2 if status in {"renamed", "copied"} else 1)]
        mode = parts[1]
        changes.append(
            FileChange(
                path=names[-1],
                status=status,
                old_path=names[0] if len(names) == 2 else None,
                special="symlink" if mode == _SYMLINK else "submodule" if mode == _SUBMODULE else None,
                before=parts[2].strip("0") and parts[2],
                after=parts[3].strip("0") and parts[3],
            )
        )
    return tuple(sorted(changes, key=lambda change: change.path))


def changes_between(repository: Path, before: str, head: str, *, default_branch: str = "") -> ChangeSet:
    """Return the files that a push or a pull request changes, relative to the merge base.

    Zeros (first push of a branch) and a commit that no longer exists (forced push) as `before` mean `default_branch`;
    without one, or if it is the same commit, every file counts as added. Raises `ConfigurationError` without git,
    repository, `head` or enough history.
    """
    after = commit_named(repository, head)
    if after is None:
        raise ConfigurationError(f"{head!r} is no commit or branch of {repository}.")
    earlier = commit_named(repository, before) if before.strip("0") else None
    note = f"compared with the last commit in common with {before}"
    lost = earlier is None
    if lost and default_branch:
        earlier = commit_named(repository, default_branch)
        note = f"{before[:12]} is not in the history here: compared with {default_branch}"
    base = earlier and _merge_base(repository, earlier, after)
    if base is None or (lost and base == after):
        base = None
        note = "there is nothing to compare with: every file counts as added"
    empty_tree = ask_git(repository, "hash-object", "-t", "tree", "--stdin", stdin=b"").decode().strip()
    raw = ask_git(repository, "diff", *_DIFF, base or empty_tree, after, "--")
    return ChangeSet(changes=parse_raw_diff(raw), base=base, head=after, note=note)


def changes_since(repository: Path, before: str) -> ChangeSet:
    """Return how the working tree, including untracked files, differs from its merge base with a branch."""
    top = Path(ask_git(repository, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n"))
    earlier = commit_named(top, before)
    if earlier is None:
        raise ConfigurationError(
            f"{before!r} is no commit or branch of {top}. Name the branch that the change will be merged into, for "
            "instance --base origin/main, after git fetch."
        )
    base = _merge_base(top, earlier, "HEAD")
    if base is None:
        raise ConfigurationError(f"{before!r} and this branch have no commit in common; fetch the whole history.")
    changes = {change.path: change for change in parse_raw_diff(ask_git(top, "diff", *_DIFF, base, "--"))}
    unknown = ask_git(top, "ls-files", "--others", "--exclude-standard", "-z").decode("utf-8", "surrogateescape")
    for path in unknown.split("\0")[:-1]:
        special: Literal["symlink"] | None = "symlink" if (top / path).is_symlink() else None
        changes.setdefault(path, FileChange(path=path, status="added", special=special))
    ordered = tuple(changes[path] for path in sorted(changes))
    note = f"working tree, compared with the last commit in common with {before}"
    return ChangeSet(changes=ordered, base=base, head=None, note=note)


def sources_before_and_after(repository: Path, changes: ChangeSet) -> dict[str, tuple[SourceFile, SourceFile]]:
    """Return the contents of each changed Python file that is still there, before and after; empty if it was not."""
    sources = {}
    blobs = BlobReader(repository)
    try:
        for change in changes.changes:
            if change.path.endswith(".py") and change.special is None and change.status != "deleted":
                before = blobs.read(change.before, LARGEST_FILE) if change.before else b""
                if change.after:
                    after = blobs.read(change.after, LARGEST_FILE)
                else:
                    after = (repository / change.path).read_bytes()[:LARGEST_FILE]
                pair = (SourceFile(change.path, content=content or b"") for content in (before, after))
                sources[change.path] = next(pair), next(pair)
    finally:
        blobs.close()
    return sources


def mark_same_code(
    changes: ChangeSet, sources: Mapping[str, tuple[SourceFile, SourceFile]], has_readers: Callable[[str], bool]
) -> ChangeSet:
    """Set `FileChange.same_code`; `has_readers` says whether anything may read the comments of a path."""
    marked = []
    for change in changes.changes:
        before, after = sources.get(change.path, (None, None))
        if change.status == "modified" and before and after and before.tree and not has_readers(change.path):
            marked.append(replace(change, same_code=before.code_digest == after.code_digest))
        else:
            marked.append(change)
    return replace(changes, changes=tuple(marked))


def _merge_base(repository: Path, first: str, second: str) -> str | None:
    done = run_git(repository, "merge-base", first, second)
    if done.status == 0:
        return done.stdout.decode().strip()
    if ask_git(repository, "rev-parse", "--is-shallow-repository").strip() == b"true":
        raise ConfigurationError(
            f"The history of {repository} is cut off, so the base of the change is unknown. Fetch it: "
            "git fetch --unshallow, or fetch-depth: 0 in a workflow."
        )
    return None


# -- Find files that git must not hold: unreadable code, links, and names that some systems confuse --------------------

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
    """Return unwanted files: byte code, shared objects, links, submodules, and names that differ only in case."""
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
    """Return the earlier file or folder that a path or one of its parents can be confused with."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        name = "/".join(parts[:end])
        earlier = first.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
        if earlier != name:
            return earlier
    return None
