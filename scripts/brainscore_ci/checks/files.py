"""Check a plugin's files: small, plain, text, and parsable Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pyflakes.checker import Checker
from pyflakes.messages import UndefinedName

from brainscore_ci.planning.areas import is_plugin_folder_name
from brainscore_core.plugin_management.source import LARGEST_FILE, SourceFile

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

_BINARIES = frozenset(
    {
        ".7z", ".bin", ".bz2", ".caffemodel", ".ckpt", ".dll", ".dylib", ".egg", ".exe", ".feather", ".gz", ".h5",
        ".hdf5", ".jar", ".mat", ".msgpack", ".nc", ".npz", ".onnx", ".parquet", ".pb", ".pickle", ".pkl", ".pt",
        ".pth", ".pyc", ".rar", ".safetensors", ".so", ".tar", ".tflite", ".tgz", ".whl", ".xz", ".zip",
    }
)  # fmt: skip
_UPLOAD = "upload it, and load it with load_weight_file, load_assembly_from_s3 or load_stimulus_set_from_s3"


def check_files(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Refuse links, large files, weights, data, and names that break systems or shells."""
    folded: dict[str, str] = {}
    for path, file in source.files.items():
        problem = _problem(file)
        if problem is not None:
            rule, message, fix = problem
            yield source.finding(rule, message, fix, path)
        twin = folded.setdefault(path.casefold(), path)
        if twin != path:
            message = f"its name differs from {twin!r} only in case, which macOS and Windows do not tell apart"
            yield source.finding("file-name", message, "rename one of them", path)
    for folder in sorted({part for path in source.files for part in PurePosixPath(path).parts[:-1]}):
        if not is_plugin_folder_name(folder):
            message = f"the folder {folder!r} has characters other than letters, digits and _ . -"
            yield source.finding("file-name", message, "rename it", hint=folder.isprintable())


def _problem(file: SourceFile) -> tuple[str, str, str] | None:
    if file.form == "symlink":
        return "symlink", "is a symbolic link, which may lead anywhere", "replace it by what it points to"
    if file.form == "special":
        return "symlink", "is neither a file nor a folder", "remove it"
    path = PurePosixPath(file.path)
    if any(part != part.strip() or not part.isprintable() or part.endswith(".") for part in path.parts):
        return "file-name", f"the name {file.path!r} has characters that not every system knows", "rename it"
    if path.suffix.lower() in _BINARIES:
        message = f"{path.suffix} files are weights, data or archives, which do not belong into git"
        return "binary-file", message, _UPLOAD
    if file.size_bytes > LARGEST_FILE:
        return "file-size", f"has {file.size_bytes / 1e6:.1f} MB; at most 1 MB is accepted", _UPLOAD
    return None


def check_syntax(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require that every Python file parses, and refuse texts that a reviewer sees otherwise than a program."""
    for path, file in source.files.items():
        if file.hidden:
            line, message = file.hidden
            yield source.finding("hidden-text", message, "write it in UTF-8 without such characters", path, line)
        elif file.problem:
            line, message = file.problem
            fix = "correct it; Python 3.11 has to understand it"
            hint = not (path in _RUN or path in source.imported)
            yield source.finding("syntax", f"cannot be read: {message}", fix, path, line, hint=hint)


_RUN = frozenset({"__init__.py", "benchmark.py", "ceiling.py", "metric.py", "model.py", "test.py"})


def check_setup(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require requirements in ``requirements.txt``."""
    for name in ("setup.py", "environment.yml", "environment.yaml"):
        if name in source.files:
            message = f"{name} is not used to install anything"
            if name == "setup.py":
                message = "setup.py is never run; only its literal install_requires counts"
            fix = "move its requirements to requirements.txt and remove it"
            yield source.finding("setup", message, fix, name, hint=True)


def check_defined_names(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Require that every name that a file reads is defined, as pyflakes finds (F821 of ruff)."""
    for path, file in source.files.items():
        found = Checker(file.tree, path).messages if file.tree is not None else ()
        undefined = [message for message in found if isinstance(message, UndefinedName)]
        lines: dict[str, int] = {}
        for each in sorted(undefined, key=lambda message: message.lineno):
            lines.setdefault(each.message_args[0], each.lineno)
        for name, line in sorted(lines.items()):
            message = f"the name {name!r} is not defined, so running this line fails"
            yield source.finding("undefined-name", message, "define or import it, or correct it", path, line)


RULES = (check_files, check_syntax, check_setup, check_defined_names)
