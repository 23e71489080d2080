"""Prepare what a candidate needs before it is asked anything: its environment, and a home of its own with its weights.

This is the phase with the network, in which nothing private is near. Afterwards the home is read-only to the candidate,
so that what it sees in the next phase, without the network, cannot be carried into a later one.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from brainscore_core.config import settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_path, locked
from brainscore_core.identity import software, sources
from brainscore_core.plugin_management.index import PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS, unknown_identifier
from brainscore_core.scoring.isolation.box import Box, run_boxed
from brainscore_core.scoring.isolation.environments import boxed_python_for, built_python_for
from brainscore_core.scoring.isolation.interpreter import interpreter_paths

__all__ = ["Prepared", "box_of", "plugin_folder", "prepare", "prepared_before", "weights_of"]

_LIBRARY = "brainscore_vision"
_FETCH_S = 6 * 3600.0
_logger = logging.getLogger(__name__)

# What of the surroundings a candidate is told: how to compute, nothing of who computes. A closed list.
_TOLD = re.compile(
    r"(OMP|MKL|OPENBLAS|NUMEXPR|CUDA|NVIDIA|TORCH|PYTORCH)_\w+|BRAINSCORE_(MEMORY_GB|DEVICE|ARRAY_BACKEND|MEMORY_MAP)"
    r"|RESULTCACHING_DISABLE|PYTHONHASHSEED|PYTHONWARNINGS"
)
_CONNECTED = re.compile(r"(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|HF_ENDPOINT", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What a candidate needs.

    Attributes
    ----------
    model : str
        Identifier.
    python : Path
        Interpreter that has what the plugin requires.
    home : Path
        Folder of this model at this revision of its plugin.
    """

    model: str
    python: Path
    home: Path

    @property
    def own_environment(self) -> Path | None:
        """Folder of the environment of this model; None if it is that of the judge."""
        return None if self.python == Path(sys.executable) else self.python.parent.parent

    @property
    def lock(self) -> str | None:
        """Names and versions of what is installed there (`software.installed`); None if it is that of the judge."""
        return None if self.own_environment is None else software.installed(self.own_environment)


def plugin_folder(model: str) -> Path:
    """Return the folder of the plugin of a model, without importing any plugin.

    Raises
    ------
    ConfigurationError
        If no plugin registers the identifier literally, or several do.
    """
    index = PluginIndex(library_roots(_LIBRARY))
    found = index.find(KINDS["model"], model)
    if not found and model not in index.identifiers(KINDS["model"]) and not index.computing(KINDS["model"]):
        raise unknown_identifier(KINDS["model"], model, library=_LIBRARY, known=index.identifiers(KINDS["model"]))
    if len(found) != 1:
        raise ConfigurationError(
            f"{len(found)} plugins register the model {model!r} literally, as model_registry['{model}'] = ...; "
            "expected one. A model whose plugin has to be imported to find it cannot be scored in isolation: write its "
            "identifier out."
        )
    return found[0][0].directory


def prepare(model: str) -> Prepared:
    """Make the environment of a model and, with a network, fetch its weights; at once if that has been done before.

    Raises
    ------
    ConfigurationError
        See `plugin_folder`.
    RequirementsError
        If its requirements cannot be installed.
    """
    folder, current = plugin_folder(model), settings()
    python = Path(sys.executable) if current.install_dependencies == "no" else boxed_python_for([folder])
    prepared = Prepared(model=model, python=python, home=_home(model, folder))
    marker = prepared.home.with_name(f"{prepared.home.name}.fetched")
    if current.offline or marker.is_file():
        return prepared
    with locked(prepared.home):
        if not marker.is_file():
            shutil.rmtree(prepared.home, ignore_errors=True)  # of an attempt that was interrupted
            prepared.home.mkdir(parents=True)
            if _fetch(prepared):
                with atomic_path(marker) as temporary:
                    temporary.touch()
    return prepared


def prepared_before(model: str) -> Prepared | None:
    """Return what `prepare` has made for a model as it is now, and make nothing; None if its environment is not there.

    Raises
    ------
    ConfigurationError
        See `plugin_folder`.
    RequirementsError
        If its requirements cannot be read.
    """
    folder = plugin_folder(model)
    is_here = settings().install_dependencies == "no"
    python = Path(sys.executable) if is_here else built_python_for([folder])
    return None if python is None else Prepared(model=model, python=python, home=_home(model, folder))


def _home(model: str, folder: Path) -> Path:
    revision = re.sub(r"\W", "", sources.folder_revision(folder))[:32]
    name = f"{re.sub(r'[^A-Za-z0-9_.-]', '_', model)[:80]}-{revision}"
    return settings().cache_home / "candidates" / name


def _fetch(prepared: Prepared) -> bool:
    """Load a model in a box with the network, which may write into its home; return whether it could be loaded."""
    ended = run_boxed(
        [prepared.python, "-P", "-m", f"{_LIBRARY}.isolation.candidate", "--model", prepared.model, "--fetch"],
        box_of(prepared, network=True),
        timeout_s=_FETCH_S,
    )
    if ended.problem is not None:  # without the network it will fail too, and tell why
        _logger.warning("%s could not be loaded in the phase with the network: %s", prepared.model, ended.tail)
    return ended.problem is None


def box_of(prepared: Prepared, *, stimuli: Path | None = None, network: bool = False) -> Box:
    """Return what a candidate sees.

    Parameters
    ----------
    stimuli : Path, optional
        Folder of the stimuli of the moment.
    network : bool
        Whether it is the phase in which weights are fetched: with the network, and with a home that it may write.
    """
    own = None if prepared.own_environment is None else prepared.python
    readable = [*interpreter_paths(own), *([stimuli] if stimuli else [])]
    if not network:
        readable += [each for each in (prepared.home, weights_of(prepared)) if each is not None and each.is_dir()]
    return Box(
        readable=tuple(readable),
        writable=(prepared.home,) if network else (),
        devices=tuple(sorted(Path("/dev").glob("nvidia*"))),
        network=network,
        environment=_environment(prepared, network=network, own=own),
    )


def weights_of(prepared: Prepared) -> Path | None:
    """Return where weights are: in the home of the candidate, else where others have been put that anybody may read."""
    for folder in (prepared.home / "brain-score" / "weights", settings().home / "weights"):
        if folder.is_dir():
            return folder
    return None


def _environment(prepared: Prepared, *, network: bool, own: Path | None) -> Mapping[str, str]:
    surroundings = environment_of(os.environ)
    told = {
        name: value
        for name, value in surroundings.items()
        if _TOLD.fullmatch(name) or (network and _CONNECTED.fullmatch(name))
    }
    home = prepared.home if network or prepared.home.is_dir() else Path("/tmp")  # noqa: S108 - the box's own
    told |= {
        "HOME": str(home),
        "TORCH_HOME": str(home / ".cache" / "torch"),
        "HF_HOME": str(home / ".cache" / "huggingface"),
        "BS_INSTALL_DEPENDENCIES": "no",
        "PYTHONDONTWRITEBYTECODE": "1",
        "BRAINSCORE_HOME": str(home / "brain-score") if network else "/tmp/brain-score",  # noqa: S108 - the same
    }
    if own is None and "PYTHONPATH" in surroundings:  # an environment of its own names the same folders itself
        told["PYTHONPATH"] = surroundings["PYTHONPATH"]
    if network:
        return told
    told |= {"BRAINSCORE_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": "/tmp/cache"}  # noqa: S108 - the same
    return told
