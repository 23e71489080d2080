"""Extract one plugin from an untrusted zip file, as names and bytes.

Nothing is written, imported or run. All but the plain files of one plugin is refused, with all problems at once.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from brainscore_ci.planning.areas import PluginName, is_plugin_folder_name
from brainscore_ci.planning.changes import is_byte_code
from brainscore_ci.reporting.markdown import code, escape, plain
from brainscore_core.names import is_device_name
from brainscore_core.plugin_management.registry import FOLDERS

# -- Decide by name, kind and first bytes whether a plugin may hold a file ---------------------------------------------
# Each function returns None, or the problem and its fix.

Wrong = tuple[str, str]

_ENCRYPTED = 0x1 | 0x40 | 0x2000  # standard, strong, and with an encrypted directory

# Left in folders by operating systems and tools, never meant for submission.
_LEFT_OVER_FOLDERS = frozenset({"__MACOSX", "__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".ruff_cache"})
_LEFT_OVER_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.+=, -]*", re.ASCII)

_WEIGHTS = (
    "holds weights or other large arrays",
    "Upload it as described in the tutorial on models, and load it with load_weight_file",
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
        return "points outside of the archive or is not a plain path", "Pack the folder with another program"
    return None


def is_left_over(name: str) -> bool:
    """Return whether a system left the file there."""
    parts = name.removesuffix("/").split("/")
    return parts[-1] in _LEFT_OVER_FILES or not _LEFT_OVER_FOLDERS.isdisjoint(parts)


def name_problem(name: str) -> Wrong | None:
    """Check that a name works everywhere."""
    parts = name.removesuffix("/").split("/")
    if any(map(is_device_name, parts)):
        return "has a name that Windows reserves", "Rename it"
    visible = [part.removeprefix(".") for part in parts]
    if any(_PLAIN_NAME.fullmatch(part) is None or part[-1] in ". " or len(part) > 100 for part in visible):
        return "has a name that does not work on every system", _NAMES_THAT_WORK
    if visible != parts:
        return "is hidden (its name, or the name of a folder around it, starts with a dot)", "Leave it out"
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


# -- the archive -------------------------------------------------------------------------------------------------------

_CENTRAL_ENTRY, _LOCAL_ENTRY = b"PK\x01\x02", b"PK\x03\x04"
_UNREADABLE = (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, OSError, zlib.error, struct.error)
_RATIO_FROM_BYTES = 2 * 2**20  # small files of equal bytes compress well and are harmless
_EXAMPLES = 5
_ORDER = ("data", "metrics", "benchmarks", "models")  # each may need those before it
_MOST_TEXT = 400  # characters of a check's message, which may quote the plugin


@dataclass(frozen=True, kw_only=True)
class ArchivePolicy:
    """Limits of an archive."""

    # Folders of packages with plugins, relative to the repository. Paths that name none belong to the first.
    libraries: tuple[str, ...]
    # Size of the zip file, of its unpacked content, and of one unpacked file
    most_archive_bytes: int = 25 * 2**20  # GitHub's limit for attachments
    most_total_bytes: int = 20 * 2**20
    most_file_bytes: int = 2**20
    most_members: int = 500
    most_ratio: float = 100.0  # of compression, for members over 2 MiB
    most_path: int = 180  # characters of a path in the repository; longer ones fail on some systems


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One problem, and the files it concerns."""

    what: str  # a sentence, or the end of one that starts with file names: 'is a link'. May quote untrusted text.
    fix: str = ""
    # The first of the files, as the archive names them (untrusted text). Empty: it concerns the whole archive.
    names: tuple[str, ...] = ()
    count: int = 0

    def __str__(self) -> str:
        return self._phrase([ascii(name[:120])[1:-1] for name in self.names], lambda text: plain(text, _MOST_TEXT))

    def to_markdown(self) -> str:
        """Return it as harmless Markdown."""
        return self._phrase([code(name, 120) for name in self.names], lambda text: escape(text, _MOST_TEXT))

    def _phrase(self, names: Sequence[str], write: Callable[[str], str]) -> str:
        more = f" and {self.count - len(names)} more" if self.count > len(names) else ""
        subject = f"{', '.join(names)}{more}: " if names else ""
        return f"{subject}{write(self.what)}. {write(self.fix)}".rstrip()


@dataclass(frozen=True)
class Rejection:
    """All reasons to refuse a submission."""

    problems: tuple[Fault, ...]

    def __str__(self) -> str:
        return "\n".join(f"- {problem}" for problem in self.problems)


@dataclass(frozen=True, kw_only=True)
class Archive:
    """The files of one plugin."""

    library: str  # such as 'domain/mylibrary'
    plugin: PluginName
    files: Mapping[str, bytes]  # path inside the folder -> content, sorted
    notes: tuple[str, ...] = ()
    rest: tuple[Archive, ...] = ()  # to be submitted after this one: data come first

    @property
    def path(self) -> str:
        """Folder of the plugin, relative to the repository."""
        return f"{self.library}/{self.plugin}"

    @property
    def digest(self) -> str:
        """SHA-256 of place, names and contents, independent of packing."""
        digest = hashlib.sha256(f"{self.path}\0".encode())
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()


def inspect_archive(source: bytes | Path, *, policy: ArchivePolicy) -> Archive | Rejection:
    """Extract the plugin from a zip file, or one of each kind.

    The zip file holds ``<folder>/<name>/...``, where folder is data, metrics, benchmarks or models; optionally below
    the library's path, its end, or one more folder. Without ``<name>``, the folder around it or the zip file names the
    plugin: ``MyBenchmark2024_stimuli_and_data/benchmarks/benchmark.py``.
    """
    try:
        content = _content(source, policy.most_archive_bytes)
    except OSError as error:
        return Rejection((Fault(what=f"the zip file cannot be read ({error.strerror})"),))
    if problem := _as_a_whole(content, policy):
        return Rejection((problem,))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            name = "" if isinstance(source, bytes) else source.stem
            return _Inspection(archive, len(content), policy, name).run()
    except _UNREADABLE:
        return Rejection((_DAMAGED,))


_DAMAGED = Fault(
    what="the file is damaged or is not a zip file",
    fix="Pack the folder again with the standard zip program of your computer and attach it again",
)


def _content(source: bytes | Path, most_bytes: int) -> bytes:
    if isinstance(source, bytes):
        return source
    with source.open("rb") as stream:
        return stream.read(most_bytes + 1)


def _as_a_whole(content: bytes, policy: ArchivePolicy) -> Fault | None:
    if len(content) > policy.most_archive_bytes:
        return Fault(
            what=f"the zip file has more than {_size(policy.most_archive_bytes)}",
            fix="Leave out data and weights; they are uploaded separately",
        )
    if not content.startswith(_LOCAL_ENTRY):
        return _DAMAGED
    members = content.count(_CENTRAL_ENTRY)  # one per member; too many are never parsed
    if members > policy.most_members:
        return Fault(
            what=f"the zip file has more than {policy.most_members} files and folders",
            fix="Leave out everything that the plugin does not need to run",
        )
    return None


class _Inspection:
    def __init__(self, archive: zipfile.ZipFile, archive_bytes: int, policy: ArchivePolicy, name: str) -> None:
        self._archive = archive
        self._name = name
        self._archive_bytes = archive_bytes
        self._policy = policy
        self._found: dict[tuple[str, str], list[str]] = {}  # (what, fix) -> names
        self._whole: list[Fault] = []

    def run(self) -> Archive | Rejection:
        members, left_over = self._members()
        self._clashes([info.orig_filename for info in members])
        files = [info for info in members if not info.is_dir()]
        places = self._places([info.orig_filename for info in files])
        contents = self._contents(files)
        if self._found or self._whole or not places:
            return Rejection((*self._whole, *(_problem(*rule, names) for rule, names in self._found.items())))
        notes = (
            (f"{len(left_over)} files that the operating system created in the folder are left out",)
            if left_over
            else ()
        )
        plugins: tuple[Archive, ...] = ()
        for library, plugin, start, names in reversed(places):
            inside = MappingProxyType({name[start:]: contents[name] for name in sorted(names)})
            plugins = (Archive(library=library, plugin=plugin, files=inside, notes=notes, rest=plugins), *plugins)
        return plugins[0]

    def _note(self, name: str, what: str, fix: str) -> None:
        self._found.setdefault((what, fix), []).append(name)

    def _members(self) -> tuple[list[zipfile.ZipInfo], list[str]]:
        sound, left_over = [], []
        for info in self._archive.infolist():
            name = info.orig_filename
            problem = path_problem(name, info.filename)
            if problem is None and is_left_over(name):  # never read, so its content does not matter
                left_over.append(name)
            elif problem := problem or name_problem(name) or kind_problem(info):
                self._note(name, *problem)
            else:
                sound.append(info)
        return sound, left_over

    def _clashes(self, names: Sequence[str]) -> None:
        first: dict[str, str] = {}
        seen: set[str] = set()
        for name in names:
            path = name.rstrip("/")
            if path in seen and not name.endswith("/"):
                self._note(name, "occurs twice", "Pack the folder again")
            seen.add(path)
            for part in (path, *_folders(path)):
                other = first.setdefault(unicodedata.normalize("NFC", part).casefold(), part)
                if other != part:
                    self._note(
                        part,
                        "has a name that differs from another only in capital letters; on many computers they are "
                        "the same",
                        "Rename one of them",
                    )
        folders = {folder for name in names for folder in _folders(name)}  # 'x/' is the folder 'x'
        for name in sorted(folders.intersection(name for name in names if not name.endswith("/"))):
            self._note(name, "is both a file and a folder", "Pack the folder again")

    # -- which plugin

    def _places(self, names: Sequence[str]) -> list[tuple[str, PluginName, int, list[str]]]:
        """Return library, plugin, start of inner paths, and files of each plugin; data first."""
        plugins: dict[tuple[str, str, str, int], list[str]] = {}
        unnamed = _unnamed_plugins(names)
        for name in names:
            folder = next((folder for folder in unnamed if name.startswith(f"{folder}/")), None)
            if folder is None:
                located = _locate(name.split("/"), self._policy.libraries)
            else:
                around, _, kind = folder.rpartition("/")
                called = re.sub(r"\W", "_", around or self._name).lower().removesuffix("_stimuli_and_data")
                if not called:
                    self._note(name, "is not in a folder with the plugin's name", f"Put the files into {kind}/<name>")
                    continue
                located = self._policy.libraries[0], kind, called, len(folder) + 1
            if located is None:
                self._note(
                    name,
                    "is outside of the folder of a plugin",
                    "The zip file holds one folder of one plugin, such as benchmarks/myexperiment2024/__init__.py; "
                    f"the first part is one of {', '.join(FOLDERS)}",
                )
                continue
            plugins.setdefault(located, []).append(name)
        if len({(library, kind) for library, kind, _, _ in plugins}) < len(plugins):
            listed = [members[0][:start] for (_, _, _, start), members in plugins.items()]
            self._whole.append(
                _problem(
                    "are several plugins, or copies of one, in the same zip file",
                    "Submit each plugin in a separate zip file, or one of each kind together",
                    listed,
                )
            )
            return []
        if not plugins and not self._found:
            self._whole.append(Fault(what="the zip file is empty", fix="Pack the folder of the plugin again"))
        in_order = sorted(plugins.items(), key=lambda entry: _ORDER.index(entry[0][1]))
        checked = [(self._checked_place(*place[:3], members, place[3]), members) for place, members in in_order]
        return [(*place, members) for place, members in checked if place is not None]

    def _checked_place(
        self, library: str, folder: str, plugin: str, members: Sequence[str], start: int
    ) -> tuple[str, PluginName, int] | None:
        if not is_plugin_folder_name(plugin) or plugin.startswith("__"):
            self._note(
                f"{folder}/{plugin}",
                "is not a valid name for the folder of a plugin",
                "Use letters, digits, underscores, dots and dashes, with a letter or digit first",
            )
            return None
        inside = {name[start:] for name in members}
        if "__init__.py" not in inside:
            self._whole.append(
                Fault(
                    what=f"{folder}/{plugin} has no __init__.py",
                    fix="That file registers the plugin; without it nothing can be found",
                )
            )
        too_long = self._policy.most_path - len(f"{library}/{folder}/{plugin}/")
        for name in members:
            if len(name) - start > too_long:
                self._note(name, "has a path that is too long for some computers", "Use shorter names")
        return library, PluginName(folder, plugin), start

    # -- contents of the files

    def _contents(self, files: Iterable[zipfile.ZipInfo]) -> dict[str, bytes]:
        contents: dict[str, bytes] = {}
        total_bytes = 0
        for info in files:
            name = info.orig_filename
            if problem := suffix_problem(name):
                self._note(name, *problem)
            if info.file_size > self._policy.most_file_bytes:
                self._too_large(name)
                continue
            if total_bytes > self._policy.most_total_bytes:
                continue
            content = self._read(info)
            if content is None:
                continue
            total_bytes += len(content)
            contents[name] = content
            if problem is None and (problem := content_problem(content)):
                self._note(name, *problem)
        self._check_total(total_bytes)
        return contents

    def _read(self, info: zipfile.ZipInfo) -> bytes | None:
        """Return the content; never unpack more than allowed."""
        most_bytes = self._policy.most_file_bytes
        with suppress(*_UNREADABLE), self._archive.open(info) as stream:
            content = stream.read(most_bytes + 1)
            # The declared size may be wrong.
            if len(content) > most_bytes:
                self._too_large(info.orig_filename)
                return None
            stream.read(1)  # the end verifies the checksum
            if len(content) == info.file_size:
                return content
        self._note(info.orig_filename, "is damaged in the zip file", "Pack the folder again")
        return None

    def _too_large(self, name: str) -> None:
        self._note(
            name,
            f"has more than {_size(self._policy.most_file_bytes)}",
            "Upload data and weights separately and load them in the plugin",
        )

    def _check_total(self, total_bytes: int) -> None:
        if total_bytes > self._policy.most_total_bytes:
            what = f"the zip file unpacks to more than {_size(self._policy.most_total_bytes)}"
        elif total_bytes > max(_RATIO_FROM_BYTES, self._policy.most_ratio * self._archive_bytes):
            what = f"the zip file unpacks to more than {self._policy.most_ratio:g} times its size"
        else:
            return
        self._whole.append(Fault(what=what, fix="A plugin is source code; leave out everything else"))


def _locate(parts: Sequence[str], libraries: Sequence[str]) -> tuple[str, str, str, int] | None:
    """Return library, folder and name of a file's plugin, and the length of the path before."""
    for skipped in (0, 1):  # many programs add a folder named like the zip file
        for library in libraries:
            library_parts = library.split("/")
            for first in range(len(library_parts) + 1):
                prefix = library_parts[first:]
                start = skipped + len(prefix)
                if list(parts[skipped:start]) != prefix or len(parts) < start + 3:
                    continue
                folder, plugin = parts[start : start + 2]
                if folder in FOLDERS and plugin not in FOLDERS:
                    return library, folder, plugin, len("/".join(parts[: start + 2])) + 1
    return None


def _unnamed_plugins(names: Sequence[str]) -> list[str]:
    """Return folders of kinds that are a plugin themselves: an ``__init__.py``, and none below."""
    packages = {name.rpartition("/")[0] for name in names if name.endswith("/__init__.py")}
    return [
        folder
        for folder in packages
        if folder.rpartition("/")[2] in FOLDERS
        and folder.count("/") <= 1
        and folder.rpartition("/")[0] not in FOLDERS
        and not any(other.startswith(f"{folder}/") for other in packages)
    ]


def _folders(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _problem(what: str, fix: str, names: Sequence[str]) -> Fault:
    distinct = list(dict.fromkeys(names))
    return Fault(what=what, fix=fix, names=tuple(distinct[:_EXAMPLES]), count=len(distinct))


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:g} MiB" if size_bytes >= 2**20 else f"{size_bytes} bytes"
