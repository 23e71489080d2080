"""Fetch files of S3 into the data folder, and unpack archives of stimuli."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from brainscore_core.config import settings
from brainscore_core.errors import AssemblyError, ChecksumError, UnknownIdentifierError, did_you_mean
from brainscore_core.files import atomic_path
from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSetLoader
from brainscore_core.transfer import fetch as fetching
from brainscore_core.transfer.s3 import S3Object, StoppedError, split_bucket
from brainscore_core.transfer.unzip import check_extracted, unzip

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = [
    "S3Object",
    "StimulusSetLoader",
    "check_extracted",
    "fetch",
    "fetch_all",
    "fetch_file",
    "get_assembly",
    "get_local_data_path",
    "get_stimulus_set",
    "make_s3_clients",
    "place_in_data_home",
    "resolve_assembly_class",
    "sizes_of",
    "split_bucket",
    "unzip",
]

# Tests and scripts set a folder here.
_local_data_path: str | Path | None = None

_FILES_AT_ONCE = 4


def get_local_data_path() -> Path:
    """Return the folder that stimulus sets and assemblies are downloaded to (``BRAINIO_HOME``)."""
    return settings().data_home if _local_data_path is None else Path(_local_data_path)


def place_in_data_home(file: str | Path, sha1: str) -> Path:
    """Link or copy a packaged file to where loading looks for its digest before an upload; return that path.

    Raises `ChecksumError`, with nothing placed, if the file has another digest.
    """
    target = get_local_data_path() / sha1 / Path(file).name
    if not (target.is_file() and file_digest(target) == sha1):
        with atomic_path(target) as temporary:
            temporary.unlink()
            try:
                os.link(Path(file).resolve(), temporary)  # a link to a symbolic link would lead elsewhere
            except OSError:
                shutil.copyfile(file, temporary)
            if file_digest(temporary) != sha1:
                raise ChecksumError(f"{file} has changed: its SHA-1 is no longer {sha1}. Package it again.")
    return target


def make_s3_clients() -> list[Any]:
    """Return the boto3 clients to try in turn: signed if there are credentials, then unsigned."""
    clients: list[Any] = _s3_download().make_s3_clients()
    return clients


def fetch(source: S3Object, target: str | Path) -> Path:
    """Return the verified local copy of a file in S3; see `brainscore_core.transfer.fetch.fetch`.

    Private files without valid credentials raise a `PrivateDataError`.
    """
    return _fetch(source, Path(target), threading.Event())


def fetch_all(files: Sequence[tuple[S3Object, str | Path]]) -> list[Path]:
    """Fetch several files, four at once, and return their paths in the same order.

    If one fails, the others stop; the next call continues them.
    """
    if len(files) <= 1:
        return [fetch(source, target) for source, target in files]
    stop = threading.Event()
    with ThreadPoolExecutor(min(len(files), _FILES_AT_ONCE), thread_name_prefix="fetch") as pool:
        futures = [pool.submit(_fetch, source, Path(target), stop) for source, target in files]
        try:
            wait(futures, return_when="FIRST_EXCEPTION")
        finally:  # also after Ctrl-C: leaving the pool waits for running tasks
            if not all(future.done() for future in futures) or any(_failed(future) for future in futures):
                stop.set()
                for future in futures:
                    future.cancel()
    for future in futures:
        error = None if future.cancelled() else future.exception()
        if error is not None and not isinstance(error, StoppedError):
            raise error
    return [future.result() for future in futures]


def fetch_file(location_type: str, location: str, sha1: str, version_id: str | None = None) -> Path:
    """Return the verified local copy of a file in ``'S3'``, by its URL ``https://<bucket>.s3.amazonaws.com/<key>``."""
    match = re.fullmatch(r"https?://([^/]+)\.s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com/(.+)", location)
    if location_type != "S3" or match is None:
        raise ValueError(
            f"Cannot fetch {location!r} of type {location_type!r}: expected the type 'S3' and "
            "https://<bucket>.s3.amazonaws.com/<key>."
        )
    source = S3Object(bucket=match[1], key=match[2], version_id=version_id, sha1=sha1)
    return fetch(source, get_local_data_path() / source.mirror_path)


def sizes_of(sources: Sequence[S3Object]) -> list[int | None]:
    """Return the sizes in bytes of files in S3 without fetching them; None for inaccessible ones."""
    copies = map(fetching.mirrored_copy, sources)
    sizes = [copy.stat().st_size if copy else None for copy in copies]
    absent = [place for place, size in enumerate(sizes) if size is None]
    if absent and not settings().offline:
        remote = _s3_download().remote_sizes([sources[place] for place in absent])
        for place, size in zip(absent, remote, strict=True):
            sizes[place] = size
    return sizes


def _failed(future: Future[Path]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is not None


def _fetch(source: S3Object, target: Path, stop: threading.Event) -> Path:
    if stop.is_set():
        raise StoppedError(f"{source} was not fetched, because another file is not available.")
    return fetching.fetch(source, target, lambda partial: _s3_download().bring(source, stop, partial))


def _s3_download() -> ModuleType:
    from brainscore_core.transfer import s3_download  # boto3 is slow to import and only needed to download

    return s3_download


# --- Names ------------------------------------------------------------------------------------------------------------


def resolve_assembly_class(name: str) -> type[DataAssembly]:
    """Return the assembly class of a name; `AssemblyError`, a `ValueError`, if there is none."""
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


def get_assembly(identifier: str) -> Any:
    """Load data that a plugin of an installed domain registers: the published name of its `load_dataset`."""
    return _load_from_domain("load_dataset", identifier)


def get_stimulus_set(identifier: str) -> Any:
    """Load stimuli that a plugin of an installed domain registers; see `get_assembly`."""
    return _load_from_domain("load_stimulus_set", identifier)


def _load_from_domain(loader: str, identifier: str) -> Any:
    domains = sorted({entry.module.partition(".")[0] for entry in entry_points(group="brainscore.catalogues")})
    for domain in domains:
        try:
            return getattr(import_module(domain), loader)(identifier)
        except UnknownIdentifierError:
            if domain == domains[-1]:
                raise
    raise NotImplementedError(
        f"No installed domain has plugins that could register {identifier!r}. Install the domain package for your data."
    )
