"""Bring files from S3 into the cache directory, verify them and unpack archives safely."""

from __future__ import annotations

import json
import logging
import shutil
import stat
import struct
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

from brainscore_core.caching import atomic_directory, atomic_path, file_digest, locked
from brainscore_core.config import settings
from brainscore_core.errors import AssemblyError, ChecksumError, CorruptFileError, DownloadError, nearest
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSetLoader

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = [
    "S3Object",
    "StimulusSetLoader",
    "fetch",
    "get_assembly",
    "get_local_data_path",
    "get_stimulus_set",
    "make_s3_clients",
    "resolve_assembly_class",
    "split_bucket",
    "unzip",
]

logger = logging.getLogger(__name__)

# None: ask the settings. Tests and scripts set a folder here.
_local_data_path: str | Path | None = None

_ATTEMPTS = 5
_CONNECT_TIMEOUT_S = 20
_READ_TIMEOUT_S = 60
_ALWAYS_SHOW_PROGRESS_BYTES = 5_000_000
# Answers to a signed request that an unsigned one may not get: expired, unknown or insufficient credentials.
_CREDENTIAL_STATUSES = (400, 401, 403)
_UNPACKED_MOST_BYTES = 256 * 2**30
_RATIO_FROM_BYTES = 2**30
_RATIO_MOST = 200
_COPY_BYTES = 2**20
_EXAMPLES = 10


def get_local_data_path() -> Path:
    """Return the folder that stimulus sets and assemblies are downloaded to (``BRAINIO_HOME``)."""
    return settings().data_home if _local_data_path is None else Path(_local_data_path)


@dataclass(frozen=True, kw_only=True)
class S3Object:
    """A file in S3.

    Attributes
    ----------
    bucket : str
        Name of the bucket, without folders (see `split_bucket`).
    key : str
        Path within the bucket.
    version_id : str, optional
        Which version; None or ``''`` is the newest. ``'null'`` is S3's name for the version that was stored before
        versioning was switched on.
    sha1 : str, optional
        Hexadecimal digest that the file has to have; None or ``''`` is not verified.
    """

    bucket: str
    key: str
    version_id: str | None = None
    sha1: str | None = None

    def __str__(self) -> str:
        version = f" (version {self.version_id})" if self.version_id else ""
        return f"s3://{self.bucket}/{self.key}{version}"


def split_bucket(bucket: str, path: str) -> tuple[str, str]:
    """Return the name of the bucket and the key of a file, for a bucket written as ``name`` or ``name/folder/sub``.

    Examples
    --------
    >>> split_bucket('brainscore-storage/brainscore-vision/data', 'assy_A.nc')
    ('brainscore-storage', 'brainscore-vision/data/assy_A.nc')
    """
    name, _, folder = bucket.strip("/").partition("/")
    return name, f"{folder}/{path}" if folder else path


def fetch(source: S3Object, target: str | Path) -> Path:
    """Return a local copy of a file in S3, downloading it if there is none yet.

    A file that is there already is used if it has the promised digest (an unchanged file is not hashed again) and is
    not known to be another version. Processes that ask at the same time download once. A file appears under its name
    only when it is whole and verified.

    Parameters
    ----------
    source : S3Object
        What to fetch.
    target : path-like
        Where the copy shall be.

    Returns
    -------
    Path
        ``target``.

    Raises
    ------
    ChecksumError
        If the downloaded file does not have the digest; it is removed.
    DownloadError
        If it does not exist, may not be read, cannot be reached, or ``BRAINSCORE_OFFLINE=1`` forbids to try.
    """
    target = Path(target)
    if _is_usable(target, source):
        return target
    if settings().offline:
        raise DownloadError(
            f"{source} is not at {target}{' in the version asked for' if target.exists() else ''}, and "
            "BRAINSCORE_OFFLINE=1 forbids to download it. Unset that variable, or put the file there."
        )
    if target.exists():
        logger.warning("%s is damaged or another version; fetching it from %s", target, source)
    with locked(target):
        if not _is_usable(target, source):  # nobody else has fetched it while we waited for the lock
            with atomic_path(target) as temporary:
                _download(source, temporary)
                if source.sha1:
                    _verify(temporary, source, target)
            _remember(target, source, source.sha1)
    return target


def _verify(path: Path, source: S3Object, target: Path) -> None:
    found, expected = file_digest(path), str(source.sha1).lower()
    if found != expected:
        raise ChecksumError(
            f"{target.name} from {source} does not have the promised content: expected sha1 {expected}, found {found} "
            f"({path.stat().st_size} bytes). What arrived was removed. Try again; if that does not help, the file was "
            "replaced at its source or the registration names a wrong sha1 or version_id."
        )


# --- What is known about a local file ---------------------------------------------------------------------------------


def _memo_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.fetched.json")


def _stamp(target: Path) -> list[int]:
    status = target.stat()
    return [status.st_size, status.st_mtime_ns]


def _recall(target: Path) -> dict[str, Any]:
    """Return what was noted when the file was fetched or verified; empty if nothing or if the file changed since."""
    try:
        memo = json.loads(_memo_path(target).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent, or not ours: then the file is simply verified again
        return {}
    return memo if isinstance(memo, dict) and memo.get("stamp") == _stamp(target) else {}


def _remember(target: Path, source: S3Object, sha1: str | None) -> None:
    memo = {
        "stamp": _stamp(target),
        "source": f"s3://{source.bucket}/{source.key}",
        "version_id": source.version_id or None,
        "sha1": sha1.lower() if sha1 else None,
    }
    try:
        with atomic_path(_memo_path(target)) as temporary:
            temporary.write_text(json.dumps(memo), encoding="utf-8")
    except PermissionError:
        # A shared cache that is read-only for us: it only costs hashing the file again next time.
        logger.debug("Cannot note in %s that it is verified", target.parent)


def _is_usable(target: Path, source: S3Object) -> bool:
    if not target.is_file():
        return False
    memo = _recall(target)
    if not source.sha1:
        # Without a digest the version is all there is to go by. A file that we have not fetched ourselves is trusted.
        known = memo.get("version_id")
        return not (known and source.version_id and known != source.version_id)
    found = memo.get("sha1") or file_digest(target)
    if found != source.sha1.lower():
        logger.warning(
            "%s has sha1 %s, but %s is wanted: it will be fetched from %s", target, found, source.sha1, source
        )
        return False
    if not memo.get("sha1"):
        _remember(target, source, found)
    return True


# --- S3 ---------------------------------------------------------------------------------------------------------------


def make_s3_clients() -> list[Any]:
    """Return the clients to try in turn: signed if there are credentials, then unsigned.

    The endpoint comes from the standard variables ``AWS_ENDPOINT_URL_S3`` and ``AWS_ENDPOINT_URL``. Failed requests are
    repeated with growing pauses.
    """
    import boto3  # slow to import and only needed to download
    from botocore import UNSIGNED
    from botocore.config import Config

    base = Config(
        retries={"mode": "standard", "max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
    )
    session = boto3.session.Session()
    unsigned = session.client("s3", config=base.merge(Config(signature_version=UNSIGNED)))
    if session.get_credentials() is None:
        return [unsigned]
    return [session.client("s3", config=base), unsigned]


def _download(source: S3Object, path: Path) -> None:
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        *signed, unsigned = make_s3_clients()
        for client in signed:
            try:
                return _download_with(client, source, path)
            except (ClientError, BotoCoreError) as error:
                if not _is_about_credentials(error):
                    raise
                logger.debug("Signed download of %s failed, trying without credentials: %s", source, error)
        _download_with(unsigned, source, path)
    except ClientError as error:
        _raise_refused(source, error, signed=bool(signed))
    except (BotoCoreError, Boto3Error) as error:
        raise DownloadError(
            f"Cannot download {source}: {error}. Check the connection (and AWS_ENDPOINT_URL, if you use another "
            f"server) and try again; {_ATTEMPTS} attempts were made."
        ) from error


def _is_about_credentials(error: Exception) -> bool:
    from botocore import exceptions

    if isinstance(error, exceptions.ClientError):
        return _http_status(error) in _CREDENTIAL_STATUSES
    return isinstance(
        error,
        (
            exceptions.CredentialRetrievalError,
            exceptions.NoCredentialsError,
            exceptions.PartialCredentialsError,
            exceptions.SSOError,
            exceptions.TokenRetrievalError,
        ),
    )


def _download_with(client: Any, source: S3Object, path: Path) -> None:
    from boto3.s3.transfer import TransferConfig
    from botocore.exceptions import ClientError

    version = {"VersionId": source.version_id} if source.version_id else {}
    try:
        size_bytes = client.head_object(Bucket=source.bucket, Key=source.key, **version)["ContentLength"]
    except ClientError as error:
        if source.version_id != "null" or _http_status(error) != 400:
            raise
        version = {}  # some servers know no version 'null' in a bucket without versions, where it is the only one
        size_bytes = client.head_object(Bucket=source.bucket, Key=source.key)["ContentLength"]
    with _progress(f"{source.bucket}/{source.key}", size_bytes) as advance:
        client.download_file(
            source.bucket,
            source.key,
            str(path),
            ExtraArgs=version,
            Callback=advance,
            Config=TransferConfig(num_download_attempts=_ATTEMPTS),
        )
    if path.stat().st_size != size_bytes:
        raise DownloadError(f"{source} has {size_bytes} bytes, but {path.stat().st_size} arrived. Try again.")


@contextmanager
def _progress(description: str, size_bytes: int) -> Iterator[Any]:
    from tqdm import tqdm

    hidden = size_bytes <= _ALWAYS_SHOW_PROGRESS_BYTES and not sys.stderr.isatty()
    lock = threading.Lock()  # parts of a file arrive in several threads
    with tqdm(total=size_bytes, unit="B", unit_scale=True, desc=description, disable=hidden) as bar:

        def advance(arrived_bytes: int) -> None:
            with lock:
                bar.update(arrived_bytes)

        yield advance


def _http_status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _raise_refused(source: S3Object, error: Any, *, signed: bool) -> NoReturn:
    status = _http_status(error)
    where = f"bucket '{source.bucket}', key '{source.key}'" + (
        f", version '{source.version_id}'" if source.version_id else ""
    )
    if status in {401, 403}:
        reason = (
            "is private and the AWS credentials found here do not give access to it"
            if signed
            else "is private (or does not exist) and there are no AWS credentials here"
        )
        raise DownloadError(
            f"Cannot download {where}: it {reason}. Private data belongs to its owners: ask the Brain-Score team for "
            "access and run `aws configure`, or use a public benchmark."
        ) from error
    if status in {400, 404}:
        raise DownloadError(
            f"Cannot download {where}: there is no such file or version ({error}). "
            "Compare bucket, identifier, filename_prefix and version_id with what the upload returned."
        ) from error
    raise DownloadError(f"Cannot download {where}: {error}") from error


# --- Archives ---------------------------------------------------------------------------------------------------------


def unzip(zip_path: str | Path, *, most_bytes: int = _UNPACKED_MOST_BYTES, most_ratio: float = _RATIO_MOST) -> Path:
    """Extract an archive into a folder of its name next to it, once, and return the folder.

    A new folder appears only when it is complete. If the folder is there already, members that are absent or have
    another size are extracted into it; everything else in it is left alone.

    Parameters
    ----------
    zip_path : path-like
        The archive ``<folder>/<name>.zip``; extracted to ``<folder>/<name>/``.
    most_bytes : int
        Refuse an archive whose members have more bytes than this in total.
    most_ratio : float
        Refuse an archive of more than 1 GiB unpacked that unpacks to more than this many times its own size.

    Raises
    ------
    CorruptFileError
        If it is no archive, is damaged, or holds anything but regular files below its own folder (absolute paths,
        ``..``, links, devices, one name twice, encrypted members), or is too large. Nothing is extracted then.
    """
    zip_path = Path(zip_path)
    directory = zip_path.with_suffix("")
    if directory == zip_path:
        raise CorruptFileError(f"{zip_path} has no suffix, so there is no name for the folder to extract to.")
    with _opened(zip_path) as archive:
        members = _checked_members(archive, zip_path, most_bytes, most_ratio)
        if directory.is_dir() and not _absent(members, directory):
            return directory
        with locked(directory):
            if directory.exists():
                _repair(archive, _absent(members, directory), directory)
            else:
                with atomic_directory(directory) as temporary:
                    _extract(archive, members, temporary)
    return directory


@contextmanager
def _opened(zip_path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(zip_path) as archive:
            yield archive
    except (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, zlib.error, struct.error) as error:
        raise CorruptFileError(
            f"{zip_path} cannot be unpacked: {error}. Remove it and load again to have it downloaded anew."
        ) from error


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
        rest = f"\n  ... and {len(problems) - _EXAMPLES} more" if len(problems) > _EXAMPLES else ""
        raise CorruptFileError(
            f"{zip_path} is not unpacked, because it is not safe:\n  " + "\n  ".join(problems[:_EXAMPLES]) + rest
        )
    return [info for info in infos if not info.filename.endswith("/")]


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
        return "is compressed in another way than the usual one (deflate)"
    if info.header_offset < 0:
        return "is damaged"
    return None


def _clashes(infos: list[zipfile.ZipInfo]) -> list[str]:
    seen: set[str] = set()
    twice: list[str] = []
    for info in infos:
        name = info.filename.rstrip("/")
        if name in seen:
            twice.append(f"{name!r} is there twice")
        seen.add(name)
    files = {info.filename for info in infos if not info.filename.endswith("/")}
    return twice + [
        f"{str(parent)!r} is a file and a folder"
        for parent in sorted({parent for name in seen for parent in PurePosixPath(name).parents})
        if str(parent) in files
    ]


def _absent(members: list[zipfile.ZipInfo], directory: Path) -> list[zipfile.ZipInfo]:
    return [info for info in members if _size_bytes(directory / info.filename) != info.file_size]


def _size_bytes(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _extract(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], directory: Path) -> None:
    for info in members:
        path = directory / info.filename
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as packed, path.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, _COPY_BYTES)


def _repair(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], directory: Path) -> None:
    for info in members:
        path = directory / info.filename
        if not path.parent.resolve().is_relative_to(directory.resolve()):
            raise CorruptFileError(f"{info.filename!r} would be written outside of {directory}, through a link in it.")
        with archive.open(info) as packed, atomic_path(path) as temporary, temporary.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, _COPY_BYTES)


# --- Names ------------------------------------------------------------------------------------------------------------


def resolve_assembly_class(name: str) -> type[DataAssembly]:
    """Return the assembly class of a name, as it is written in a packaging script or a registration.

    Raises
    ------
    AssemblyError
        A `ValueError`: there is no assembly class of this name.
    """
    from brainscore_core.supported_data_standards.brainio import (
        assemblies,
    )  # imports stimuli, and is not needed to fetch

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
        suggestions = nearest(name, names)
        hint = f" Did you mean {suggestions[0]!r}?" if suggestions else ""
        raise AssemblyError(f"No assembly class is called {name!r}.{hint} There are: {', '.join(names)}.")
    return getattr(assemblies, name)  # type: ignore[no-any-return]  # chosen from the names above


def get_assembly(identifier: str) -> NoReturn:
    """Refuse: there is no catalogue of assemblies; data plugins register them.

    Raises
    ------
    NotImplementedError
        Always; the message names what to call instead.
    """
    raise NotImplementedError(
        f"There is no catalogue to look {identifier!r} up in. Use load_dataset({identifier!r}) of the domain "
        "(such as brainscore_vision), or s3.load_assembly_from_s3(...)."
    )


def get_stimulus_set(identifier: str) -> NoReturn:
    """Refuse: there is no catalogue of stimulus sets; data plugins register them.

    Raises
    ------
    NotImplementedError
        Always; the message names what to call instead.
    """
    raise NotImplementedError(
        f"There is no catalogue to look {identifier!r} up in. Use load_stimulus_set({identifier!r}) of the domain "
        "(such as brainscore_vision), or s3.load_stimulus_set_from_s3(...)."
    )
