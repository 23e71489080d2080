"""Prepare a candidate: its environment, and its home with its weights.

This phase has the network and no private data; afterwards the home is read-only.
"""

import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from brainscore_core.config import PLUGINS_VARIABLE, settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import LOCKS, atomic_path, locked
from brainscore_core.identity import software
from brainscore_core.identity.digest import text_digest
from brainscore_core.plugin_management.index import PluginIndex, library_roots
from brainscore_core.plugin_management.registry import FOLDERS, KINDS, outside_folders, unknown_identifier
from brainscore_core.plugin_management.source import filled, read_files
from brainscore_core.scoring.isolation.box import Box, interpreter_paths, run_boxed
from brainscore_core.scoring.isolation.environments import boxed_python_for, built_python_for
from brainscore_core.scoring.isolation.handover import take_over
from brainscore_vision.loading import naming_library

__all__ = [
    "Prepared",
    "box_of",
    "folders_of_plugins",
    "plugin_folder",
    "prepare",
    "prepared_before",
    "readable_plugins",
    "variables_of",
    "weights_of",
]

_LIBRARY = "brainscore_vision"

# -- plugins that a candidate may read ---------------------------------------------------------------------------------
# Found without imports: its own, and the models that its sources name.

_IMPORTED = re.compile(rf"{_LIBRARY}\.models\.([\w-]+)")
_BESIDE = re.compile(r"(?:models\.)?([\w-]+)")  # from ..other import x


def readable_plugins(folder: Path) -> list[Path]:
    """Return folders of a model's plugin and of models that it loads or imports, directly or not.

    Texts anywhere in the sources count; plugins of other kinds do not.
    """
    roots = [root for root in library_roots(_LIBRARY) if root.folder == KINDS["model"].folder]
    everything = PluginIndex(roots).plugins(KINDS["model"].folder)
    plugins = {each.name: each for each in reversed(everything)}  # of one name, imports lead to the first
    owners = [
        (identifier, plugin.directory) for plugin in everything for identifier in plugin.identifiers(KINDS["model"])
    ]
    schemes = [
        (scheme, plugin.directory)
        for plugin in everything
        for scheme in plugin.identifiers(KINDS["model"], schemes=True)
    ]
    readable: list[Path] = []
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if current in readable:
            continue
        readable.append(current)
        for file in read_files(current).values():
            facts = file.facts
            patterns = [load.pattern for load in facts.loads if load.kind == "model" and not load.says_nothing]
            waiting += [
                owner
                for identifier, owner in owners
                if identifier in facts.texts or any(filled(pattern, identifier) is not None for pattern in patterns)
            ]
            waiting += [owner for scheme, owner in schemes if any(text.startswith(scheme) for text in facts.texts)]
            imported = [(_BESIDE if entry.level > 1 else _IMPORTED).match(entry.module) for entry in facts.imports]
            waiting += [plugins[match[1]].directory for match in imported if match and match[1] in plugins]
    return sorted(readable)


def folders_of_plugins() -> Iterator[Path]:
    """Yield the folders with plugins, wherever the library can be imported from."""
    places = {root.path for root in library_roots(_LIBRARY)}
    places |= {Path(place, _LIBRARY, name) for place in sys.path for name in FOLDERS}
    return (place for place in sorted(place.resolve() for place in places) if place.is_dir())


# -- environment, home and box -----------------------------------------------------------------------------------------

_FETCH_S = 6 * 3600.0
_logger = logging.getLogger(__name__)

# The only environment variables that a candidate gets: how to compute, not who computes.
_PASSED_ON = re.compile(
    r"(OMP|MKL|OPENBLAS|NUMEXPR|CUDA|NVIDIA|TORCH|PYTORCH)_\w+|BRAINSCORE_(MEMORY_GB|DEVICE|ARRAY_BACKEND|MEMORY_MAP)"
    r"|RESULTCACHING_DISABLE|PYTHONHASHSEED|PYTHONWARNINGS"
)
_CONNECTED = re.compile(r"(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|HF_ENDPOINT", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Environment and home of a candidate.

    Attributes
    ----------
    python
        Interpreter with the plugin's requirements.
    home
        Folder of this model at this revision of its plugin.
    """

    model: str
    python: Path
    home: Path

    @property
    def own_environment(self) -> Path | None:
        """Folder of the model's environment; None if it is the judge's."""
        return None if self.python == Path(sys.executable) else self.python.parent.parent

    @property
    def lock(self) -> str | None:
        """Names and versions installed there; None if it is the judge's environment."""
        return None if self.own_environment is None else software.installed(self.own_environment)


def plugin_folder(model: str) -> Path:
    """Return the folder of a model's plugin, without import; `ConfigurationError` if none or several register it."""
    index = PluginIndex(library_roots(_LIBRARY))
    plugins = index.find(KINDS["model"], model)
    if not plugins and model not in index.identifiers(KINDS["model"]) and not index.computing(KINDS["model"]):
        with naming_library("model", model):
            raise unknown_identifier(KINDS["model"], model, library=_LIBRARY, known=index.identifiers(KINDS["model"]))
    if len(plugins) != 1:
        raise ConfigurationError(
            f"{len(plugins)} plugins register the model {model!r} literally, as model_registry['{model}'] = ...; "
            "expected one. A model that is found only by importing its plugin cannot be scored in isolation: write "
            "its identifier out."
        )
    return plugins[0][0].directory


def prepare(model: str) -> Prepared:
    """Make the environment of a model and, with a network, fetch its weights; returns at once if already done.

    See `plugin_folder` for errors; `RequirementsError` if requirements cannot be installed.
    """
    folder, current = plugin_folder(model), settings()
    is_here = current.install_dependencies == "no"
    hidden = tuple(folders_of_plugins())
    python = Path(sys.executable) if is_here else boxed_python_for([folder], hidden=hidden, bounded=False)
    prepared = Prepared(model=model, python=python, home=_home(model, folder))
    marker = prepared.home.with_name(f"{prepared.home.name}.fetched")
    if current.offline or marker.is_file():
        return prepared
    with locked(prepared.home):
        if not marker.is_file():
            shutil.rmtree(prepared.home, ignore_errors=True)  # from an interrupted attempt
            left_out = _fetch(prepared)
            if left_out is not None:
                with atomic_path(marker) as temporary:
                    temporary.write_text("".join(f"not copied: {name!a}\n" for name in left_out), encoding="ascii")
    return prepared


def prepared_before(model: str) -> Prepared | None:
    """Return an earlier result of `prepare` for the present model; None if its environment is missing.

    See `plugin_folder` for errors; `RequirementsError` if requirements cannot be read.
    """
    folder = plugin_folder(model)
    is_here = settings().install_dependencies == "no"
    python = Path(sys.executable) if is_here else built_python_for([folder], bounded=False)
    return None if python is None else Prepared(model=model, python=python, home=_home(model, folder))


def _home(model: str, folder: Path) -> Path:
    revision = re.sub(r"\W", "", software.folder_revision(folder))[:32]
    # Names that differ in replaced characters, or beyond the first ones, must not share a home: lab/net and lab_net.
    readable = re.sub(r"[^A-Za-z0-9_.-]", "_", model)[:80]
    name = f"{readable}-{text_digest(model)[:16]}-{revision}"
    return settings().cache_home.resolve() / "candidates" / name


def _fetch(prepared: Prepared) -> list[str] | None:
    """Load a model in a box with the network and take over the files of its home.

    Return the names left out; None if loading failed.
    """
    writable = prepared.home.with_name(f"{prepared.home.name}.fetching")
    shutil.rmtree(writable, ignore_errors=True)
    writable.mkdir(mode=0o700, parents=True)
    try:
        ended = run_boxed(
            [prepared.python, "-P", "-m", f"{_LIBRARY}.isolation.candidate", "--model", prepared.model, "--fetch"],
            box_of(replace(prepared, home=writable), network=True),
            timeout_s=_FETCH_S,
        )
        if ended.problem is None:
            return take_over(writable, prepared.home)
    finally:
        shutil.rmtree(writable, ignore_errors=True)
    # Without the network it fails too, with the reason.
    _logger.warning("Loading %s with the network failed: %s", prepared.model, ended.tail.strip())
    return None


def box_of(prepared: Prepared, *, stimuli: Path | None = None, network: bool = False) -> Box:
    """Return the box of a candidate, with the folder of the current stimuli; a `network` comes with a writable home.

    For its plugins see `readable_plugins`.
    """
    own = None if prepared.own_environment is None else prepared.python
    places = tuple(folders_of_plugins())
    packages = [file for place in places if (file := place / "__init__.py").is_file()]
    readable = [*interpreter_paths(own), *packages, *readable_plugins(plugin_folder(prepared.model))]
    readable += [stimuli] if stimuli else []
    if not network:
        weights = weights_of(prepared)
        if weights is not None and os.access(weights, os.W_OK):
            (weights / LOCKS).mkdir(exist_ok=True)  # or it would be in sight when it is made later
        readable += [path for path in (prepared.home, weights) if path is not None and path.is_dir()]
    return Box(
        readable=tuple(readable),
        writable=(prepared.home,) if network else (),
        hidden=places,
        devices=tuple(sorted(Path("/dev").glob("nvidia*"))),
        network=network,
        environment=variables_of(prepared, network=network),
    )


def weights_of(prepared: Prepared) -> Path | None:
    """Return the folder of weights, the candidate's or the shared public one; None without one."""
    for folder in (prepared.home / "brain-score" / "weights", (settings().home / "weights").resolve()):
        if folder.is_dir():
            return folder
    return None


def variables_of(prepared: Prepared, *, network: bool = False) -> Mapping[str, str]:
    """Return the environment variables of a candidate in its box."""
    surroundings = environment_of(os.environ)
    variables = {
        name: value
        for name, value in surroundings.items()
        if _PASSED_ON.fullmatch(name) or (network and _CONNECTED.fullmatch(name))
    }
    home = prepared.home if network or prepared.home.is_dir() else Path("/tmp")  # noqa: S108 - the box's own
    variables |= {
        "HOME": str(home),
        "TORCH_HOME": str(home / ".cache" / "torch"),
        "HF_HOME": str(home / ".cache" / "huggingface"),
        "BS_INSTALL_DEPENDENCIES": "no",
        "BRAINSCORE_TRUST_REPO": "1",  # it can do no harm there
        "PYTHONDONTWRITEBYTECODE": "1",
        "BRAINSCORE_HOME": str(home / "brain-score") if network else "/tmp/brain-score",  # noqa: S108 - the same
    }
    # A separate environment has the same folders.
    if prepared.own_environment is None and "PYTHONPATH" in surroundings:
        variables["PYTHONPATH"] = surroundings["PYTHONPATH"]
    if outside := outside_folders(_LIBRARY):
        readable = readable_plugins(plugin_folder(prepared.model))
        shown = [str(place) for place in outside if any(folder.is_relative_to(place) for folder in readable)]
        variables[PLUGINS_VARIABLE] = os.pathsep.join(shown)
    if network:
        return variables
    variables |= {"BRAINSCORE_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": "/tmp/cache"}  # noqa: S108 - the same
    return variables
