"""Compare the plugin of an archive with a checkout, and put it there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from brainscore_ci.submission.archive import Archive, Fault
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_directory

__all__ = ["Placement", "compare", "extract"]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """What putting a plugin into a checkout changes there.

    Attributes
    ----------
    exists : bool
        Whether there is a plugin of that name.
    added, changed, removed : tuple of str
        Paths inside the folder of the plugin.
    problems : tuple of Fault
        Why it cannot be put there.
    """

    exists: bool
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[Fault, ...] = ()

    @property
    def changes_nothing(self) -> bool:
        """Whether the same files with the same contents are there already."""
        return not (self.added or self.changed or self.removed)


def compare(archive: Archive, repository: Path, *, update: bool) -> Placement:
    """Tell what `extract` would change.

    Parameters
    ----------
    repository : Path
        Top folder of a checkout.
    update : bool
        Whether a plugin of that name may be there: an update is stated, never guessed.
    """
    target = repository / archive.path
    shown = str(archive.plugin)
    if link := _link_on_the_way(repository, archive.path):
        return Placement(exists=True, problems=(Fault(what=f"{link} is a link in the repository", names=(shown,)),))
    if not target.parent.is_dir():
        problem = Fault(what=f"the repository has no folder {archive.path.rpartition('/')[0]}", names=(shown,))
        return Placement(exists=False, problems=(problem,))
    name = archive.plugin.name
    same = [other for other in os.listdir(target.parent) if other.casefold() == name.casefold()]  # noqa: PTH208 - names alone
    if same and same != [name]:
        problem = Fault(
            what=f"the repository has a plugin {same[0]}, a name that differs only in capital letters",
            fix="Use that name to update it, or another name",
            names=(shown,),
        )
        return Placement(exists=True, problems=(problem,))
    old = {file.relative_to(target).as_posix(): file for file in _files(target)}
    problems = []
    if old and not update:
        problems.append(
            Fault(
                what="the repository has a plugin of this name already",
                fix='Choose "Update" in the form if you mean to replace it, or use another name',
                names=(shown,),
            )
        )
    if update and not old:
        problems.append(
            Fault(
                what="this should update a plugin, but the repository has none of this name",
                fix='Correct the name, or choose "New" in the form',
                names=(shown,),
            )
        )
    return Placement(
        exists=bool(old),
        added=tuple(sorted(archive.files.keys() - old.keys())),
        changed=tuple(sorted(each for each in archive.files.keys() & old.keys() if _differs(archive, each, old[each]))),
        removed=tuple(sorted(old.keys() - archive.files.keys())),
        problems=tuple(problems),
    )


def extract(archive: Archive, repository: Path, *, update: bool = False) -> Path:
    """Write the folder of the plugin into a checkout; the folder appears complete or stays as it was.

    Parameters
    ----------
    archive, repository, update
        See `compare`. Files of an older version that are not in the archive are removed.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ConfigurationError
        If `compare` finds a problem. Nothing is written then.
    """
    if problems := compare(archive, repository, update=update).problems:
        raise ConfigurationError("\n".join(map(str, problems)))
    target = repository / archive.path
    old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
    try:
        with atomic_directory(target) as staging:
            _write(archive, staging)
            if target.exists():
                target.rename(old)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    if old.exists():
        shutil.rmtree(old)
    return target


def _write(archive: Archive, staging: Path) -> None:
    for name, content in archive.files.items():
        # Names were checked when the archive was inspected; another check costs nothing.
        if not {"", ".", ".."}.isdisjoint(name.split("/")) or "\\" in name or Path(name).is_absolute():
            raise ConfigurationError(f"{name!a} leaves the folder of the plugin; nothing is written.")
        file = staging / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _files(folder: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(directory, name) for name in names)


def _differs(archive: Archive, name: str, file: Path) -> bool:
    return file.is_symlink() or file.read_bytes() != archive.files[name]


def _link_on_the_way(repository: Path, path: str) -> str | None:
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        if repository.joinpath(*parts[:end]).is_symlink():
            return "/".join(parts[:end])
    return None
