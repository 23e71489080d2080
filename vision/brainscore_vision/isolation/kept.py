"""Keep what candidates answer, so that a new metric or benchmark on the same stimuli needs no candidate.

The judge keeps it, in its own folder, under keys that it computes itself: of everything that the candidate sees, and
nothing that the candidate says. So an answer is found again for the same question to the same revision of the same
model only. What is read from here is looked at as if the candidate had just said it.

Answers of one process are never mixed with those of another that may have other weights: each belongs to a *state*,
the digest of the weights that the candidate tells, or where it tells none, its process.
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
from brainscore_core.identity import software, sources
from brainscore_core.identity.digest import content_digest, file_digest
from brainscore_core.identity.stamp import folder_stamps
from brainscore_core.identity.store import Store, cache_limit_bytes
from brainscore_core.plugin_management.index import library_roots
from brainscore_core.plugin_management.registry import FOLDERS
from brainscore_core.scoring.isolation.values import pack
from brainscore_core.scoring.isolation.wire import Bounds, Message, read_message, write_message
from brainscore_core.untrusted import Name, Untrusted, at_most, checked, read_start
from brainscore_vision.isolation.prepared import Prepared, box_of, plugin_folder, weights_of

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "KeptAnswers",
    "answers_folder",
    "may_be_kept",
    "question_digest",
    "remove_answers",
    "stored_answers",
]

_FORMAT = 1
_SUFFIX, _STATE = ".answer", "state.json"
_LIBRARY = "brainscore_vision"
_MOST_FILES = 50_000  # that may be there beside the library before nobody knows what a model reads
_ROOM = "BRAINSCORE_MEMORY_GB"  # says where arrays lie, not what is in them; a campaign divides it among its jobs
_LOOK_EVERY_S = 1.0
_MOST_STATE = 10_000  # bytes
_PLUGIN = re.compile(rf"({'|'.join(FOLDERS)})/([^/\\\0]+)")
_logger = logging.getLogger(__name__)


class _UnknownError(Exception):
    """It cannot be said what an answer depends on."""


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
    """Return where answers are kept."""
    return settings().cache_home / "answers"


def may_be_kept(model: str) -> bool:
    """Return whether answers of a model are kept, be they of the model as it is now or as it once was."""
    return _folder_of(model).is_dir()


def _folder_of(model: str) -> Path:
    return answers_folder() / content_digest(model)[:16]


class KeptAnswers:
    """The answers of one model as it is: its plugin, the library, what is installed, its weights, the machine.

    Parameters
    ----------
    prepared : Prepared
        What its candidate needs.
    bounds : Bounds, optional
        Of what is read; arrays that do not fit the memory stay in their files.
    """

    def __init__(self, prepared: Prepared, bounds: Bounds | None = None) -> None:
        self._prepared, self._bounds = prepared, bounds or Bounds()
        self._digests: dict[str, str | None] = {}
        self._looked = 0.0  # when, as `time.monotonic` tells it, after the candidate has been started
        self._key = _key_of(prepared)
        self._folder = None if self._key is None else _folder_of(prepared.model) / self._key
        self.state = self._read_state()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept that could be found."""
        return self.state is None

    def begin(self, told: str | None) -> bool:
        """Note that the candidate runs, and return whether what is kept is of a model in the same state.

        Parameters
        ----------
        told : str or None
            What the candidate says of its state: a digest of its weights. None: each of its processes may be another
            model.

        Returns
        -------
        bool
            False: what has been found before must not be used together with what comes now, and is found no more.
        """
        self._looked = -_LOOK_EVERY_S
        self._look_again()
        self._digests.clear()
        before = self.state
        self.state = content_digest("told", told) if told else f"process {secrets.token_hex(16)}"
        if self.state == before or self._folder is None:
            return self.state == before or before is None
        for entry in self._folder.glob(f"*{_SUFFIX}"):
            entry.unlink(missing_ok=True)
        try:
            with _private_path(self._folder / _STATE) as temporary:
                temporary.write_text(json.dumps({"model": self._prepared.model, "state": self.state}), "utf-8")
        except OSError as error:
            self._give_up(error)
        return before is None

    def find(self, question: str) -> tuple[object] | None:
        """Return what the candidate replied to a question, in a tuple; None if that is not known.

        Parameters
        ----------
        question : str
            See `question_digest`.
        """
        if self._folder is None or self.state is None:
            return None
        file = self._folder / f"{question}{_SUFFIX}"
        try:
            message = read_message(file, self._bounds)
            said = checked(_ENTRIES, message.content, "kept answer")
            os.utime(file)
        except (OSError, ProtocolError):
            return None
        if message.kind != question or said.state != self.state:
            return None
        if any(self._digest_of_plugin(name) != digest for name, digest in said.plugins.items()):
            return None
        return (said.reply,)

    def keep(self, question: str, reply: object, used: object) -> None:
        """Keep a reply that was looked at and found good.

        Parameters
        ----------
        used : object
            What the candidate says of which plugins it has imported, as a list of ``'<folder of the kind>/<folder>'``.
        """
        self._look_again()
        if self._folder is None or self.state is None:
            return
        try:
            names = checked(_USED, used, "list of plugins")
        except CorruptFileError:
            return
        plugins = {name: self._digest_of_plugin(name) for name in sorted(set(names))}
        if None in plugins.values():  # it depends on what nobody can look at
            return
        content = {"state": self.state, "plugins": plugins, "reply": reply}
        try:
            with _private_path(self._folder / f"{question}{_SUFFIX}") as temporary:
                write_message(temporary, Message(question, 0, content), cache_limit_bytes())
                stored_answers().make_room(temporary.stat().st_size)
        except (OSError, ProtocolError) as error:
            self._give_up(error)

    def _look_again(self) -> None:
        """Keep and find nothing any more if somebody has changed what the model is made of, while it runs."""
        if self._folder is not None and time.monotonic() - self._looked >= _LOOK_EVERY_S:
            self._looked = time.monotonic()
            if _key_of(self._prepared) != self._key:
                self._folder = None

    def _give_up(self, error: Exception) -> None:
        _logger.warning("Answers of %s are not kept: %s", self._prepared.model, error)
        self._folder = None

    def _read_state(self) -> str | None:
        if self._folder is None:
            return None
        try:
            found = json.loads(read_start(self._folder / _STATE, _MOST_STATE))
            return checked(_STATES, found, "state").state
        except (OSError, ValueError):
            return None

    def _digest_of_plugin(self, name: str) -> str | None:
        """Return the digest of the files of a plugin, such as ``'metrics/cka'``; None if there is none."""
        if name not in self._digests:
            match = _PLUGIN.fullmatch(name)
            roots = [root for root in library_roots(_LIBRARY) if match and root.folder == match[1]]
            found = [root.path / match[2] for root in roots if match and (root.path / match[2]).is_dir()]
            is_plain = match is not None and match[2] not in (".", "..")
            self._digests[name] = sources.sources_digest(found) if found and is_plain else None
        return self._digests[name]


def question_digest(question: str, content: object, after: str) -> str:
    """Return a digest of everything that the candidate sees of a question.

    Parameters
    ----------
    content : object
        As it is sent; of stimuli the files count by content, and the folder that they lie in does not count.
    after : str
        Digest of the question that prepared the model; empty if none did.

    Raises
    ------
    ProtocolError
        It holds what cannot be sent.
    OSError
        A file of a stimulus cannot be read.
    """
    arrays: list[npt.NDArray[Any]] = []
    tree = pack(_by_content(content), arrays)
    return content_digest(_FORMAT, question, after, json.dumps(tree, sort_keys=True), arrays)


def _by_content(value: object) -> object:
    if isinstance(value, Mapping):
        told = value.get("stimuli") if len(value) == 1 else None
        if isinstance(told, dict) and set(told) == {"table", "identifier", "folder", "files"}:
            folder = Path(str(told["folder"]))
            files = [[name, file_digest(folder / name, "sha256") if name else ""] for name in told["files"] or ()]
            return {**told, "folder": None, "files": None if told["files"] is None else files}
        return {str(key): _by_content(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_by_content(each) for each in value]
    return value


# -- what an answer depends on beside the question ---------------------------------------------------------------------


def _key_of(prepared: Prepared) -> str | None:
    """Return the digest of everything that a candidate sees before it is asked; None if somebody else may change it."""
    if settings().caching_disabled:
        return None
    try:
        folder = plugin_folder(prepared.model)
        return content_digest(
            _FORMAT,
            {
                "model": prepared.model,
                "plugin": [folder.name, sources.sources_digest([folder])],
                "library": sources.library_digest(Path(__file__).parents[1], FOLDERS),
                "python": [sys.version, sys.executable, str(prepared.python)],
                "installed": [software.installed(), prepared.lock or ""],
                "modules": _loose_modules(),
                "variables": {name: value for name, value in box_of(prepared).environment.items() if name != _ROOM},
                "files": [_stamps(each) for each in (prepared.home, weights_of(prepared)) if each and each.is_dir()],
                "machine": [platform.machine(), _processor(), _gpus()],
            },
        )
    except (BrainScoreError, OSError, _UnknownError) as error:
        _logger.info("Answers of %s are not kept: %s", prepared.model, error)
        return None


def _stamps(folder: Path, pattern: str = "*") -> list[list[object]]:
    """Return name, size and times of the files in a folder: their contents may be too large to be read each time."""
    found: list[list[object]] = []
    for file, stamp in folder_stamps(folder, pattern):
        found.append([file, *stamp])
        if len(found) > _MOST_FILES:
            raise _UnknownError(f"there are more than {_MOST_FILES} files in {folder}")
    return found


def _loose_modules() -> list[list[object]]:
    """Return name, size and times of what can be imported beside the library and what is installed."""
    library = [Path(str(brainscore_core.__file__)).parent, Path(__file__).parents[1]]
    given = dict.fromkeys(each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each)
    found: list[list[object]] = []
    for folder in map(Path, given):
        if folder.is_dir():
            found += [each for each in _stamps(folder.absolute(), "*.py") if not _is_below(str(each[0]), library)]
    return found


def _is_below(file: str, folders: list[Path]) -> bool:
    return any(Path(file).is_relative_to(each) for each in folders)


def _processor() -> str:
    """Return the name of the processor and what it can do, which choose how numbers are added."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.partition("\t")[0].rstrip(" :") in wanted}))


def _gpus() -> list[str]:
    """Return what the driver of GPUs says of itself and of them."""
    place = Path("/proc/driver/nvidia")
    files = [place / "version", *sorted(place.glob("gpus/*/information"))]
    return [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]


@contextmanager
def _private_path(target: Path) -> Iterator[Path]:
    """Give a path as `atomic_path` does, in a folder that nobody else may look into: stimuli may be private."""
    answers_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_path(target) as temporary:
        yield temporary


# -- room --------------------------------------------------------------------------------------------------------------


def stored_answers(limit: int | None = None) -> Store:
    """Return the cache of all answers, with a size limit in bytes; None is that of the settings."""
    return Store(answers_folder(), limit, pattern=f"*/*/*{_SUFFIX}")


def remove_answers() -> int:
    """Remove all kept answers, and return how many there were."""
    count = len(stored_answers().entries())
    shutil.rmtree(answers_folder(), ignore_errors=True)
    return count
