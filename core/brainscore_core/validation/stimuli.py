"""Check stimulus sets (tables of pandas with an attribute `stimulus_paths`): identifiers, columns and files."""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from brainscore_core.errors import count, nearest
from brainscore_core.identity.digest import file_digest
from brainscore_core.names import is_device_name, why_no_identifier
from brainscore_core.validation.problem import Problem
from brainscore_core.validation.standards import FILENAME, PATH_WITHIN_STORE, STIMULUS_ID

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_duplicate_files",
    "check_identifier",
    "check_orientations",
    "check_stimulus_columns",
    "check_stimulus_files",
    "check_stimulus_ids",
    "check_stimulus_set",
    "check_store_paths",
    "check_texts",
    "is_safe_name",
]


# -- images and videos -------------------------------------------------------------------------------------------------
#
# Check that a stimulus file is whole: decode images, read the containers of videos and sounds.


_IMAGES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
_BOX_HEADER_BYTES = 8


def file_problem(path: Path) -> str | None:
    """Return why a file, in the format of its ending, is unusable as a stimulus, or None."""
    if not path.is_file():
        return f"{path} does not exist" if not path.exists() else f"{path} is not a file"
    try:
        with path.open("rb") as stream:
            problem = stream_problem(path.name, stream, path.stat().st_size)
    except OSError as error:
        return f"{path} cannot be read: {error.strerror or error}"
    return problem and f"{path} {problem}"


def is_turned(path: Path) -> bool:
    """Return whether an EXIF orientation turns a picture; False if it is unreadable."""
    if path.suffix.lower() not in _IMAGES:
        return False
    from PIL import ExifTags, Image  # only images need it

    try:
        with Image.open(path) as image:
            return bool(image.getexif().get(ExifTags.Base.Orientation, 1) != 1)
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error, Image.DecompressionBombError):
        return False


def stream_problem(name: str, stream: BinaryIO, size_bytes: int) -> str | None:
    """Return why the content of a seekable file is unusable, such as ``'is empty'``, or None."""
    if size_bytes == 0:
        return "is empty"
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _IMAGES:
        return _image_problem(stream)
    check = _CONTAINERS.get(suffix)
    return None if check is None else check(stream, size_bytes)


def _image_problem(stream: BinaryIO) -> str | None:
    from PIL import Image  # only images need it

    try:
        with Image.open(stream) as image:
            # A JPEG then skips most of the arithmetic, though every bit is read.
            image.draft("L", (1, 1))
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
        return f"cannot be decoded as an image: {error}"
    return None


# Containers ----------------------------------------------------------------------------------------------------------


def _starts_with(what: str, *signatures: bytes) -> Callable[[BinaryIO, int], str | None]:
    def check(stream: BinaryIO, size_bytes: int) -> str | None:
        longest = max(map(len, signatures))
        head = stream.read(longest)
        if not head.startswith(signatures):
            return f"does not start like {what}"
        return f"contains only the start of {what}" if size_bytes <= longest else None

    return check


def _riff(what: str, form: bytes) -> Callable[[BinaryIO, int], str | None]:
    """RIFF: 'RIFF', size of the rest as uint32, form."""

    def check(stream: BinaryIO, size_bytes: int) -> str | None:
        head = stream.read(12)
        if len(head) < 12 or head[:4] not in (b"RIFF", b"RF64") or head[8:12] != form:
            return f"does not start like {what}"
        (rest,) = struct.unpack("<I", head[4:8])
        # Programs that write to a pipe leave the size 0 or all ones, RF64 always.
        if rest not in (0, 2**32 - 1) and rest + 8 > size_bytes:
            return f"is truncated: it has {size_bytes} of {rest + 8} bytes"
        return f"contains only the start of {what}" if size_bytes <= len(head) else None

    return check


def _boxes(stream: BinaryIO, size_bytes: int) -> str | None:
    """MP4 and QuickTime: boxes, each with its size as a big-endian uint32 (1: a uint64 follows; 0: to the end)."""
    kinds: list[bytes] = []
    position = 0
    while position < size_bytes:
        stream.seek(position)
        head = stream.read(16)
        if len(head) < _BOX_HEADER_BYTES or not head[4:8].isascii():
            return _not_boxes(kinds)
        size = int.from_bytes(head[:4], "big")
        kinds.append(head[4:8])
        if kinds[0] not in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot", b"styp"):
            return _not_boxes([])
        if size == 1:
            size = int.from_bytes(head[8:16], "big") or 1  # too small, as a cut header is refused
        size = size or size_bytes - position
        if size < _BOX_HEADER_BYTES or position + size > size_bytes:
            return f"is truncated or damaged: its part {head[4:8].decode('ascii')!r} ends after the file"
        position += size
    return (
        None if b"moov" in kinds or b"moof" in kinds else "contains no track (an MP4 or QuickTime file without 'moov')"
    )


def _not_boxes(before: list[bytes]) -> str:
    return "is damaged after its start" if before else "does not start like an MP4 or QuickTime file"


def _mpeg_audio(stream: BinaryIO, size_bytes: int) -> str | None:
    head = stream.read(3)
    is_frame = len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0
    if head != b"ID3" and not is_frame:
        return "does not start like MPEG audio"
    return "contains only the start of MPEG audio" if size_bytes <= len(head) else None


_OGG = _starts_with("an Ogg file", b"OggS")
_MATROSKA = _starts_with("a Matroska or WebM file", b"\x1a\x45\xdf\xa3")
_MPEG = _starts_with("an MPEG video", b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3", b"G")

_CONTAINERS: Mapping[str, Callable[[BinaryIO, int], str | None]] = MappingProxyType(
    {
        **dict.fromkeys((".mp4", ".m4v", ".mov", ".m4a", ".3gp"), _boxes),
        **dict.fromkeys((".webm", ".mkv", ".mka"), _MATROSKA),
        **dict.fromkeys((".mpg", ".mpeg"), _MPEG),
        **dict.fromkeys((".ogg", ".ogv", ".oga", ".opus"), _OGG),
        **dict.fromkeys((".mp3", ".aac"), _mpeg_audio),
        ".avi": _riff("an AVI file", b"AVI "),
        ".wav": _riff("a WAV file", b"WAVE"),
        ".wmv": _starts_with("a Windows Media file", b"\x30\x26\xb2\x75"),
        ".flv": _starts_with("a Flash video", b"FLV"),
        ".flac": _starts_with("a FLAC file", b"fLaC"),
        ".aif": _starts_with("an AIFF file", b"FORM"),
        ".aiff": _starts_with("an AIFF file", b"FORM"),
        ".au": _starts_with("an AU file", b".snd"),
        ".npy": _starts_with("a NumPy file", b"\x93NUMPY"),
    }
)


# -- stimulus sets -----------------------------------------------------------------------------------------------------


_CONVENTIONAL = re.compile(r"[A-Z][A-Za-z0-9]*([._-][A-Za-z0-9]+)*")
Result = TypeVar("Result")

_MOST_THREADS = 8
_FILES_PER_TASK = 16
_SHOWN = 5  # groups of equal files, and members of a group, that a hint names
_TO_TEXT = "convert them: stimulus_set['stimulus_id'] = stimulus_set['stimulus_id'].astype(str)"


def check_identifier(identifier: object, where: str = "identifier") -> list[Problem]:
    """Check that an identifier can name files and objects, and (a hint) that it follows the naming convention.

    It has the characters of identifiers but ``:`` and ``/``; by convention ``AuthorYear`` or a word, sub-sets after a
    ``.``, words joined by ``_``.
    """
    if not isinstance(identifier, str) or not identifier:
        fix = "give a text such as 'Mine2026.IT', or set stimulus_set.name = 'Mine2026'"
        return [Problem(where, f"the identifier is {identifier!r}", fix)]
    wrong = sorted({character for character in identifier if character in ":/" or why_no_identifier(character)})
    convention = "join words with '_' and sub-sets with '.', as in AuthorYear.sub_set"
    if wrong:
        what = f"the identifier {identifier!a} contains {wrong!a}"
        return [Problem(where, what, f"use ASCII letters and digits; {convention}")]
    if not _CONVENTIONAL.fullmatch(identifier):
        what = f"{identifier!r} is not of the form AuthorYear or AuthorYear.sub_set"
        return [Problem(where, what, convention, is_hint=True)]
    return []


def check_stimulus_set(stimulus_set: pd.DataFrame, *, is_packaged: bool = False) -> list[Problem]:
    """Check a stimulus set: identifiers, columns (with ``filename`` if it comes out of a package) and files."""
    problems = check_stimulus_ids(stimulus_set) + check_stimulus_columns(stimulus_set, is_packaged=is_packaged)
    if list(stimulus_set.columns).count(STIMULUS_ID) != 1:
        return problems
    if not is_packaged:
        problems += check_store_paths(stimulus_set)
    problems += check_stimulus_files(stimulus_set)
    return problems + check_duplicate_files(stimulus_set) + check_orientations(stimulus_set)


def check_stimulus_ids(stimulus_set: pd.DataFrame) -> list[Problem]:
    """Check that there are stimuli, each with a unique text in the column ``stimulus_id``."""
    column = f"column '{STIMULUS_ID}'"
    if STIMULUS_ID not in stimulus_set.columns:
        close = nearest(STIMULUS_ID, map(str, stimulus_set.columns))
        meant = f" (is it {close[0]!r}?)" if close else ""
        what = f"there is no column '{STIMULUS_ID}'{meant}; the columns are {list(stimulus_set.columns)}"
        return [Problem(column, what, "add it, with a unique text for each stimulus")]
    if list(stimulus_set.columns).count(STIMULUS_ID) > 1:
        return []  # see `check_stimulus_columns`
    if len(stimulus_set) == 0:
        return [Problem(column, "there are no stimuli", "add a row for each stimulus")]
    identifiers = stimulus_set[STIMULUS_ID].tolist()
    return check_texts(identifiers, column, _TO_TEXT) + [
        Problem(
            column,
            f"{identifier!r} occurs {count} times",
            "give every stimulus a unique identifier; repetitions belong in the assembly",
        )
        for identifier, count in Counter(identifiers).most_common()
        if count > 1
    ]


def check_stimulus_columns(stimulus_set: pd.DataFrame, *, is_packaged: bool = False) -> list[Problem]:
    """Check that column names are unique texts, none of them ``filename``."""
    problems = [
        Problem(f"column {column!r}", f"the column {column!r} has a name that is not text", "rename it")
        for column in stimulus_set.columns
        if not isinstance(column, str) or not column
    ]
    problems += [
        Problem(f"column {column!r}", f"there are {count} columns called {column!r}", "drop all but one")
        for column, count in Counter(stimulus_set.columns).items()
        if count > 1
    ]
    if FILENAME in stimulus_set.columns and not is_packaged:
        fix = f"rename yours: stimulus_set = stimulus_set.rename(columns={{'{FILENAME}': 'stimulus_{FILENAME}'}})"
        what = f"there is a column '{FILENAME}', which packaging adds itself"
        problems.append(Problem(f"column '{FILENAME}'", what, fix))
    return problems


def check_store_paths(stimulus_set: pd.DataFrame) -> list[Problem]:
    """Check that stimuli have unique names within an archive, below its top folder."""
    column = PATH_WITHIN_STORE if PATH_WITHIN_STORE in stimulus_set.columns else STIMULUS_ID
    where = f"column '{column}'"
    names = stimulus_set[column].tolist()
    problems = [] if column == STIMULUS_ID else check_texts(names, where, "convert all of them to text")
    texts = [name for name in names if isinstance(name, str) and name]
    unsafe = [name for name in texts if not is_safe_name(name)]
    problems += [
        Problem(
            where,
            f"{name!r} is not a valid file name",
            "use a relative path with '/' between its parts and without characters that do not print",
        )
        for name in unsafe
    ]
    if column == PATH_WITHIN_STORE:
        problems += [
            Problem(where, f"{name!r} occurs {count} times", "give every stimulus a unique name")
            for name, count in Counter(texts).most_common()
            if count > 1
        ]
    elif any("/" in name for name in texts if name not in unsafe):
        fix = f"rename it, or name the files in a column '{PATH_WITHIN_STORE}'"
        problems.append(Problem(where, f"a {STIMULUS_ID} with a '/' in it would become a folder", fix))
    return problems + _check_case(texts, where)


def _check_case(names: Sequence[str], where: str) -> list[Problem]:
    by_folded: dict[str, set[str]] = {}
    for name in names:
        by_folded.setdefault(name.casefold(), set()).add(name)
    return [
        Problem(
            where,
            f"{', '.join(map(repr, sorted(alike)))} differ only in case and would be the same file on some machines",
            "give them names that differ in more than case",
        )
        for alike in by_folded.values()
        if len(alike) > 1
    ]


def check_duplicate_files(stimulus_set: pd.DataFrame) -> list[Problem]:
    """Look for stimuli with different identifiers but equal files; one hint names them.

    Cross-validation divides identifiers, so a picture may be in training and in test.
    """
    paths: Mapping[Hashable, str | Path] = getattr(stimulus_set, "stimulus_paths", None) or {}
    identifiers = [name for name in dict.fromkeys(stimulus_set[STIMULUS_ID].tolist()) if name in paths]
    by_size: dict[int, list[Hashable]] = {}
    for identifier in identifiers:
        path = Path(paths[identifier])
        if path.is_file():
            by_size.setdefault(path.stat().st_size, []).append(identifier)
    candidates = [identifier for alike in by_size.values() if len(alike) > 1 for identifier in alike]
    digests = _in_threads(lambda path: file_digest(path, "sha256"), [Path(paths[name]) for name in candidates])
    by_content: dict[str, list[str]] = {}
    for identifier, digest in zip(candidates, digests, strict=True):
        by_content.setdefault(digest, []).append(str(identifier))
    groups = [group for group in by_content.values() if len(group) > 1]
    if not groups:
        return []
    examples = "; ".join(" = ".join(map(repr, group[:_SHOWN])) for group in groups[:_SHOWN])
    more = ", ..." if len(groups) > _SHOWN or any(len(group) > _SHOWN for group in groups) else ""
    return [
        Problem(
            "stimulus files",
            f"{sum(map(len, groups))} stimuli share {count(len(groups), 'file')}: {examples}{more}",
            "give each picture one stimulus_id, and number its repetitions in the assembly; otherwise it may be used "
            "both in training and in testing",
            is_hint=True,
        )
    ]


def check_orientations(stimulus_set: pd.DataFrame) -> list[Problem]:
    """Look for pictures with an EXIF orientation, which models ignore; one hint names the first."""
    paths: Mapping[Hashable, str | Path] = getattr(stimulus_set, "stimulus_paths", None) or {}
    names = [name for name in dict.fromkeys(stimulus_set[STIMULUS_ID].tolist()) if name in paths]
    are_turned = _in_threads(is_turned, [Path(paths[name]) for name in names])
    turned = [name for name, is_one in zip(names, are_turned, strict=True) if is_one]
    if not turned:
        return []
    return [
        Problem(
            "stimulus files",
            f"viewers rotate {count(len(turned), 'picture')} according to EXIF orientation, such as {turned[0]!r}, "
            "but models do not",
            "if people saw the rotated picture, store it rotated: PIL.ImageOps.exif_transpose(image).save(path)",
            is_hint=True,
        )
    ]


def check_stimulus_files(stimulus_set: pd.DataFrame) -> list[Problem]:
    """Check that every stimulus has a whole file: images decode to the end, containers have the right magic."""
    paths: Mapping[Hashable, str | Path] | None = getattr(stimulus_set, "stimulus_paths", None)
    if paths is None:
        fix = "set stimulus_set.stimulus_paths = {stimulus_id: path, ...}"
        return [Problem("stimulus_paths", "stimulus_paths is not set", fix)]
    identifiers = list(dict.fromkeys(stimulus_set[STIMULUS_ID].tolist()))
    problems = [
        Problem(
            f"stimulus {identifier!r}",
            "has no entry in stimulus_paths",
            "add stimulus_paths[stimulus_id] = path; the keys are the stimulus_ids",
        )
        for identifier in identifiers
        if identifier not in paths
    ]
    files = {identifier: Path(paths[identifier]) for identifier in identifiers if identifier in paths}
    return problems + [
        Problem(
            f"stimulus {identifier!r}",
            problem,
            "correct the path in stimulus_paths, or replace the file with an intact one",
        )
        for identifier, problem in zip(files, _in_threads(file_problem, list(files.values())), strict=True)
        if problem
    ]


def _in_threads(function: Callable[[Path], Result], paths: Sequence[Path]) -> list[Result]:
    """Apply a function that releases the interpreter lock to files in threads."""
    # A task for each small file would be slow.
    batches = [paths[start : start + _FILES_PER_TASK] for start in range(0, len(paths), _FILES_PER_TASK)]
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS), thread_name_prefix="stimuli") as pool:
        results = pool.map(lambda batch: [function(path) for path in batch], batches)
        return [result for batch in results for result in batch]


def check_texts(values: Sequence[Any], where: str, fix: str) -> list[Problem]:
    """Check that all values are texts and none is empty."""
    types = sorted({type(value).__name__ for value in values if not isinstance(value, str)})
    problems = [] if not types else [Problem(where, f"must contain text, but contains {', '.join(types)}", fix)]
    if any(value == "" for value in values):
        problems.append(Problem(where, "holds an empty text", "give every stimulus a name"))
    return problems


def is_safe_name(name: str) -> bool:
    """Return whether a name is a plain relative path that stays below its folder on every machine.

    Quotation marks and semicolons would end it in the header of a download.
    """
    path = PurePosixPath(name)
    is_plain = str(path) == name and not path.is_absolute() and ".." not in path.parts and "\\" not in name
    is_plain = is_plain and name.isprintable() and name[1:2] != ":" and not set('";') & set(name)
    return is_plain and not any(map(is_device_name, path.parts))
