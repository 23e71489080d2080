"""Compare an archive's plugin with a checkout, and write it there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from brainscore_ci.submission.archive import Archive, Fault
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_directory


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Changes of a checkout by adding a plugin.

    Paths are inside the plugin's folder.
    """

    exists: bool
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[Fault, ...] = ()

    @property
    def changes_nothing(self) -> bool:
        """Whether the checkout already holds exactly these files."""
        return not (self.added or self.changed or self.removed)


def compare(archive: Archive, repository: Path, *, update: bool) -> Placement:
    """Return the changes that `extract` would make.

    `update` says that the submission states to replace a plugin.
    """
    target = repository / archive.path
    plugin = str(archive.plugin)
    folders = [PurePosixPath(archive.path), *PurePosixPath(archive.path).parents[:-1]]
    if links := [folder for folder in folders if (repository / folder).is_symlink()]:
        what = f"{links[-1]} is a link in the repository"
        return Placement(exists=True, problems=(Fault(what=what, names=(plugin,)),))
    if not target.parent.is_dir():
        problem = Fault(what=f"the repository has no folder {archive.path.rpartition('/')[0]}", names=(plugin,))
        return Placement(exists=False, problems=(problem,))
    name = archive.plugin.name
    same = [other for other in os.listdir(target.parent) if other.casefold() == name.casefold()]  # noqa: PTH208 - names alone
    if same and same != [name]:
        problem = Fault(
            what=f"the repository has a plugin {same[0]}, whose name differs only in capital letters",
            fix="Use that name to update it, or another name",
            names=(plugin,),
        )
        return Placement(exists=True, problems=(problem,))
    old = {file.relative_to(target).as_posix(): file for file in _files(target)}
    same_path = archive.files.keys() & old.keys()
    problems = []
    if old and not update:
        problems.append(
            Fault(
                what="the repository has a plugin of this name already",
                fix='Choose "Update" in the form if you mean to replace it, or use another name',
                names=(plugin,),
            )
        )
    if update and not old:
        problems.append(
            Fault(
                what="this is marked as an update, but the repository has no plugin of this name",
                fix='Correct the name, or choose "New" in the form',
                names=(plugin,),
            )
        )
    return Placement(
        exists=bool(old),
        added=tuple(sorted(archive.files.keys() - old.keys())),
        changed=tuple(
            sorted(
                path for path in same_path if old[path].is_symlink() or old[path].read_bytes() != archive.files[path]
            )
        ),
        removed=tuple(sorted(old.keys() - archive.files.keys())),
        problems=tuple(problems),
    )


def extract(archive: Archive, repository: Path, *, update: bool = False) -> Path:
    """Write the plugin's folder into a checkout atomically; remove its files that the archive lacks.

    Raises `ConfigurationError` if `compare` finds a problem; then nothing is written.

    Returns
    -------
    Path
        The folder.
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
        # The archive's names were checked already; checking again costs nothing.
        if not {"", ".", ".."}.isdisjoint(name.split("/")) or "\\" in name or Path(name).is_absolute():
            raise ConfigurationError(f"{name!a} would leave the folder of the plugin; nothing is written.")
        file = staging / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _files(folder: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(directory, name) for name in names)
