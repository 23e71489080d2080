"""Keep what was computed between builds, by the digest of everything it was made from.

An entry is read only if it is whole: its own digest stands in front of it. One that is damaged, or cannot be written,
costs time, never a wrong number. What a build has not asked for is removed at its end.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.files import atomic_path

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Kept", "from_arrays", "from_parts", "to_arrays", "to_parts"]

_DIGEST = hashlib.sha256().digest_size


class Kept:
    """A folder of entries: kind and key (a digest, hexadecimal) -> bytes.

    Parameters
    ----------
    folder : Path
        Made when the first entry is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / kind / key

    def get(self, kind: str, key: str) -> bytes | None:
        """Return an entry; None if there is none that is whole."""
        try:
            content = self._path(kind, key).read_bytes()
        except OSError:
            return None
        digest, rest = content[:_DIGEST], memoryview(content)[_DIGEST:]
        return bytes(rest) if hashlib.sha256(rest).digest() == digest else None

    def has(self, kind: str, key: str) -> bool:
        """Tell whether there is an entry, whole or not."""
        return self._path(kind, key).is_file()

    def put(self, kind: str, key: str, content: bytes) -> None:
        """Keep an entry, if the disk lets it."""
        try:
            with atomic_path(self._path(kind, key)) as temporary, temporary.open("wb") as stream:
                stream.write(hashlib.sha256(content).digest())
                stream.write(content)
        except OSError:
            return

    def sweep(self, used: Mapping[str, set[str]]) -> None:
        """Remove the entries whose key is not among those of their kind."""
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            for file in folder.iterdir() if folder.is_dir() else ():
                if file.name not in used.get(folder.name, ()):
                    file.unlink(missing_ok=True)


def to_parts(parts: Sequence[bytes]) -> bytes:
    """Return several contents as one, which is read faster than JSON: their lengths, and all of them."""
    return json.dumps([len(each) for each in parts]).encode() + b"\n" + b"".join(parts)


def from_parts(content: bytes) -> list[bytes]:
    """Return what `to_parts` was given."""
    start = content.index(b"\n") + 1
    ends = [start, *(start + end for end in accumulate(json.loads(content[:start])))]
    return [content[at:end] for at, end in pairwise(ends)]


def to_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return arrays as bytes."""
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def from_arrays(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Return what `to_arrays` was given."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return dict(archive)
