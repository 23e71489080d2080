"""Check stimulus sets and assemblies against the data standard; every function returns what is wrong as a list."""

from __future__ import annotations

import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from brainscore_core.supported_data_standards.brainio import assemblies
from brainscore_core.supported_data_standards.brainio.conventions import STIMULUS_ID

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = [
    "check_alignment",
    "check_assembly",
    "check_identifier",
    "check_stimulus_columns",
    "check_stimulus_files",
    "check_stimulus_ids",
    "check_stimulus_set",
    "check_store_paths",
]

FILENAME = "filename"
"""Column that packaging adds: name of the stimulus file within the archive."""
PATH_WITHIN_STORE = "stimulus_path_within_store"
"""Optional column: name of the stimulus file within the archive, without its ending, instead of the stimulus_id."""

_EXAMPLES = 5
_IMAGE_SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})


def check_identifier(identifier: object) -> list[str]:
    """Check that an identifier can name files and objects: text without spaces, slashes or control characters."""
    if not isinstance(identifier, str) or not identifier:
        return [f"the identifier is {identifier!r}; expected a text such as 'MajajHong2015.IT'"]
    wrong = sorted({character for character in identifier if character in '/\\:*?"<>|' or not character.isprintable()})
    wrong += [" "] if any(character.isspace() for character in identifier) else []
    if wrong:
        return [f"the identifier {identifier!r} contains {wrong}; join words with '_' and sub-sets with '.'"]
    return []


def check_stimulus_set(stimulus_set: StimulusSet) -> list[str]:
    """Check a stimulus set before it is packaged: identifiers, columns and files."""
    problems = check_stimulus_ids(stimulus_set)
    if STIMULUS_ID not in stimulus_set.columns:
        return problems
    return (
        problems
        + check_stimulus_columns(stimulus_set)
        + check_store_paths(stimulus_set)
        + check_stimulus_files(stimulus_set)
    )


def check_stimulus_ids(stimulus_set: pd.DataFrame) -> list[str]:
    """Check that there are stimuli and that each has a text of its own in the column ``stimulus_id``."""
    if STIMULUS_ID not in stimulus_set.columns:
        return [f"there is no column '{STIMULUS_ID}'; the columns are {list(stimulus_set.columns)}"]
    if len(stimulus_set) == 0:
        return ["there are no stimuli"]
    identifiers = stimulus_set[STIMULUS_ID].tolist()
    return _check_texts(identifiers, "stimulus_set['stimulus_id'] = stimulus_set['stimulus_id'].astype(str)") + [
        f"stimulus_id {identifier!r} is there {count} times; every stimulus needs its own"
        for identifier, count in _first(Counter(identifiers).most_common())
        if count > 1
    ]


def check_stimulus_columns(stimulus_set: pd.DataFrame) -> list[str]:
    """Check that the names of the columns are texts, that none is there twice and that none is called ``filename``."""
    problems = [
        f"the column {column!r} is not named by a text; rename it"
        for column in stimulus_set.columns
        if not isinstance(column, str) or not column
    ]
    problems += [
        f"there are {count} columns called {column!r}; rename or drop all but one"
        for column, count in Counter(stimulus_set.columns).items()
        if count > 1
    ]
    if FILENAME in stimulus_set.columns:
        problems.append(
            f"there is a column '{FILENAME}', which packaging adds itself; rename yours: stimulus_set = "
            f"stimulus_set.rename(columns={{'{FILENAME}': 'stimulus_{FILENAME}'}})"
        )
    return problems


def check_store_paths(stimulus_set: pd.DataFrame) -> list[str]:
    """Check that the stimuli have names of their own within an archive, all of them below its top folder."""
    column = PATH_WITHIN_STORE if PATH_WITHIN_STORE in stimulus_set.columns else STIMULUS_ID
    names = stimulus_set[column].tolist()
    problems = [] if column == STIMULUS_ID else _check_texts(names, "make every one a text")
    texts = [name for name in names if isinstance(name, str) and name]
    problems += [
        f"{column} {name!r} is no relative path with '/' between its parts, so no file can be called that"
        for name in _first([name for name in texts if not _is_safe(name)])
    ]
    if column == PATH_WITHIN_STORE:
        problems += [
            f"{column} {name!r} is there {count} times; every stimulus needs its own"
            for name, count in _first(Counter(texts).most_common())
            if count > 1
        ]
    elif any("/" in name for name in texts):
        problems.append(
            f"a {STIMULUS_ID} with a '/' in it would become a folder; rename it, "
            f"or name the files in a column '{PATH_WITHIN_STORE}'"
        )
    return problems


def check_stimulus_files(stimulus_set: StimulusSet) -> list[str]:
    """Check that every stimulus has a file, which is not empty and, if it is an image, can be decoded to the end."""
    if not hasattr(stimulus_set, "stimulus_paths"):
        return ["stimulus_paths is not set; set stimulus_set.stimulus_paths = {stimulus_id: path, ...}"]
    paths = stimulus_set.stimulus_paths
    identifiers = stimulus_set[STIMULUS_ID].tolist()
    unlisted = [identifier for identifier in identifiers if identifier not in paths]
    problems = _summary(unlisted, len(identifiers), "stimuli have no entry in stimulus_paths")
    listed = {identifier: Path(paths[identifier]) for identifier in identifiers if identifier in paths}
    # Decoding releases the interpreter lock, so that threads share the work.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = zip(listed, pool.map(_file_problem, listed.values()), strict=True)
        broken = [f"{identifier!r}: {problem}" for identifier, problem in found if problem]
    return problems + _summary(broken, len(identifiers), "stimulus files are not usable")


def _file_problem(path: Path) -> str | None:
    if not path.is_file():
        return f"{path} does not exist"
    if path.stat().st_size == 0:
        return f"{path} is empty"
    if path.suffix.lower() not in _IMAGE_SUFFIXES:
        return None
    from PIL import Image  # only images need it

    try:
        with Image.open(path) as image:
            image.load()
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        struct.error,
        zlib.error,
        Image.DecompressionBombError,
    ) as error:
        return f"{path} cannot be decoded as an image: {error}"
    return None


def check_assembly(assembly: DataAssembly, *, nans_expected: bool = False) -> list[str]:
    """Check an assembly before it is packaged: the standard of its class, its values and its stimulus identifiers.

    Parameters
    ----------
    assembly : DataAssembly
        Any dims; its class says which dims and coordinates are required.
    nans_expected : bool
        Whether missing values are part of the data.
    """
    if assembly.size == 0:
        return [f"there are no values; the sizes are {dict(assembly.sizes)}"]
    problems = assemblies.check_assembly(assembly)
    if STIMULUS_ID in assembly.coords and not any(STIMULUS_ID in problem for problem in problems):
        remedy = "coords={'stimulus_id': ('presentation', [str(id) for id in stimulus_ids]), ...}"
        problems += _check_texts(np.atleast_1d(assembly[STIMULUS_ID].values).tolist(), remedy)
    return problems if nans_expected else problems + _check_no_nans(assembly)


def _check_no_nans(assembly: xr.DataArray) -> list[str]:
    missing = np.asarray(pd.isna(np.asarray(assembly.values)))
    count = int(missing.sum())
    if count == 0:
        return []
    touched = []
    for axis, dim in enumerate(assembly.dims):
        others = tuple(other for other in range(missing.ndim) if other != axis)
        touched.append(f"{int(missing.any(axis=others).sum())} of {missing.shape[axis]} {dim}")
    remedy = "mend the data, or say that they belong to it: nans_expected=True"
    return [f"{count} of {missing.size} values are NaN (in {', '.join(touched)}); {remedy}"]


def check_alignment(assembly: xr.DataArray, stimulus_set: pd.DataFrame) -> list[str]:
    """Check that every ``stimulus_id`` of an assembly is in the stimulus set."""
    if STIMULUS_ID not in assembly.coords:
        return [f"there is no coordinate '{STIMULUS_ID}' to look up in the stimulus set"]
    shown = list(dict.fromkeys(np.atleast_1d(assembly[STIMULUS_ID].values).tolist()))
    known = set(stimulus_set[STIMULUS_ID].tolist())
    unknown = [identifier for identifier in shown if identifier not in known]
    problems = _summary(unknown, len(shown), "stimulus_ids of the assembly are not in the stimulus set")
    if len(unknown) == len(shown) and {str(identifier) for identifier in shown} & {str(key) for key in known}:
        problems.append("as texts they would agree: convert the stimulus_ids of both to str")
    return problems


def _check_texts(values: Sequence[Any], remedy: str) -> list[str]:
    types = sorted({type(value).__name__ for value in values if not isinstance(value, str)})
    problems = [] if not types else [f"stimulus_id has to hold texts, but holds {', '.join(types)}; convert: {remedy}"]
    return problems + (["an empty text is no stimulus_id"] if any(value == "" for value in values) else [])


def _is_safe(name: str) -> bool:
    path = PurePosixPath(name)
    is_plain = str(path) == name and not path.is_absolute() and ".." not in path.parts and "\\" not in name
    return is_plain and name.isprintable() and name[1:2] != ":"


def _first(values: list[Any]) -> list[Any]:
    return values[:_EXAMPLES]


def _summary(wrong: Iterable[Any], total: int, what: str) -> list[str]:
    wrong = list(wrong)
    if not wrong:
        return []
    rest = f" and {len(wrong) - _EXAMPLES} more" if len(wrong) > _EXAMPLES else ""
    return [f"{len(wrong)} of {total} {what}: {', '.join(map(str, _first(wrong)))}{rest}"]
