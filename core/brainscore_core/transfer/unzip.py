"""Unpack zip archives completely or not at all, and never outside their folder."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import struct
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from brainscore_core.errors import CorruptFileError, DownloadError, listed
from brainscore_core.files import DISK_FULL, NOT_WRITABLE, atomic_path, locked

_UNPACKED_MOST_BYTES = 256 * 2**30
_RATIO_FROM_BYTES = 2**30
_RATIO_MOST = 200
_COPY_BYTES = 2**20
_UNREADABLE = (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, zlib.error, struct.error)
"""Raised by `zipfile` for damaged archives."""


def unzip(zip_path: str | Path, *, most_bytes: int = _UNPACKED_MOST_BYTES, most_ratio: float = _RATIO_MOST) -> Path:
    """Extract ``<folder>/<name>.zip`` into ``<folder>/<name>/``, once, and return that folder.

    A new folder appears when complete; an existing one gets absent members and those of another size.

    Raises `CorruptFileError` if it is not an archive, is damaged or too large, or holds anything but regular files in
    its own folder (absolute paths, ``..``, links, devices, one name twice, encrypted members), or names that are the
    same to the file system. Nothing is extracted then.

    Parameters
    ----------
    most_bytes
        Limit of all members.
    most_ratio
        Largest ratio of members to archive, for more than 1 GiB of members.
    """
    zip_path = Path(zip_path)
    directory = zip_path.with_suffix("")
    if directory == zip_path:
        raise CorruptFileError(f"{zip_path} has no suffix, so there is no name for the folder to extract to.")
    with _opened(zip_path) as archive:
        members = _checked_members(archive, zip_path, most_bytes, most_ratio)
        if directory.is_dir() and not _absent(members, directory):
            return directory
        with _explained(zip_path, members), locked(directory):
            if directory.exists():
                _repair(archive, _absent(members, directory), directory)
            else:
                _extract(archive, members, directory)
    return directory


def check_extracted(zip_path: str | Path) -> list[str]:
    """Compare an extracted folder, if any, with its archive, byte by byte; return problems."""
    zip_path = Path(zip_path)
    directory = zip_path.with_suffix("")
    if not directory.is_dir():
        return []
    problems = []
    with _opened(zip_path) as archive:
        for info in _checked_members(archive, zip_path, _UNPACKED_MOST_BYTES, _RATIO_MOST):
            path = directory / info.filename
            if not path.is_file():
                problems.append(f"{path} is missing")
            elif path.stat().st_size != info.file_size or _crc(path) != info.CRC:
                problems.append(f"{path} differs from the archive")
    return problems


def _crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_COPY_BYTES):
            crc = zlib.crc32(chunk, crc)
    return crc


@contextmanager
def _opened(zip_path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(zip_path) as archive:
            yield archive
    except _UNREADABLE as error:
        raise CorruptFileError(
            f"{zip_path} cannot be unpacked: {error}. Remove it and load again to download it again."
        ) from error


@contextmanager
def _explained(zip_path: Path, members: list[zipfile.ZipInfo]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL:
            problem = f"the disk is full; it needs {sum(info.file_size for info in members)} bytes"
        elif error.errno in NOT_WRITABLE:
            problem = f"its folder cannot be written ({error.strerror})"
        else:
            raise
        raise DownloadError(
            f"{zip_path} cannot be unpacked: {problem}. No partial files are left. Make room there, or set "
            "BRAINIO_HOME to a folder of your own."
        ) from error


# --- Allowed members --------------------------------------------------------------------------------------------------


def _checked_members(
    archive: zipfile.ZipFile, zip_path: Path, most_bytes: int, most_ratio: float
) -> list[zipfile.ZipInfo]:
    infos = archive.infolist()
    problems = [f"{info.filename!r} {problem}" for info in infos if (problem := _member_problem(info))]
    problems += _clashes(infos)
    total_bytes = sum(info.file_size for info in infos)
    if total_bytes > most_bytes:
        problems.append(f"unpacks to {total_bytes} bytes, more than the {most_bytes} allowed (`most_bytes`)")
    elif total_bytes > max(_RATIO_FROM_BYTES, most_ratio * zip_path.stat().st_size):
        problems.append(f"unpacks to more than {most_ratio} times its size (`most_ratio`)")
    if problems:
        raise _unsafe(zip_path, problems)
    return [info for info in infos if not info.filename.endswith("/")]


def _unsafe(zip_path: Path | str, problems: list[str]) -> CorruptFileError:
    return CorruptFileError(f"{zip_path} is not unpacked, because it is not safe:{listed(problems)}")


def _member_problem(info: zipfile.ZipInfo) -> str | None:
    name = info.filename
    kind = stat.S_IFMT(info.external_attr >> 16)
    parts = name.rstrip("/").split("/")
    if name.startswith("/") or "\\" in name or (len(name) > 1 and name[1] == ":"):
        return "is not a relative path"
    if any(part in {"", ".", ".."} for part in parts):
        return "leaves its folder or is not a plain path"
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "is a link or a device, not a file"
    if info.flag_bits & 0x1:
        return "is encrypted"
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        return "is not compressed in the usual way (deflate)"
    if info.header_offset < 0:
        return "is damaged"
    return None


def _clashes(infos: list[zipfile.ZipInfo]) -> list[str]:
    seen: set[str] = set()
    twice: list[str] = []
    folders: set[str] = set()
    for info in infos:
        name = info.filename.rstrip("/")
        if name in seen:
            twice.append(f"{name!r} occurs twice")
        seen.add(name)
        folders.update(_folders(name))
    files = {info.filename for info in infos if not info.filename.endswith("/")}
    return twice + [f"{name!r} is a file and a folder" for name in sorted(folders & files)]


def _folders(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _check_file_system(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], directory: Path) -> None:
    if sum(info.file_size for info in members) > shutil.disk_usage(directory).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))
    if _folds_case(directory) and (problems := _same_without_case(members)):
        raise _unsafe(str(archive.filename), problems)


def _folds_case(directory: Path) -> bool:
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".case-") as probe:
        name = Path(probe.name)
        return name.with_name(name.name.upper()).exists()


def _same_without_case(infos: Iterable[zipfile.ZipInfo]) -> list[str]:
    first: dict[str, str] = {}
    same: list[str] = []
    for info in infos:
        for name in (info.filename, *_folders(info.filename)):
            other = first.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
            if other != name:
                same.append(f"{name!r} and {other!r} are the same file on this file system")
    return list(dict.fromkeys(same))


# --- Extracting -------------------------------------------------------------------------------------------------------


def _absent(members: list[zipfile.ZipInfo], directory: Path) -> list[zipfile.ZipInfo]:
    folder = str(directory)  # a Path for each of 100,000 members would take seconds
    return [info for info in members if _size_bytes(f"{folder}/{info.filename}") != info.file_size]


def _size_bytes(path: str) -> int | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - see `_absent`
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _extract(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], directory: Path) -> None:
    # One name for all processes, which the lock separates: the remains of a killed process are then removed.
    staging = directory.with_name(f".{directory.name}.unpacking")
    if staging.exists():
        shutil.rmtree(staging)
    staging.mkdir()
    try:
        _check_file_system(archive, members, staging)
        for folder in sorted({info.filename.rpartition("/")[0] for info in members}):
            (staging / folder).mkdir(parents=True, exist_ok=True)
        for info in members:
            with archive.open(info) as packed, (staging / info.filename).open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, _COPY_BYTES)
        staging.rename(directory)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def _repair(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], directory: Path) -> None:
    for info in members:
        path = directory / info.filename
        if not path.parent.resolve().is_relative_to(directory.resolve()):
            raise CorruptFileError(f"{info.filename!r} would be written outside of {directory}, through a link in it.")
        with archive.open(info) as packed, atomic_path(path) as temporary, temporary.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, _COPY_BYTES)
