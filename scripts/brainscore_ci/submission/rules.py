"""Decide by name, kind and first bytes whether a plugin may hold a file.

Each function returns None, or the problem and its fix.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from brainscore_ci.planning.tracked import is_byte_code
from brainscore_core.names import is_device_name

Wrong = tuple[str, str]

_ENCRYPTED = 0x1 | 0x40 | 0x2000  # standard, strong, and with an encrypted directory

# Left in folders by operating systems and tools, never meant for submission.
_LEFT_OVER_FOLDERS = frozenset({"__MACOSX", "__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".ruff_cache"})
_LEFT_OVER_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+=, -]*", re.ASCII)

_WEIGHTS = (
    "holds weights or other large arrays",
    "Upload it as the tutorial on models says, and load it with load_weight_file",
)
_PICKLE = ("is a pickle, which can run any code when it is read", "Use .csv, .json, .npy or netCDF instead")
_NESTED = ("is an archive inside the archive", "Unpack it, or leave it out; arrays go into .npy instead of .npz")
_PROGRAM = ("is a program or a compiled file", "Leave it out: a plugin is Python source and small text files")
_SUFFIXES: Mapping[str, Wrong] = {
    **dict.fromkeys((".pt", ".pth", ".ckpt", ".safetensors", ".h5", ".hdf5", ".onnx", ".pb", ".tflite"), _WEIGHTS),
    **dict.fromkeys((".bin", ".caffemodel", ".t7", ".gguf", ".msgpack"), _WEIGHTS),
    **dict.fromkeys((".pkl", ".pickle", ".joblib", ".dill"), _PICKLE),
    **dict.fromkeys((".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst", ".npz", ".whl"), _NESTED),
    **dict.fromkeys((".exe", ".dll", ".so", ".dylib", ".pyd", ".pyc", ".pyo", ".o", ".a", ".class", ".jar"), _PROGRAM),
}
_BEGINNINGS: tuple[tuple[bytes, Wrong], ...] = (
    (b"PK\x03\x04", _NESTED),
    (b"PK\x05\x06", _NESTED),
    (b"\x1f\x8b", _NESTED),
    (b"BZh", _NESTED),
    (b"\xfd7zXZ\x00", _NESTED),
    (b"7z\xbc\xaf\x27\x1c", _NESTED),
    (b"Rar!\x1a\x07", _NESTED),
    (b"\x28\xb5\x2f\xfd", _NESTED),
    (b"\x7fELF", _PROGRAM),
    (b"MZ\x90\x00", _PROGRAM),
    (b"\xcf\xfa\xed\xfe", _PROGRAM),
    (b"\xca\xfe\xba\xbe", _PROGRAM),
)


_NAMES_THAT_WORK = (
    "Use at most 100 letters without accents, digits, spaces and _ . - + = , with a letter or digit first"
)


def path_problem(name: str, decoded: str) -> Wrong | None:
    """Check that a path stays inside the archive, for every program."""
    if name != decoded or "\0" in name:
        return "has two different names in the zip file", "Pack the folder with another program"
    if "\\" in name or name[1:2] == ":" or not {"", ".", ".."}.isdisjoint(name.removesuffix("/").split("/")):
        return "points outside of the archive or is no plain path", "Pack the folder with another program"
    return None


def is_left_over(name: str) -> bool:
    """Return whether a system left the file there."""
    parts = name.removesuffix("/").split("/")
    return parts[-1] in _LEFT_OVER_FILES or not _LEFT_OVER_FOLDERS.isdisjoint(parts)


def name_problem(name: str) -> Wrong | None:
    """Check that a name works everywhere."""
    parts = name.removesuffix("/").split("/")
    if any(map(is_device_name, parts)):
        return "has a name that Windows keeps for itself", "Rename it"
    visible = [part.removeprefix(".") for part in parts]
    if any(_PLAIN_NAME.fullmatch(part) is None or part[-1] in ". " or len(part) > 100 for part in visible):
        return "has a name that does not work everywhere", _NAMES_THAT_WORK
    if visible != parts:
        return "is hidden (its name, or that of a folder around it, starts with a dot)", "Leave it out"
    return None


def kind_problem(info: zipfile.ZipInfo) -> Wrong | None:
    """Check that it is a readable plain file or folder."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in ({0, stat.S_IFDIR} if info.is_dir() else {0, stat.S_IFREG}):
        return "is a link or a device, not a file", "Put the file itself there"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted", "Pack the folder without a password"
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        return "is compressed in an unusual way", "Pack the folder with the usual program of your computer"
    return None


def content_problem(content: bytes) -> Wrong | None:
    """Check the first bytes, and the end for zip files."""
    for beginning, problem in _BEGINNINGS:
        if content.startswith(beginning):
            return problem
    # A zip file stays one for programs that look for its end, whatever is at its start.
    return _NESTED if zipfile.is_zipfile(io.BytesIO(content)) else None


def suffix_problem(name: str) -> Wrong | None:
    """Check the suffix."""
    return _SUFFIXES.get(PurePosixPath(name).suffix.lower()) or (_PROGRAM if is_byte_code(name) else None)
