"""Write the archive of a stimulus set."""

from __future__ import annotations

import shutil
import stat
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import StimulusError
from brainscore_core.files import atomic_path
from brainscore_core.identity.digest import file_digest
from brainscore_core.validation.standards import PATH_WITHIN_STORE, STIMULUS_ID

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

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
        raise StimulusError(f"Several stimuli would be called the same within the archive: {', '.join(twice[:10])}.")
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
