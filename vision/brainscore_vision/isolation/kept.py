"""Store candidates' answers: a new metric or benchmark on the same stimuli then needs no candidate.

The judge computes keys from everything that the candidate sees and nothing that it says.

Answers of processes that may have other weights are never mixed: each answer belongs to a *state*, the digest of
weights that the candidate reports, or its process if it reports none.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import TypeAdapter

import brainscore_core
from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, CorruptFileError, ProtocolError
from brainscore_core.files import atomic_path
from brainscore_core.identity import software
from brainscore_core.identity.digest import content_digest, file_digest, folder_stamps
from brainscore_core.identity.store import Store, cache_limit_bytes
from brainscore_core.plugin_management.index import library_roots
from brainscore_core.plugin_management.registry import FOLDERS
from brainscore_core.scoring.isolation.values import pack
from brainscore_core.scoring.isolation.wire import Bounds, Message, read_message, write_message
from brainscore_core.untrusted import Name, Untrusted, at_most, checked, read_start
from brainscore_vision.isolation.prepared import Prepared, plugin_folder, variables_of, weights_of

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["KeptAnswers", "answers_folder", "may_be_kept", "question_digest", "remove_answers", "stored_answers"]

_FORMAT = 1
_SUFFIX, _STATE = ".answer", "state.json"
_LIBRARY = "brainscore_vision"
_MOST_FILES = 50_000  # outside the library, above which dependencies count as unknown
_ROOM = "BRAINSCORE_MEMORY_GB"  # has no effect on values; a campaign divides it among its jobs
_LOOK_EVERY_S = 1.0
_MOST_STATE = 10_000  # bytes
_PLUGIN = re.compile(rf"({'|'.join(FOLDERS)})/([^/\\\0]+)")
_logger = logging.getLogger(__name__)


class _UnknownError(Exception):
    pass


@dataclass(frozen=True)
class _State(Untrusted):
    model: Name
    state: Name


@dataclass(frozen=True)
class _Kept(Untrusted):
    state: Name
    plugins: dict[Name, Name]
    reply: object


_STATES, _ENTRIES = TypeAdapter(_State), TypeAdapter(_Kept)
_USED = TypeAdapter(Annotated[list[Name], at_most(10_000)])


def answers_folder() -> Path:
    """Return the folder of answers."""
    return settings().cache_home / "answers"


def may_be_kept(model: str) -> bool:
    """Return whether answers of a model are stored, of any revision."""
    return _folder_of(model).is_dir()


def _folder_of(model: str) -> Path:
    return answers_folder() / content_digest(model)[:16]


class KeptAnswers:
    """One model's answers in its present state: plugin, library, installed packages, weights, machine.

    Parameters
    ----------
    prepared
        Environment and home of its candidate.
    bounds
        Limits of reading; arrays beyond the memory stay in their files.
    """

    def __init__(self, prepared: Prepared, bounds: Bounds | None = None) -> None:
        self._prepared, self._bounds = prepared, bounds or Bounds()
        self._digests: dict[str, str | None] = {}
        self._looked = 0.0  # by `time.monotonic`, after the candidate's start
        self._key = _key_of(prepared)
        self._folder = None if self._key is None else _folder_of(prepared.model) / self._key
        self.state = self._read_state()

    @property
    def is_empty(self) -> bool:
        """Whether no answers can be found."""
        return self.state is None

    def begin(self, reported: str | None) -> bool:
        """Note that the candidate runs, and return whether stored answers belong to its state.

        `reported` is a digest of the candidate's weights; None: each process may be another model.
        """
        self._looked = -_LOOK_EVERY_S
        self._look_again()
        self._digests.clear()
        previous = self.state
        self.state = content_digest("told", reported) if reported else f"process {secrets.token_hex(16)}"
        if self.state == previous or self._folder is None:
            return self.state == previous or previous is None
        for entry in self._folder.glob(f"*{_SUFFIX}"):
            entry.unlink(missing_ok=True)
        try:
            with _private_path(self._folder / _STATE) as temporary:
                temporary.write_text(json.dumps({"model": self._prepared.model, "state": self.state}), "utf-8")
        except OSError as error:
            self._give_up(error)
        return previous is None

    def find(self, question: str) -> tuple[object] | None:
        """Return the candidate's reply to a question, see `question_digest`, in a tuple; None if it is not stored."""
        if self._folder is None or self.state is None:
            return None
        file = self._folder / f"{question}{_SUFFIX}"
        try:
            message = read_message(file, self._bounds)
            entry = checked(_ENTRIES, message.content, "kept answer")
            os.utime(file)
        except (OSError, ProtocolError):
            return None
        if message.kind != question or entry.state != self.state:
            return None
        if any(self._digest_of_plugin(name) != digest for name, digest in entry.plugins.items()):
            return None
        return (entry.reply,)

    def keep(self, question: str, reply: object, used: object) -> None:
        """Store a validated reply.

        `used` lists the plugins that the candidate reports to have imported, ``'<folder of the kind>/<folder>'``.
        """
        self._look_again()
        if self._folder is None or self.state is None:
            return
        try:
            names = checked(_USED, used, "list of plugins")
        except CorruptFileError:
            return
        plugins = {name: self._digest_of_plugin(name) for name in sorted(set(names))}
        if None in plugins.values():  # a dependency without a digest
            return
        content = {"state": self.state, "plugins": plugins, "reply": reply}
        try:
            with _private_path(self._folder / f"{question}{_SUFFIX}") as temporary:
                write_message(temporary, Message(question, 0, content), cache_limit_bytes())
                stored_answers().make_room(temporary.stat().st_size)
        except (OSError, ProtocolError) as error:
            self._give_up(error)

    def _look_again(self) -> None:
        if self._folder is not None and time.monotonic() - self._looked >= _LOOK_EVERY_S:
            self._looked = time.monotonic()
            if _key_of(self._prepared) != self._key:
                self._folder = None

    def _give_up(self, error: Exception) -> None:
        _logger.warning("Answers of %s are not stored: %s", self._prepared.model, error)
        self._folder = None

    def _read_state(self) -> str | None:
        if self._folder is None:
            return None
        try:
            content = json.loads(read_start(self._folder / _STATE, _MOST_STATE))
            return checked(_STATES, content, "state").state
        except (OSError, ValueError):
            return None

    def _digest_of_plugin(self, name: str) -> str | None:
        if name not in self._digests:
            match = _PLUGIN.fullmatch(name)
            roots = [root for root in library_roots(_LIBRARY) if match and root.folder == match[1]]
            folders = [root.path / match[2] for root in roots if match and (root.path / match[2]).is_dir()]
            is_plain = match is not None and match[2] not in (".", "..")
            self._digests[name] = software.sources_digest(folders) if folders and is_plain else None
        return self._digests[name]


def question_digest(question: str, content: object, after: str) -> str:
    """Return a digest of everything that the candidate sees of a question.

    Parameters
    ----------
    content
        As sent; stimulus files count by content, without their folder.
    after
        Digest of the question that prepared the model; empty without one.

    Raises
    ------
    ProtocolError
        The content cannot be sent.
    OSError
        A stimulus file cannot be read.
    """
    arrays: list[npt.NDArray[Any]] = []
    tree = pack(_by_content(content), arrays)
    return content_digest(_FORMAT, question, after, json.dumps(tree, sort_keys=True), arrays)


def _by_content(value: object) -> object:
    if isinstance(value, Mapping):
        stimuli = value.get("stimuli") if len(value) == 1 else None
        if isinstance(stimuli, dict) and set(stimuli) == {"table", "identifier", "folder", "files"}:
            folder = Path(str(stimuli["folder"]))
            files = [[name, file_digest(folder / name, "sha256") if name else ""] for name in stimuli["files"] or ()]
            return {**stimuli, "folder": None, "files": None if stimuli["files"] is None else files}
        return {str(key): _by_content(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_by_content(item) for item in value]
    return value


def _key_of(prepared: Prepared) -> str | None:
    if settings().caching_disabled:
        return None
    try:
        nvidia = Path("/proc/driver/nvidia")
        gpus = [file for file in (nvidia / "version", *sorted(nvidia.glob("gpus/*/information"))) if file.is_file()]
        folder = plugin_folder(prepared.model)
        return content_digest(
            _FORMAT,
            {
                "model": prepared.model,
                "plugin": [folder.name, software.sources_digest([folder])],
                "library": software.library_digest(Path(__file__).parents[1], FOLDERS),
                "python": [sys.version, sys.executable, str(prepared.python)],
                "installed": [software.installed(), prepared.lock or ""],
                "modules": _loose_modules(),
                "variables": {name: value for name, value in variables_of(prepared).items() if name != _ROOM},
                "files": [_stamps(path) for path in (prepared.home, weights_of(prepared)) if path and path.is_dir()],
                "machine": [platform.machine(), _processor(), [gpu.read_text("utf-8", "replace") for gpu in gpus]],
            },
        )
    except (BrainScoreError, OSError, _UnknownError) as error:
        _logger.info("Answers of %s are not stored: %s", prepared.model, error)
        return None


def _stamps(folder: Path, pattern: str = "*") -> list[list[object]]:
    """Return name, size and times of a folder's files: contents may be too large to read each time."""
    stamps: list[list[object]] = []
    for file, stamp in folder_stamps(folder, pattern):
        stamps.append([file, *stamp])
        if len(stamps) > _MOST_FILES:
            raise _UnknownError(f"there are more than {_MOST_FILES} files in {folder}")
    return stamps


def _loose_modules() -> list[list[object]]:
    library = [Path(str(brainscore_core.__file__)).parent, Path(__file__).parents[1]]
    folders = dict.fromkeys(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    stamps: list[list[object]] = []
    for folder in map(Path, folders):
        if folder.is_dir():
            stamps += [stamp for stamp in _stamps(folder.absolute(), "*.py") if not _is_below(str(stamp[0]), library)]
    return stamps


def _is_below(file: str, folders: list[Path]) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in folders)


def _processor() -> str:
    """Return name and features of the processor, which determine the order of additions."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    keys = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.partition("\t")[0].rstrip(" :") in keys}))


@contextmanager
def _private_path(target: Path) -> Iterator[Path]:
    """Do as `atomic_path`, in a folder closed to other users: stimuli may be private."""
    answers_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_path(target) as temporary:
        yield temporary


def stored_answers(limit: int | None = None) -> Store:
    """Return the cache of all answers, with a size limit in bytes; None: the limit in the settings."""
    return Store(answers_folder(), limit, pattern=f"*/*/*{_SUFFIX}")


def remove_answers() -> int:
    """Remove all stored answers and return their number."""
    count = len(stored_answers().entries())
    shutil.rmtree(answers_folder(), ignore_errors=True)
    return count
