"""Return verified local copies of files in S3: from the cache, from a mirror folder, or downloaded."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from brainscore_core.config import settings
from brainscore_core.errors import AssemblyError, ChecksumError, OfflineError, did_you_mean
from brainscore_core.files import locked
from brainscore_core.identity.digest import file_digest
from brainscore_core.identity.stamp import recall, remember
from brainscore_core.supported_data_standards.brainio._transfer.download import (
    StoppedError,
    download,
    make_s3_clients,
    remote_sizes,
)
from brainscore_core.supported_data_standards.brainio._transfer.object import S3Object, split_bucket
from brainscore_core.supported_data_standards.brainio._transfer.unzip import check_extracted, unzip
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSetLoader
from brainscore_core.transfer.disk import check_free_space
from brainscore_core.transfer.partial import PartialFile, storing

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = [
    "S3Object",
    "StimulusSetLoader",
    "check_extracted",
    "fetch",
    "fetch_all",
    "get_assembly",
    "get_local_data_path",
    "get_stimulus_set",
    "make_s3_clients",
    "resolve_assembly_class",
    "sizes_of",
    "split_bucket",
    "unzip",
]

logger = logging.getLogger(__name__)

# None: ask the settings. Tests and scripts set a folder here.
_local_data_path: str | Path | None = None

_FILES_AT_ONCE = 4


def get_local_data_path() -> Path:
    """Return the folder that stimulus sets and assemblies are downloaded to (``BRAINIO_HOME``)."""
    return settings().data_home if _local_data_path is None else Path(_local_data_path)


def fetch(source: S3Object, target: str | Path) -> Path:
    """Return a local copy of a file in S3, getting it if there is none yet.

    A file that is there already is used if it has the promised digest (an unchanged file is not hashed again) and is
    not known to be another version. Else it is copied from the mirror folder (``BRAINSCORE_MIRROR``) if that has it,
    or downloaded, in several parts at once; an interrupted download is continued by the next one. Processes that ask
    at the same time download once. A file appears under its name only when it is whole and verified.

    Returns
    -------
    Path
        ``target``.

    Raises
    ------
    ChecksumError
        If the downloaded file does not have the digest, or one of two; it is removed.
    PrivateDataError
        A `DownloadError`: it is private and there are no credentials here that give access.
    DownloadError
        If it does not exist, cannot be reached or stored, or ``BRAINSCORE_OFFLINE=1`` forbids to try.
    """
    return _fetch(source, Path(target), threading.Event())


def fetch_all(wanted: Sequence[tuple[S3Object, str | Path]]) -> list[Path]:
    """Fetch several files, up to four at once, and return where each of them is, in the same order.

    Raises the error of the first file that fails, see `fetch`; the others are given up then, and continued the next
    time.
    """
    if len(wanted) <= 1:
        return [fetch(source, target) for source, target in wanted]
    stop = threading.Event()
    with ThreadPoolExecutor(min(len(wanted), _FILES_AT_ONCE), thread_name_prefix="fetch") as pool:
        futures = [pool.submit(_fetch, source, Path(target), stop) for source, target in wanted]
        try:
            wait(futures, return_when="FIRST_EXCEPTION")
        finally:  # also after Ctrl-C: leaving the pool waits for what is under way
            if not all(future.done() for future in futures) or any(_failed(future) for future in futures):
                stop.set()
                for future in futures:
                    future.cancel()
    for future in futures:
        error = None if future.cancelled() else future.exception()
        if error is not None and not isinstance(error, StoppedError):
            raise error
    return [future.result() for future in futures]


def sizes_of(sources: Sequence[S3Object]) -> list[int | None]:
    """Ask how large files in S3 are, without fetching them.

    Returns
    -------
    list of int or None
        Bytes, in the order of the files: of the mirror's copy if there is one, else as S3 says. None where nobody says:
        private files, absent ones, a server out of reach, or ``BRAINSCORE_OFFLINE=1``.
    """
    current = settings()
    sizes: list[int | None] = []
    for source in sources:
        copy = current.mirror / source.bucket / source.key if current.mirror else None
        sizes.append(copy.stat().st_size if copy and copy.is_file() else None)
    unknown = [place for place, size in enumerate(sizes) if size is None]
    if unknown and not current.offline:
        for place, size in zip(unknown, remote_sizes([sources[place] for place in unknown]), strict=True):
            sizes[place] = size
    return sizes


def _failed(future: Future[Path]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is not None


def _fetch(source: S3Object, target: Path, stop: threading.Event) -> Path:
    if stop.is_set():
        raise StoppedError(f"{source} was not fetched, because another file could not be had.")
    if _is_usable(target, source):
        return target
    with storing(str(source), target):
        if target.exists():
            logger.warning("%s is damaged or another version; fetching it from %s", target, source)
        with locked(target):
            if not _is_usable(target, source):  # nobody else has fetched it while we waited for the lock
                partial = PartialFile(target)
                if not _copy_from_mirror(source, target, partial):
                    _download(source, target, partial, stop)
    return target


def _copy_from_mirror(source: S3Object, target: Path, partial: PartialFile) -> bool:
    """Put the mirror's copy at the target; False if there is none or (unless offline) it is not the wanted one."""
    current = settings()
    if current.mirror is None:
        return False
    original = current.mirror / source.bucket / source.key
    if ".." in Path(source.bucket, source.key).parts or not original.is_file():
        return False
    check_free_space(partial.path, original.stat().st_size, str(original))
    partial.discard()
    shutil.copyfile(original, partial.path)
    try:
        _publish(source, target, partial, str(original))
    except ChecksumError as error:
        if current.offline:
            raise
        logger.warning("The mirror holds another file; downloading instead. %s", error)
        return False
    return True


def _download(source: S3Object, target: Path, partial: PartialFile, stop: threading.Event) -> None:
    current = settings()
    if current.offline:
        absent = (
            f"{source} is not at {target}{' in the version asked for' if target.exists() else ''}"
            f"{f' nor in the mirror {current.mirror}' if current.mirror else ''}"
        )
        forbidden = "BRAINSCORE_OFFLINE=1 forbids to download it. Unset that variable, or put the file there."
        raise OfflineError(f"{absent}, and {forbidden}", absent)
    continued = download(source, partial, stop)
    try:
        _publish(source, target, partial, str(source))
    except ChecksumError:
        if not continued:
            raise
        # What an earlier process left may have suffered, from a power failure for instance: once more, all of it.
        download(source, partial, stop)
        _publish(source, target, partial, str(source))


def _publish(source: S3Object, target: Path, partial: PartialFile, origin: str) -> None:
    """Verify a complete file and give it its name, or remove it."""
    for algorithm, expected in source.digests.items():
        found = file_digest(partial.path, algorithm)
        if found != expected:
            size_bytes = partial.path.stat().st_size
            partial.discard()
            raise ChecksumError(
                f"{target.name} from {origin} does not have the promised content: expected {algorithm} {expected}, "
                f"found {found} ({size_bytes} bytes). What arrived was removed. Try again; if that does not help, the "
                f"file was replaced at its source or the registration names a wrong {algorithm} or version_id."
            )
    partial.publish(target)
    _remember(target, source, source.digests)


# --- What is known about a local file ---------------------------------------------------------------------------------


def _remember(target: Path, source: S3Object, digests: Mapping[str, str]) -> None:
    facts = {
        "source": f"s3://{source.bucket}/{source.key}",
        "version_id": source.version_id or None,
        "sha1": digests.get("sha1"),
        "sha256": digests.get("sha256"),
    }
    remember(target, facts)


def _is_usable(target: Path, source: S3Object) -> bool:
    if not target.is_file():
        return False
    memo = recall(target)
    if not source.digests:
        # Without a digest the version is all there is to go by. A file that we have not fetched ourselves is trusted.
        known = memo.get("version_id")
        return not (known and source.version_id and known != source.version_id)
    noted = {algorithm: memo[algorithm] for algorithm in ("sha1", "sha256") if memo.get(algorithm)}
    found = dict(noted)
    for algorithm, wanted in source.digests.items():
        try:
            found[algorithm] = noted.get(algorithm) or file_digest(target, algorithm)
        except FileNotFoundError:  # removed meanwhile
            return False
        if found[algorithm] != wanted:
            logger.warning(
                "%s has %s %s, but %s is wanted: it will be fetched from %s",
                *(target, algorithm, found[algorithm], wanted, source),
            )
            return False
    if found != noted:
        _remember(target, source, found)
    return True


# --- Names ------------------------------------------------------------------------------------------------------------


def resolve_assembly_class(name: str) -> type[DataAssembly]:
    """Return the assembly class of a name, as it is written in a packaging script or a registration.

    Raises
    ------
    AssemblyError
        A `ValueError`: there is no assembly class of this name.
    """
    from brainscore_core.supported_data_standards.brainio import assemblies  # xarray: not needed to fetch

    names = (
        "BehavioralAssembly",
        "DataAssembly",
        "MetadataAssembly",
        "NeuroidAssembly",
        "NeuronRecordingAssembly",
        "PropertyAssembly",
        "SpikeTimesAssembly",
    )
    if name not in names:
        hint = did_you_mean(name, names)
        raise AssemblyError(f"No assembly class is called {name!r}.{hint} There are: {', '.join(names)}.")
    return getattr(assemblies, name)  # type: ignore[no-any-return]  # chosen from the names above


def get_assembly(identifier: str) -> NoReturn:
    """Raise `NotImplementedError`: there is no catalogue of assemblies; data plugins register them."""
    raise _no_catalogue(identifier, "load_dataset", "load_assembly_from_s3")


def get_stimulus_set(identifier: str) -> NoReturn:
    """Raise `NotImplementedError`: there is no catalogue of stimulus sets; data plugins register them."""
    raise _no_catalogue(identifier, "load_stimulus_set", "load_stimulus_set_from_s3")


def _no_catalogue(identifier: str, load: str, load_from_s3: str) -> NotImplementedError:
    return NotImplementedError(
        f"There is no catalogue to look {identifier!r} up in. Use {load}({identifier!r}) of the domain, or "
        f"s3.{load_from_s3}(...)."
    )
