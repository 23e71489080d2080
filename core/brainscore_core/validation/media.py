"""Check that a stimulus file is whole: decode images, read the containers of videos and sounds."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import BinaryIO

_IMAGES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
_BOX_HEADER_BYTES = 8


def file_problem(path: Path) -> str | None:
    """Return why a file, in the format of its ending, is unusable as a stimulus, or None."""
    if not path.is_file():
        return f"{path} does not exist" if not path.exists() else f"{path} is no file"
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
        return f"holds no more than the start of {what}" if size_bytes <= longest else None

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
            return f"is cut: it holds {size_bytes} of {rest + 8} bytes"
        return f"holds no more than the start of {what}" if size_bytes <= len(head) else None

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
            return f"is cut or damaged: its part {head[4:8].decode('ascii')!r} ends after the file"
        position += size
    return None if b"moov" in kinds or b"moof" in kinds else "holds no track (an MP4 or QuickTime file without 'moov')"


def _not_boxes(before: list[bytes]) -> str:
    return "is damaged after its start" if before else "does not start like an MP4 or QuickTime file"


def _mpeg_audio(stream: BinaryIO, size_bytes: int) -> str | None:
    head = stream.read(3)
    is_frame = len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0
    if head != b"ID3" and not is_frame:
        return "does not start like MPEG audio"
    return "holds no more than the start of MPEG audio" if size_bytes <= len(head) else None


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
