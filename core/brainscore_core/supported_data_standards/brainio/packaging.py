"""Write stimulus sets and assemblies to files that can be published, and upload them."""

from __future__ import annotations

import csv
import logging
import shutil
import stat
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from brainscore_core.caching import atomic_path, file_digest
from brainscore_core.errors import AssemblyError, ConfigurationError, StimulusError, UploadError
from brainscore_core.supported_data_standards.brainio import _validation
from brainscore_core.supported_data_standards.brainio._netcdf import write_netcdf
from brainscore_core.supported_data_standards.brainio.conventions import STIMULUS_ID
from brainscore_core.supported_data_standards.brainio.fetch import (
    get_local_data_path,
    resolve_assembly_class,
    split_bucket,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet, StimulusSetLoader

__all__ = [
    "create_stimulus_csv",
    "create_stimulus_zip",
    "package_data_assembly",
    "package_data_assembly_locally",
    "package_stimulus_set",
    "package_stimulus_set_locally",
    "upload_to_s3",
    "write_netcdf",
]

logger = logging.getLogger(__name__)

# Columns that say where files are on this machine or how the archive is laid out; they are not published.
_LOCAL_COLUMNS = ("stimulus_current_local_file_path", _validation.PATH_WITHIN_STORE)
# One date for every member, the earliest that an archive can hold: the same stimuli make the same bytes every time.
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_ALWAYS_SHOW_PROGRESS_BYTES = 5_000_000


def package_stimulus_set_locally(
    proto_stimulus_set: StimulusSet, stimulus_set_identifier: str, downloads_path: str | Path | None = None
) -> dict[str, str]:
    """Write a stimulus set to a table and an archive.

    The same stimuli and columns give the same bytes, on every run and whatever the order of the columns.

    Parameters
    ----------
    proto_stimulus_set : StimulusSet
        One row per stimulus, with the column ``stimulus_id`` (texts, no two the same) and `stimulus_paths`. An
        optional column ``stimulus_path_within_store`` names the files within the archive (without their ending);
        otherwise they are called after the ``stimulus_id``. It is not changed.
    stimulus_set_identifier : str
        Unique name, such as ``'MajajHong2015'``; a ``.`` in it is a ``_`` in the names of the files.
    downloads_path : path-like, optional
        Folder to write to. None is ``~/Downloads/brainscore_packages``.

    Returns
    -------
    dict
        ``identifier``, ``csv_path``, ``zip_path``, ``csv_sha1``, ``zip_sha1``: what registering the data needs.

    Raises
    ------
    StimulusError
        Lists everything that is wrong with the stimulus set; nothing is written then.
    """
    folder = _downloads_folder(downloads_path)
    stimulus_set = _with_stimulus_id(proto_stimulus_set)
    _raise_problems(
        _validation.check_identifier(stimulus_set_identifier) + _validation.check_stimulus_set(stimulus_set),
        StimulusError,
        f"Stimulus set {stimulus_set_identifier!r} cannot be packaged",
    )
    store_name = f"stimulus_{stimulus_set_identifier.replace('.', '_')}"
    zip_path, csv_path = folder / f"{store_name}.zip", folder / f"{store_name}.csv"
    zip_sha1, filenames = create_stimulus_zip(stimulus_set, zip_path)
    stimulus_set[_validation.FILENAME] = filenames
    csv_sha1 = create_stimulus_csv(stimulus_set, csv_path)
    logger.debug("Packaged stimulus set %s: %s, %s", stimulus_set_identifier, csv_path, zip_path)
    return {
        "identifier": stimulus_set_identifier,
        "csv_path": str(csv_path),
        "zip_path": str(zip_path),
        "csv_sha1": csv_sha1,
        "zip_sha1": zip_sha1,
    }


def package_data_assembly_locally(
    proto_data_assembly: xr.DataArray,
    assembly_identifier: str,
    stimulus_set_identifier: str | None,
    assembly_class_name: str = "NeuroidAssembly",
    downloads_path: str | Path | None = None,
    extras: Mapping[str, xr.DataArray] | None = None,
    *,
    stimulus_set: pd.DataFrame | None = None,
    nans_expected: bool = False,
) -> dict[str, str]:
    """Write an assembly to a netCDF file.

    Parameters
    ----------
    proto_data_assembly : xarray.DataArray
        The measurements, with the dims and coordinates that the class requires. It is not changed.
    assembly_identifier : str
        Unique name, such as ``'MajajHong2015.IT'``; a ``.`` in it is a ``_`` in the name of the file.
    stimulus_set_identifier : str, optional
        Identifier of the stimulus set that was shown; None for an assembly without stimuli.
    assembly_class_name : str
        One of those in `fetch.resolve_assembly_class`.
    downloads_path : path-like, optional
        Folder to write to. None is ``~/Downloads/brainscore_packages``.
    extras : mapping of str to xarray.DataArray, optional
        More arrays, each written to the netCDF group of its name.
    stimulus_set : pandas.DataFrame, optional
        The stimuli that were shown: every ``stimulus_id`` of the assembly has to be among them. None is
        ``attrs['stimulus_set']`` if that is set, else this is not checked.
    nans_expected : bool
        Whether missing values are part of the data; otherwise they are refused.

    Returns
    -------
    dict
        ``identifier``, ``path``, ``sha1``, ``cls``: what registering the data needs.

    Raises
    ------
    AssemblyError
        Lists everything that is wrong with the assembly; nothing is written then.
    """
    folder = _downloads_folder(downloads_path)
    assembly = resolve_assembly_class(assembly_class_name)(proto_data_assembly.copy(deep=False))
    _raise_problems(
        _validation.check_identifier(assembly_identifier)
        + _check_links(assembly, stimulus_set_identifier, stimulus_set)
        + _validation.check_assembly(assembly, nans_expected=nans_expected)
        + _check_extras(extras),
        AssemblyError,
        f"Assembly {assembly_identifier!r} cannot be packaged as {assembly_class_name}",
    )
    if stimulus_set_identifier is None:
        assembly.attrs.pop("stimulus_set_identifier", None)
    else:
        assembly.attrs["stimulus_set_identifier"] = stimulus_set_identifier
    path = folder / f"assy_{assembly_identifier.replace('.', '_')}.nc"
    with atomic_path(path) as temporary:
        write_netcdf(assembly, temporary)
        for group, extra in (extras or {}).items():
            write_netcdf(extra, temporary, append=True, group=group)
    logger.debug("Packaged assembly %s: %s", assembly_identifier, path)
    return {
        "identifier": assembly_identifier,
        "path": str(path),
        "sha1": file_digest(path),
        "cls": assembly_class_name,
    }


def package_stimulus_set(
    catalog_name: object,  # noqa: ARG001 -- packaging scripts pass it; there are no catalogues any more
    proto_stimulus_set: StimulusSet,
    stimulus_set_identifier: str,
    bucket_name: str = "brainio-temp",
) -> dict[str, str | None]:
    """Package a stimulus set and upload it.

    Parameters
    ----------
    catalog_name : object
        Ignored.
    proto_stimulus_set, stimulus_set_identifier
        See `package_stimulus_set_locally`.
    bucket_name : str
        ``name`` or ``name/folder/sub``.

    Returns
    -------
    dict
        ``identifier``, ``bucket``, ``csv_sha1``, ``zip_sha1``, ``csv_version_id``, ``zip_version_id``; the versions are
        None in a bucket without versions.

    Raises
    ------
    StimulusError
        See `package_stimulus_set_locally`.
    ConfigurationError, UploadError
        See `upload_to_s3`.
    """
    package = package_stimulus_set_locally(
        proto_stimulus_set, stimulus_set_identifier, _upload_folder("stimulus_", stimulus_set_identifier)
    )
    version_ids = {}
    for kind in ("csv", "zip"):
        path = Path(package[f"{kind}_path"])
        version_ids[kind] = upload_to_s3(path, bucket_name, path.name).get("VersionId")
    return {
        "identifier": stimulus_set_identifier,
        "bucket": bucket_name,
        "csv_sha1": package["csv_sha1"],
        "zip_sha1": package["zip_sha1"],
        "csv_version_id": version_ids["csv"],
        "zip_version_id": version_ids["zip"],
    }


def package_data_assembly(
    catalog_identifier: object,  # noqa: ARG001 -- packaging scripts pass it; there are no catalogues any more
    proto_data_assembly: xr.DataArray,
    assembly_identifier: str,
    stimulus_set_identifier: str | None,
    assembly_class_name: str = "NeuroidAssembly",
    bucket_name: str = "brainio-temp",
    extras: Mapping[str, xr.DataArray] | None = None,
    *,
    stimulus_set: pd.DataFrame | None = None,
    nans_expected: bool = False,
) -> dict[str, str | None]:
    """Package an assembly and upload it.

    Parameters
    ----------
    catalog_identifier : object
        Ignored.
    proto_data_assembly, assembly_identifier, stimulus_set_identifier, assembly_class_name, extras
        See `package_data_assembly_locally`.
    bucket_name : str
        ``name`` or ``name/folder/sub``.
    stimulus_set, nans_expected
        See `package_data_assembly_locally`.

    Returns
    -------
    dict
        ``identifier``, ``version_id``, ``sha1``, ``bucket``, ``cls``; the version is None in a bucket without versions.

    Raises
    ------
    AssemblyError
        See `package_data_assembly_locally`.
    ConfigurationError, UploadError
        See `upload_to_s3`.
    """
    package = package_data_assembly_locally(
        proto_data_assembly,
        assembly_identifier,
        stimulus_set_identifier,
        assembly_class_name,
        _upload_folder("assy_", assembly_identifier),
        extras,
        stimulus_set=stimulus_set,
        nans_expected=nans_expected,
    )
    path = Path(package["path"])
    return {
        "identifier": assembly_identifier,
        "version_id": upload_to_s3(path, bucket_name, path.name).get("VersionId"),
        "sha1": package["sha1"],
        "bucket": bucket_name,
        "cls": assembly_class_name,
    }


def create_stimulus_zip(proto_stimulus_set: StimulusSet, target_zip_path: str | Path) -> tuple[str, list[str]]:
    """Write the files of a stimulus set to an archive.

    Members are stored as they are (images and videos are compressed already), in the order of their names and with
    one fixed date, so that the same files make the same archive everywhere.

    Parameters
    ----------
    proto_stimulus_set : StimulusSet
        With the column ``stimulus_id``, `stimulus_paths` and optionally the column ``stimulus_path_within_store``.
    target_zip_path : path-like
        Where to write; appears when it is complete.

    Returns
    -------
    sha1 : str
        Digest of the archive.
    filenames : list of str
        Name of every stimulus within the archive, in the order of the rows.

    Raises
    ------
    StimulusError
        If two stimuli would have the same name.
    """
    column = _validation.PATH_WITHIN_STORE
    names = proto_stimulus_set[column if column in proto_stimulus_set.columns else STIMULUS_ID]
    paths = [Path(proto_stimulus_set.get_stimulus(stimulus_id)) for stimulus_id in proto_stimulus_set[STIMULUS_ID]]
    filenames = [
        # Whoever chose the name may have written the ending already.
        name if names.name == column and name.endswith(path.suffix) else f"{name}{path.suffix}"
        for name, path in zip(names, paths, strict=True)
    ]
    members = dict(zip(filenames, paths, strict=True))
    if len(members) < len(filenames):
        twice = sorted({name for name in filenames if filenames.count(name) > 1})
        raise StimulusError(f"Several stimuli would be called the same within the archive: {', '.join(twice[:10])}.")
    with atomic_path(target_zip_path) as temporary:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            for filename, path in sorted(members.items()):
                _add_member(archive, filename, path)
        sha1 = file_digest(temporary)
    return sha1, filenames


def _add_member(archive: zipfile.ZipFile, filename: str, path: Path) -> None:
    info = zipfile.ZipInfo(filename, date_time=_ZIP_DATE)
    info.create_system = 3  # Unix, on every machine
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.file_size = path.stat().st_size
    with path.open("rb") as source, archive.open(info, "w") as member:
        shutil.copyfileobj(source, member, 2**20)


def create_stimulus_csv(proto_stimulus_set: pd.DataFrame, target_path: str | Path) -> str:
    r"""Write the table of a stimulus set and return its SHA-1 digest.

    Columns: ``stimulus_id``, the others in alphabetical order, ``filename``; those that only matter on this machine
    are left out. Texts are quoted and numbers are not, so that ``'007'`` does not become 7 when it is read again.
    Missing values are empty. Encoding UTF-8, lines end with ``\n``.

    Parameters
    ----------
    proto_stimulus_set : pandas.DataFrame
        The table.
    target_path : path-like
        Where to write; appears when it is complete.
    """
    first, last = [STIMULUS_ID], [_validation.FILENAME]
    columns = [column for column in proto_stimulus_set.columns if column not in _LOCAL_COLUMNS]
    ordered = [
        *(column for column in first if column in columns),
        *sorted(column for column in columns if column not in first + last),
        *(column for column in last if column in columns),
    ]
    values = [list(map(_plain_value, proto_stimulus_set[column].tolist())) for column in ordered]
    with atomic_path(target_path) as temporary:
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            writer.writerow(ordered)
            writer.writerows(zip(*values, strict=True))
        return file_digest(temporary)


def _plain_value(value: Any) -> Any:
    """Return what the csv module writes the same way under all versions of NumPy and pandas."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, bool, int)):
        return value
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    return value if isinstance(value, float) else str(value)


def upload_to_s3(source_file_path: str | Path, bucket_name: str, target_s3_key: str) -> dict[str, Any]:
    """Upload a file and return what S3 says about it.

    Parameters
    ----------
    source_file_path : path-like
        What to upload.
    bucket_name : str
        ``name`` or ``name/folder/sub``.
    target_s3_key : str
        Name below that folder.

    Returns
    -------
    dict
        Answer of ``head_object`` with ``ETag``, ``ContentLength`` and, in a bucket with versions, ``VersionId``.

    Raises
    ------
    ConfigurationError
        If there are no AWS credentials.
    UploadError
        An `OSError`: the upload failed.
    """
    import boto3  # slow to import and only needed to upload
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    path = Path(source_file_path)
    bucket, key = split_bucket(bucket_name, target_s3_key)
    session = boto3.session.Session()
    try:
        client = session.client("s3")
        with _progress(path) as bar:
            client.upload_file(str(path), bucket, key, ExtraArgs=_uploader_tag(session), Callback=bar.update)
        return dict(client.head_object(Bucket=bucket, Key=key))
    except NoCredentialsError as error:
        raise ConfigurationError(
            f"Cannot upload {path.name}: there are no AWS credentials here. Run `aws configure`, or package with "
            "package_stimulus_set_locally and package_data_assembly_locally and upload the files on the website."
        ) from error
    except (BotoCoreError, Boto3Error, ClientError) as error:
        raise UploadError(f"Cannot upload {path} to s3://{bucket}/{key}: {error}. The local file is kept.") from error


def _uploader_tag(session: Any) -> dict[str, str]:
    from urllib.parse import urlencode

    from botocore.exceptions import BotoCoreError, ClientError

    try:
        arn = session.client("sts").get_caller_identity()["Arn"]
    except (BotoCoreError, ClientError) as error:
        # Servers other than AWS may not tell who we are; the tag is a courtesy, the upload is not.
        logger.debug("Uploading without a tag that names the uploader: %s", error)
        return {}
    return {"Tagging": urlencode({"uploadedBy": arn.rsplit("/", maxsplit=1)[-1].rsplit(":", maxsplit=1)[-1]})}


def _progress(path: Path) -> Any:
    from tqdm import tqdm

    size_bytes = path.stat().st_size
    hidden = size_bytes <= _ALWAYS_SHOW_PROGRESS_BYTES and not sys.stderr.isatty()
    return tqdm(total=size_bytes, unit="B", unit_scale=True, desc=f"upload {path.name}", disable=hidden)


def _downloads_folder(downloads_path: str | Path | None) -> Path:
    if downloads_path is None:
        return Path.home() / "Downloads" / "brainscore_packages"
    return Path(downloads_path).expanduser()


def _upload_folder(prefix: str, identifier: object) -> Path:
    return get_local_data_path() / f"{prefix}{str(identifier).replace('.', '_')}"


def _with_stimulus_id(stimulus_set: StimulusSet) -> StimulusSet:
    """Return a copy that packaging may add columns to."""
    copied = StimulusSet(stimulus_set, copy=True)
    StimulusSetLoader.correct_stimulus_id_name(copied)
    return copied


def _check_links(
    assembly: xr.DataArray, stimulus_set_identifier: str | None, stimulus_set: pd.DataFrame | None
) -> list[str]:
    problems = [] if stimulus_set_identifier is None else _validation.check_identifier(stimulus_set_identifier)
    shown = assembly.attrs.get("stimulus_set") if stimulus_set is None else stimulus_set
    return problems if shown is None else problems + _validation.check_alignment(assembly, shown)


def _check_extras(extras: Mapping[str, xr.DataArray] | None) -> list[str]:
    return [
        f"extra {name!r} is a {type(extra).__name__}; expected a DataArray or an assembly"
        for name, extra in (extras or {}).items()
        if not isinstance(extra, xr.DataArray)
    ]


def _raise_problems(problems: list[str], error_class: type[Exception], headline: str) -> None:
    if problems:
        raise error_class(f"{headline}:\n- " + "\n- ".join(problems))
