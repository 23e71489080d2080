"""Write the files and the table of a stimulus set, the same bytes for the same stimuli every time."""

from __future__ import annotations

import csv
import shutil
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from brainscore_core.caching import atomic_path, file_digest
from brainscore_core.errors import StimulusError
from brainscore_core.supported_data_standards.brainio.conventions import STIMULUS_ID
from brainscore_core.validation.stimuli import FILENAME, PATH_WITHIN_STORE

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["create_stimulus_csv", "create_stimulus_zip"]

# Columns that say where files are on this machine or how the archive is laid out; they are not published.
_LOCAL_COLUMNS = ("stimulus_current_local_file_path", PATH_WITHIN_STORE)
# One date for every member, the earliest that an archive can hold: the same stimuli make the same bytes every time.
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


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
    column = PATH_WITHIN_STORE
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
    first, last = [STIMULUS_ID], [FILENAME]
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
