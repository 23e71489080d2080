"""Package stimulus sets and assemblies: check them, write them to files that can be published, and upload these."""

# Why equal data give equal bytes
#
# Problem. A registration states digests of files. Packaging the same data again, elsewhere or later, should give the
# same digests: then anybody can verify a data set from its sources, an upload that is repeated changes nothing, and a
# changed digest means changed data.
#
# Sources. reproducible-builds.org, for archives (sorted members, fixed dates and modes); the .ZIP specification
# (APPNOTE), whose dates begin in 1980; the HDF5 documentation, for files of netCDF.
#
# What else was tried or considered, and why not.
# - `shutil.make_archive` or `ZipFile.write` (considered): members in the order of the folder, with times, modes and
#   system of this machine.
# - Compressed members (considered): the bytes would depend on the version of zlib, for pictures and videos that are
#   compressed already.
# - A digest of values instead of files (considered): people check files with `sha1sum`, and published registrations
#   state SHA-1 of files. `identity.data` has digests of values for records.
# - `DataFrame.to_csv` (considered): integers that became floats through a missing value, and texts without quotes
#   (`007`), come back as other values. `create_stimulus_csv` quotes texts and sorts columns.
# - Hashing after writing, one algorithm after the other (tried): both digests are now computed at once.
#
# Cost. O(bytes): each file is copied once, and the archive read once for each of two digests, in parallel. Every
# picture is decoded, 0.5 ms each, to find the broken ones: packaging takes 1.15 times a plain copy (perf/RESULTS.md).
#
# Where it breaks. netCDF files name the versions of h5netcdf, h5py and HDF5 that wrote them, and numbers are compressed
# by zlib: with other versions the bytes differ, and the values do not. The order of presentations and neuroids counts.
# A picture that was saved again has other bytes, though it looks the same.

from __future__ import annotations

import errno
import itertools
import logging
import os
import re
import shutil
import stat
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import xarray as xr

from brainscore_core.errors import AssemblyError, BrainScoreError, StimulusError
from brainscore_core.files import atomic_path
from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio.fetch import (
    get_local_data_path,
    place_in_data_home,
    resolve_assembly_class,
)
from brainscore_core.supported_data_standards.brainio.netcdf import write_netcdf
from brainscore_core.supported_data_standards.brainio.registration_code import registration_code
from brainscore_core.supported_data_standards.brainio.stimuli import (
    StimulusSet,
    StimulusSetLoader,
    create_stimulus_csv,
    read_table,
)
from brainscore_core.transfer.s3 import get_user_info, upload_to_s3
from brainscore_core.validation.assemblies import check_alignment, check_assembly
from brainscore_core.validation.problem import Problem, errors_of, raise_errors
from brainscore_core.validation.standards import FILENAME, NANS_EXPECTED, PATH_WITHIN_STORE, STIMULUS_ID
from brainscore_core.validation.stimuli import check_identifier, check_stimulus_set

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_stimulus_naming_convention",
    "check_stimulus_numbers",
    "create_stimulus_csv",
    "create_stimulus_zip",
    "get_user_info",
    "package_data_assembly",
    "package_data_assembly_locally",
    "package_stimulus_set",
    "package_stimulus_set_locally",
    "registration_code",
    "upload_to_s3",
    "write_netcdf",
]


Array = TypeVar("Array", bound=xr.DataArray)

logger = logging.getLogger(__name__)


class _Omitted(Enum):
    """Default of an argument that may be None."""

    OMITTED = "taken from the data"

    def __repr__(self) -> str:
        return f"<{self.value}>"


_OMITTED: Literal[_Omitted.OMITTED] = _Omitted.OMITTED


def package_stimulus_set_locally(
    proto_stimulus_set: StimulusSet,
    stimulus_set_identifier: str | None = None,
    downloads_path: str | Path | None = None,
) -> dict[str, str]:
    """Write a stimulus set to a table and an archive: the same bytes for the same stimuli and columns, in any order.

    Plugins on this machine find both before an upload (see `fetch.place_in_data_home`).

    Parameters
    ----------
    proto_stimulus_set
        One row per stimulus, with `stimulus_paths` (files of any kind) and the column ``stimulus_id`` (unique texts;
        integers become texts, with a warning). The column ``stimulus_path_within_store``, or ``stimulus_id`` without
        it, names the files within the archive, without their ending. The set is not changed.
    stimulus_set_identifier
        Unique name, such as ``'Mine2026'``; default ``proto_stimulus_set.identifier``.
    downloads_path
        Folder to write to; default ``~/Downloads/brainscore_packages``.

    Returns
    -------
    dict
        ``identifier``, ``csv_path``, ``zip_path``, ``csv_sha1``, ``zip_sha1``, ``csv_sha256``, ``zip_sha256``, see
        `registration_code`.

    Raises
    ------
    StimulusError
        Lists all problems; nothing is written.
    OSError
        The files cannot be written; nothing is left behind.
    """
    identifier = _identifier_of(proto_stimulus_set) if stimulus_set_identifier is None else stimulus_set_identifier
    package = _write_stimulus_set(proto_stimulus_set, identifier, _downloads_folder(downloads_path))
    _keep({package[f"{part}_path"]: package[f"{part}_sha1"] for part in ("csv", "zip")})
    return package


def package_data_assembly_locally(
    proto_data_assembly: xr.DataArray,
    assembly_identifier: str | None = None,
    stimulus_set_identifier: str | Literal[_Omitted.OMITTED] | None = _OMITTED,
    assembly_class_name: str = "NeuroidAssembly",
    downloads_path: str | Path | None = None,
    extras: Mapping[str, xr.DataArray] | None = None,
    *,
    stimulus_set: pd.DataFrame | None = None,
    nans_expected: bool = False,
) -> dict[str, str]:
    """Write an assembly to a netCDF file: the same bytes for the same values, coordinates (in order) and attrs.

    Plugins on this machine find it by its digest, as for `package_stimulus_set_locally`.

    Parameters
    ----------
    proto_data_assembly
        With the dims and coordinates that the class requires. It is not changed.
    assembly_identifier
        Unique name, such as ``'Mine2026.IT'``. None is ``attrs['identifier']``, or the ``name`` of the assembly, or the
        identifier of its stimulus set.
    stimulus_set_identifier
        Stimulus set that was shown; None for an assembly without stimuli. If omitted, that of ``stimulus_set`` or
        ``attrs['stimulus_set_identifier']``.
    assembly_class_name
        See `fetch.resolve_assembly_class`.
    extras
        More arrays, each written to the netCDF group of its name.
    stimulus_set
        Must include every ``stimulus_id`` of the assembly. Default ``attrs['stimulus_set']``, or the set packaged in
        ``downloads_path``, if any.
    nans_expected
        Accept missing values, and set ``attrs['nans_expected']`` in the file.

    Returns
    -------
    dict
        ``identifier``, ``path``, ``sha1``, ``cls``, ``sha256``, see `registration_code`.

    Raises
    ------
    AssemblyError, OSError
        As for `package_stimulus_set_locally`.
    """
    folder = _downloads_folder(downloads_path)
    package = _write_assembly(
        proto_data_assembly,
        assembly_identifier,
        stimulus_set_identifier,
        assembly_class_name,
        folder,
        extras or {},
        stimulus_set=stimulus_set,
        nans_expected=nans_expected,
    )
    _keep({package["path"]: package["sha1"]})
    return package


def package_stimulus_set(
    catalog_name: object,  # noqa: ARG001 -- packaging scripts pass it; catalogues no longer exist
    proto_stimulus_set: StimulusSet,
    stimulus_set_identifier: str | None = None,
    bucket_name: str = "brainio-temp",
) -> dict[str, str | None]:
    """Package a stimulus set and upload it, see `package_stimulus_set_locally` and `upload_to_s3`.

    Returns
    -------
    dict
        ``identifier``, ``bucket``, ``csv_sha1``, ``zip_sha1``, ``csv_sha256``, ``zip_sha256``, ``csv_version_id``,
        ``zip_version_id``; versions are None in a bucket without them.
    """
    identifier = _identifier_of(proto_stimulus_set) if stimulus_set_identifier is None else stimulus_set_identifier
    package = _write_stimulus_set(proto_stimulus_set, identifier, _upload_folder("stimulus_", identifier))
    return {
        **{name: package[name] for name in ("identifier", "csv_sha1", "zip_sha1", "csv_sha256", "zip_sha256")},
        "bucket": bucket_name,
        "csv_version_id": _uploaded(package["csv_path"], bucket_name),
        "zip_version_id": _uploaded(package["zip_path"], bucket_name),
    }


def package_data_assembly(
    catalog_identifier: object,  # noqa: ARG001 -- packaging scripts pass it; catalogues no longer exist
    proto_data_assembly: xr.DataArray,
    assembly_identifier: str | None = None,
    stimulus_set_identifier: str | Literal[_Omitted.OMITTED] | None = _OMITTED,
    assembly_class_name: str = "NeuroidAssembly",
    bucket_name: str = "brainio-temp",
    extras: Mapping[str, xr.DataArray] | None = None,
    *,
    stimulus_set: pd.DataFrame | None = None,
    nans_expected: bool = False,
) -> dict[str, str | None]:
    """Package an assembly and upload it, see `package_data_assembly_locally` and `upload_to_s3`.

    Returns
    -------
    dict
        ``identifier``, ``version_id`` (None in a bucket without versions), ``sha1``, ``sha256``, ``bucket``, ``cls``.
    """
    if assembly_identifier is None:
        stimuli = proto_data_assembly.attrs.get("stimulus_set") if stimulus_set is None else stimulus_set
        assembly_identifier = _assembly_identifier(proto_data_assembly, stimuli)
    package = _write_assembly(
        proto_data_assembly,
        assembly_identifier,
        stimulus_set_identifier,
        assembly_class_name,
        _upload_folder("assy_", assembly_identifier),
        extras or {},
        stimulus_set=stimulus_set,
        nans_expected=nans_expected,
    )
    return {
        "identifier": package["identifier"],
        "version_id": _uploaded(package["path"], bucket_name),
        "sha1": package["sha1"],
        "sha256": package["sha256"],
        "bucket": bucket_name,
        "cls": assembly_class_name,
    }


# Names ---------------------------------------------------------------------------------------------------------------


def _uploaded(path: str, bucket_name: str) -> str | None:
    return upload_to_s3(path, bucket_name, Path(path).name).get("VersionId")


def _identifier_of(stimulus_set: object) -> Any:
    return getattr(stimulus_set, "identifier", None)


def _assembly_identifier(assembly: xr.DataArray, stimulus_set: object) -> Any:
    named = assembly.attrs.get("identifier") or assembly.name
    return named if named is not None else _identifier_of(stimulus_set)


def _downloads_folder(downloads_path: str | Path | None) -> Path:
    if downloads_path is None:
        return Path.home() / "Downloads" / "brainscore_packages"
    return Path(downloads_path).expanduser()


def _upload_folder(prefix: str, identifier: object) -> Path:
    return get_local_data_path() / f"{prefix}{str(identifier).replace('.', '_')}"


# Checking and writing ------------------------------------------------------------------------------------------------


def _write_stimulus_set(proto_stimulus_set: StimulusSet, identifier: Any, folder: Path) -> dict[str, str]:
    stimulus_set = _with_stimulus_id(proto_stimulus_set)
    problems = check_stimulus_set(stimulus_set)
    headline = f"Stimulus set {identifier!r} cannot be packaged"
    raise_errors(check_identifier(identifier) + problems, StimulusError, headline)
    for hint in problems:
        warnings.warn(f"Stimulus set {identifier!r}, {hint}.", stacklevel=3)
    store_name = f"stimulus_{identifier.replace('.', '_')}"
    zip_path, csv_path = folder / f"{store_name}.zip", folder / f"{store_name}.csv"
    # Both are written before either appears.
    with writing(identifier, folder), atomic_path(zip_path) as new_zip, atomic_path(csv_path) as new_csv:
        zip_digests, filenames = write_stimulus_zip(stimulus_set, new_zip)
        stimulus_set[FILENAME] = filenames
        csv_sha1 = create_stimulus_csv(stimulus_set, new_csv)
        csv_sha256 = file_digest(new_csv, "sha256")
    logger.debug("Packaged stimulus set %s: %s, %s", identifier, csv_path, zip_path)
    return {
        "identifier": identifier,
        "csv_path": str(csv_path),
        "zip_path": str(zip_path),
        "csv_sha1": csv_sha1,
        "zip_sha1": zip_digests["sha1"],
        "csv_sha256": csv_sha256,
        "zip_sha256": zip_digests["sha256"],
    }


def _checked_assembly(
    proto_assembly: xr.DataArray,
    identifier: str,
    link: Any,
    class_name: str,
    extras: Mapping[str, xr.DataArray],
    stimulus_set: pd.DataFrame | None,
    *,
    nans_expected: bool,
) -> xr.DataArray:
    """Return the assembly to write, or raise an `AssemblyError` that lists all problems."""
    assembly = resolve_assembly_class(class_name)(proto_assembly.copy(deep=False))
    ids = assembly.coords.get(STIMULUS_ID)
    if ids is not None and _are_integers(ids):
        _tell_conversion("assembly", ids.values.ravel())
        assembly = assembly.assign_coords({STIMULUS_ID: (ids.dims, ids.values.astype(str))})
    problems = check_identifier(identifier)
    where = "stimulus_set_identifier"
    if link is _OMITTED:
        fix = "pass stimulus_set_identifier='<AuthorYear>', or None for an assembly without stimuli"
        problems.append(Problem(where, "the stimulus set that was shown is not specified", fix))
    else:
        problems += [] if link is None else check_identifier(link, where)
        if stimulus_set is not None:
            problems += check_alignment(assembly, stimulus_set)
    problems += check_assembly(assembly, nans_expected=nans_expected)
    problems += [
        Problem("extras", f"extra {name!r} is a {type(extra).__name__}", "pass a DataArray or an assembly")
        for name, extra in extras.items()
        if not isinstance(extra, xr.DataArray)
    ]
    raise_errors(problems, AssemblyError, f"Assembly {identifier!r} cannot be packaged as {class_name}")
    declared = {NANS_EXPECTED: True} if nans_expected else {}
    # The file's name has _ for a dot, so the file itself says who it is.
    named = {"identifier": identifier, "stimulus_set_identifier": link}
    return _with_attrs(assembly, {**assembly.attrs, **named, **declared})


def _write_assembly(
    proto_assembly: xr.DataArray,
    identifier: Any,
    link: Any,
    class_name: str,
    folder: Path,
    extras: Mapping[str, xr.DataArray],
    *,
    stimulus_set: pd.DataFrame | None,
    nans_expected: bool,
) -> dict[str, str]:
    stimuli = proto_assembly.attrs.get("stimulus_set") if stimulus_set is None else stimulus_set
    if identifier is None:
        identifier = _assembly_identifier(proto_assembly, stimuli)
    if link is _OMITTED:
        link = _identifier_of(stimuli) or proto_assembly.attrs.get("stimulus_set_identifier") or _OMITTED
    stimuli = _packaged_stimuli(link, folder) if stimuli is None else _with_stimulus_id(StimulusSet(stimuli))
    assembly = _checked_assembly(
        proto_assembly, identifier, link, class_name, extras, stimuli, nans_expected=nans_expected
    )
    path = folder / f"assy_{identifier.replace('.', '_')}.nc"
    with writing(identifier, folder), atomic_path(path) as temporary:
        check_room(folder, [assembly, *extras.values()])
        write_netcdf(assembly, temporary)
        for group, extra in sorted(extras.items()):
            write_netcdf(_with_attrs(extra, extra.attrs), temporary, append=True, group=group)
        sha1, sha256 = file_digest(temporary), file_digest(temporary, "sha256")
    logger.debug("Packaged assembly %s: %s", identifier, path)
    return {"identifier": identifier, "path": str(path), "sha1": sha1, "cls": class_name, "sha256": sha256}


def _packaged_stimuli(identifier: Any, folder: Path) -> pd.DataFrame | None:
    """Return the table of a stimulus set packaged into the same folder or uploaded from here, if any."""
    if not isinstance(identifier, str) or errors_of(check_identifier(identifier)):
        return None
    name = f"stimulus_{identifier.replace('.', '_')}"
    tables = [parent / f"{name}.csv" for parent in (folder, _upload_folder("stimulus_", identifier))]
    return next((read_table(table) for table in tables if table.is_file()), None)


def _keep(files: Mapping[str, str]) -> None:
    """Place packaged files (path -> SHA-1) in the data home, if possible."""
    for path, sha1 in files.items():
        try:
            place_in_data_home(path, sha1)
        except OSError as error:
            logger.warning(
                "Plugins find %s only after its upload, because it cannot be copied to the data home: %s", path, error
            )


def _with_stimulus_id(stimulus_set: StimulusSet) -> StimulusSet:
    """Return a copy that packaging may add columns to."""
    copied = StimulusSet(stimulus_set, copy=True)
    StimulusSetLoader.correct_stimulus_id_name(copied)
    if STIMULUS_ID in copied and _are_integers(copied[STIMULUS_ID]):
        _tell_conversion("stimulus set", copied[STIMULUS_ID].to_numpy())
        copied[STIMULUS_ID] = [str(stimulus_id) for stimulus_id in copied[STIMULUS_ID]]
        paths = getattr(copied, "stimulus_paths", None)
        if paths is not None:
            copied.stimulus_paths = {str(stimulus_id): path for stimulus_id, path in paths.items()}
    return copied


def _are_integers(values: Any) -> bool:
    return getattr(values.dtype, "kind", "") in "iu"


def _tell_conversion(what: str, values: Any) -> None:
    example = f", such as {values[0]} into '{values[0]}'" if len(values) else ""
    warnings.warn(
        f"Stimulus identifiers are texts: the integers in stimulus_id of the {what} are converted to texts{example}. "
        "Your own object is unchanged; convert it too (astype(str)), so both agree.",
        stacklevel=5,
    )


def _with_attrs(array: Array, attrs: Mapping[Any, Any]) -> Array:
    """Return an array whose attrs are sorted by name, since their order would change the file."""
    copied = array.copy(deep=False)
    copied.attrs = {key: attrs[key] for key in sorted(attrs, key=str) if attrs[key] is not None}
    return copied


# -- archives ----------------------------------------------------------------------------------------------------------
#
# Write the archive of a stimulus set.


_ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that an archive can hold


def create_stimulus_zip(proto_stimulus_set: StimulusSet, target_zip_path: str | Path) -> tuple[str, list[str]]:
    """Write an archive like `write_stimulus_zip`; return its SHA-1 and the names of the members."""
    digests, filenames = write_stimulus_zip(proto_stimulus_set, target_zip_path)
    return digests["sha1"], filenames


def write_stimulus_zip(
    proto_stimulus_set: StimulusSet, target_zip_path: str | Path
) -> tuple[dict[str, str], list[str]]:
    """Write the files of a stimulus set to an archive, atomically; return its digests, and each row's name within it.

    Members are stored uncompressed (images and videos already are compressed), sorted by name, with a fixed date: the
    same files give the same bytes. The column ``stimulus_path_within_store``, if present, names them; a `StimulusError`
    says that two have one name.
    """
    column = PATH_WITHIN_STORE
    names = proto_stimulus_set[column if column in proto_stimulus_set.columns else STIMULUS_ID]
    paths = [Path(proto_stimulus_set.get_stimulus(stimulus_id)) for stimulus_id in proto_stimulus_set[STIMULUS_ID]]
    filenames = [
        # The chosen name may include the ending.
        name if names.name == column and name.endswith(path.suffix) else f"{name}{path.suffix}"
        for name, path in zip(names, paths, strict=True)
    ]
    members = dict(zip(filenames, paths, strict=True))
    if len(members) < len(filenames):
        twice = sorted({name for name in filenames if filenames.count(name) > 1})
        raise StimulusError(f"Several stimuli would have the same name in the archive: {', '.join(twice[:10])}.")
    with atomic_path(target_zip_path) as temporary:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            for filename, path in sorted(members.items()):
                info = zipfile.ZipInfo(filename, date_time=_ZIP_DATE)
                info.create_system = 3  # Unix, on every machine
                info.external_attr = (stat.S_IFREG | 0o644) << 16
                info.file_size = path.stat().st_size
                with path.open("rb") as source, archive.open(info, "w") as member:
                    shutil.copyfileobj(source, member, 2**20)
        algorithms = ("sha1", "sha256")
        with ThreadPoolExecutor(len(algorithms), thread_name_prefix="digest") as pool:
            digests = dict(zip(algorithms, pool.map(partial(file_digest, temporary), algorithms), strict=True))
    return digests, filenames


# -- numbered files ----------------------------------------------------------------------------------------------------
#
# Check that stimulus files are numbered consecutively, as experiments need them.


_NUMBERED = re.compile(r"(?:[A-Za-z0-9]+_|[A-Za-z0-9]*[A-Za-z])?([1-9][0-9]*)\.(?:jpg|jpeg|png|mp4)")


def check_stimulus_naming_convention(name: str) -> None:
    """Raise a `StimulusError` unless a file is named like ``'image_1.png'``, ``'Nat300_12.jpg'`` or ``'7.mp4'``."""
    _number(name)


def check_stimulus_numbers(stimulus_set: StimulusSet) -> None:
    """Raise a `StimulusError` unless files, which need not exist, have consecutive numbers, in any order."""
    numbers = sorted(_number(Path(path).name) for path in stimulus_set.stimulus_paths.values())
    for previous, after in itertools.pairwise(numbers):
        if after != previous + 1:
            raise StimulusError(
                f"The stimulus files are not numbered consecutively: {previous} is followed by {after}. Number them "
                f"from {numbers[0]} to {numbers[0] + len(numbers) - 1}, each once."
            )


def _number(name: str) -> int:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        raise StimulusError(
            f"The stimulus file {name!r} has no number in its name; expected a name such as 'image_1.png', '1.jpg' or "
            "'film_12.mp4': letters and digits, a number without leading zeros, and jpg, jpeg, png or mp4."
        )
    return int(match.group(1))


# -- the disk ----------------------------------------------------------------------------------------------------------
#
# Report disk problems when packaging, leave nothing half-written, and check free space for HDF5.


_FILE_OVERHEAD_BYTES = 2**16
_TEXT_OVERHEAD_BYTES = 32


@contextmanager
def writing(identifier: str, folder: Path) -> Iterator[None]:
    """Turn an error of the disk into one `OSError` of the same number, and remove new folders."""
    created = [path for path in (folder, *folder.parents) if not path.exists()]  # innermost first
    try:
        yield
    # HDF5 raises RuntimeError if a full disk keeps it from closing a file.
    except (OSError, RuntimeError) as error:
        for path in created:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        if isinstance(error, BrainScoreError):
            raise
        number = getattr(error, "errno", None)
        # HDF5's message about a full disk is pages long.
        reason = str(error) if number is None else os.strerror(number)
        message = (
            f"{identifier!r} cannot be packaged to {folder}: {reason}. Nothing was left there. Make room or allow "
            "writing there, or choose another folder (downloads_path; for uploads, BRAINIO_HOME)."
        )
        raise (OSError(message) if number is None else OSError(number, message)) from error


def check_room(folder: Path, arrays: Iterable[xr.DataArray]) -> None:
    """Raise if HDF5 might fill the disk, which can crash the process."""
    needed_bytes = _FILE_OVERHEAD_BYTES
    for array in arrays:
        coords = (coord for name, coord in array.coords.items() if name not in array.dims)
        needed_bytes += array.nbytes + sum(coord.nbytes + _TEXT_OVERHEAD_BYTES * coord.size for coord in coords)
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise OSError(errno.ENOSPC, f"up to {needed_bytes} bytes are needed and {free_bytes} are free")
