"""Turn a reference to a file in S3 into a local file, an assembly or a stimulus set.

All functions raise the errors of `fetch.fetch`. A ``bucket`` is ``name`` or ``name/folder/sub``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, StimulusError, count
from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio.fetch import (
    S3Object,
    fetch,
    fetch_all,
    get_local_data_path,
    unzip,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = [
    "S3Object",
    "download_file_if_not_exists",
    "get_path",
    "load_assembly_from_s3",
    "load_file",
    "load_file_from_s3",
    "load_folder_from_s3",
    "load_stimulus_set_from_s3",
    "load_weight_file",
    "locate",
    "sha1_hash",
]

Artefact = TypeVar("Artefact", bound="DataAssembly")

_DIGESTS = {"SHA-1": re.compile("[0-9a-fA-F]{40}"), "SHA-256": re.compile("[0-9a-fA-F]{64}")}


def get_path(
    identifier: str,
    file_type: str,
    bucket: str,
    version_id: str | None,
    sha1: str | None,
    filename_prefix: str | None = None,
    folder_name: str | None = None,
    *,
    sha256: str | None = None,
) -> Path:
    """Return the local copy of a packaged file.

    Parameters
    ----------
    identifier
        In the file name each ``.`` becomes ``_``.
    file_type : {'csv', 'zip', 'nc'}
        Ending of the file.
    filename_prefix
        Default ``'stimulus_'`` for csv and zip files and ``'assy_'`` for others.
    folder_name
        Folder within the bucket, below those in ``bucket``.

    Returns
    -------
    Path
        ``<data home>/<sha1>/<file name>``.
    """
    named = identifier, file_type, bucket, version_id, sha1, filename_prefix, folder_name
    source, target = locate(*named, sha256=sha256)
    return fetch(source, target)


def locate(
    identifier: str,
    file_type: str,
    bucket: str,
    version_id: str | None,
    sha1: str | None,
    filename_prefix: str | None = None,
    folder_name: str | None = None,
    *,
    sha256: str | None = None,
) -> tuple[S3Object, Path]:
    """Return source and target of `get_path` without downloading; malformed digests raise a `ConfigurationError`."""
    for (algorithm, pattern), digest in zip(_DIGESTS.items(), (sha1, sha256), strict=True):
        if digest and not pattern.fullmatch(digest):
            digits = 40 if algorithm == "SHA-1" else 64
            raise ConfigurationError(
                f"{digest!r} given for {identifier!r} is not a {algorithm} digest; expected {digits} hexadecimal "
                "digits. Copy it from the output of packaging."
            )
    if filename_prefix is None:
        filename_prefix = "stimulus_" if file_type in {"csv", "zip"} else "assy_"
    filename = f"{filename_prefix}{identifier.replace('.', '_')}.{file_type}"
    source = S3Object.below(bucket, f"{folder_name}/{filename}" if folder_name else filename, version_id, sha1, sha256)
    folder = sha1.lower() if sha1 else f"{source.bucket}/{source.key}/{version_id or 'newest'}"
    return source, get_local_data_path() / folder / filename


def load_assembly_from_s3(
    identifier: str,
    version_id: str | None,
    sha1: str,
    bucket: str,
    cls: type[Artefact],
    stimulus_set_loader: Callable[[], StimulusSet] | None = None,
    merge_stimulus_set_meta: bool = True,
    *,
    memory_map: bool | None = None,
    sha256: str | None = None,
) -> Artefact:
    """Load an assembly.

    Parameters
    ----------
    cls
        Class of the assembly, such as `NeuroidAssembly`.
    stimulus_set_loader
        Returns the stimulus set that was shown, for ``attrs['stimulus_set']``.
    merge_stimulus_set_meta
        Whether its columns become coordinates of ``presentation``.
    memory_map
        Whether values, cached uncompressed, stay on disk and are read on demand; default ``BRAINSCORE_MEMORY_MAP``.

    Raises
    ------
    CorruptFileError
        If the file is damaged or refers to other files.
    """
    from brainscore_core.supported_data_standards.brainio import assemblies  # xarray is slow to import

    path = get_path(identifier, "nc", bucket, version_id, sha1, sha256=sha256)
    current = settings()
    mapped = current.memory_map if memory_map is None else memory_map
    values_path = current.cache_home / "memory_maps" / f"{sha1}.npy" if mapped else None
    if stimulus_set_loader is None:
        loader = assemblies.AssemblyLoader(cls, path, memory_map=values_path)
    else:
        stimulus_set = stimulus_set_loader()
        reference, merge = assemblies.StimulusReferenceAssemblyLoader, assemblies.StimulusMergeAssemblyLoader
        loader_class = merge if merge_stimulus_set_meta else reference
        loader = loader_class(cls, path, stimulus_set.identifier, stimulus_set, memory_map=values_path)
    assembly = loader.load()
    assembly.attrs["identifier"] = identifier
    return cast("Artefact", assembly)


def load_stimulus_set_from_s3(
    identifier: str,
    bucket: str,
    csv_sha1: str,
    zip_sha1: str,
    csv_version_id: str | None,
    zip_version_id: str | None,
    filename_prefix: str | None = None,
    *,
    csv_sha256: str | None = None,
    zip_sha256: str | None = None,
) -> StimulusSet:
    """Load a stimulus set with its identifier and `stimulus_paths`; see `get_path`.

    Raises `StimulusError` if table and archive do not list the same files.
    """
    table = locate(identifier, "csv", bucket, csv_version_id, csv_sha1, filename_prefix, sha256=csv_sha256)
    archive = locate(identifier, "zip", bucket, zip_version_id, zip_sha1, filename_prefix, sha256=zip_sha256)
    csv_path, zip_path = fetch_all([table, archive])
    directory = unzip(zip_path)
    stimulus_set = StimulusSet.from_files(csv_path, directory)
    _check_same_files(stimulus_set, csv_path, directory)
    stimulus_set.identifier = identifier
    return stimulus_set


def _check_same_files(stimulus_set: StimulusSet, csv_path: Path, directory: Path) -> None:
    # The first part of the path, as a stimulus may lie in a folder of the archive.
    listed = {path.relative_to(directory).parts[0] for path in stimulus_set.stimulus_paths.values()}
    # A table or an archive among the stimuli is not a stimulus; hidden files are left by file managers and by us.
    present = {path.name for path in directory.iterdir() if not path.name.startswith(".")}
    surplus = {name for name in present if not name.endswith((".zip", ".csv"))} - listed
    if surplus:
        examples = ", ".join(sorted(surplus)[:10])
        raise StimulusError(
            f"{directory} holds {count(len(surplus), 'file')} that {csv_path} does not list ({examples}). Either they "
            f"belong to another version (remove {directory} to extract it again) or the set was packaged incorrectly."
        )


def load_file_from_s3(
    bucket: str,
    path: str,
    local_filepath: str | Path,
    sha1: str | None = None,
    version_id: str | None = None,
    *,
    sha256: str | None = None,
) -> Path:
    """Return ``local_filepath`` after making sure that it is a copy of a file in S3; see `S3Object.below`."""
    return fetch(S3Object.below(bucket, path, version_id, sha1, sha256), local_filepath)


def load_file(bucket: str, relative_path: str, version_id: str | None, folder_name: str | None = None) -> Path:
    """Return the local copy of a file that a plugin needs, such as weights; no ``version_id`` is the newest.

    ``folder_name`` is that in the bucket and in ``BRAINSCORE_HOME``, by default ``BRAINSCORE_S3_WEIGHT_FOLDER``.
    """
    return load_weight_file(bucket, relative_path, version_id, None, folder_name)


def load_weight_file(
    bucket: str,
    relative_path: str,
    version_id: str | None,
    sha1: str | None,
    folder_name: str | None = None,
    *,
    sha256: str | None = None,
) -> Path:
    """Return the local copy of a file like `load_file`, and verify its digests if there are any."""
    current = settings()
    folder = current.s3_weight_folder if folder_name is None else folder_name
    target = current.home / folder / relative_path
    return load_file_from_s3(bucket, f"{folder}/{relative_path}", target, sha1, version_id, sha256=sha256)


def load_folder_from_s3(
    bucket: str,
    folder_path: str,
    filename_version_sha: Iterable[tuple[str, str | None, str | None]],
    save_directory: str | Path,
) -> None:
    """Download files (filename, version_id or None, sha1 or None) of one folder of a bucket, several at once."""
    fetch_all(
        [
            (S3Object.below(bucket, f"{folder_path}/{filename}", version_id, sha1), Path(save_directory) / filename)
            for filename, version_id, sha1 in filename_version_sha
        ]
    )


def download_file_if_not_exists(local_path: str | Path, bucket: str, remote_filepath: str) -> None:
    """Download a file unless there is a file at ``local_path`` already."""
    load_file_from_s3(bucket=bucket, path=remote_filepath, local_filepath=local_path)


def sha1_hash(file_path: str | Path) -> str:
    """Return the hexadecimal SHA-1 digest of a file."""
    return file_digest(file_path)
