"""Hold the settings of the library; the only reader of its environment variables.

Others' variables (credentials, proxies, GitHub's) are read where they are used.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast, get_args

from brainscore_core.errors import ConfigurationError

__all__ = [
    "PLUGINS_VARIABLE",
    "InstallMode",
    "Settings",
    "available_memory",
    "installing_nothing",
    "memory_budget",
    "plugin_paths",
    "settings",
]

InstallMode = Literal["yes", "no", "newenv"]
PLUGINS_VARIABLE = "BRAINSCORE_PLUGINS"
_OFFLINE = ("", "0", "1", "data")
_INSTALL_VARIABLE = "BS_INSTALL_DEPENDENCIES"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One reading of the environment.

    Attributes
    ----------
    home
        ``BRAINSCORE_HOME``, default ``~/.brain-score``: weights, converted stimuli, score records.
    data_home
        ``BRAINIO_HOME``, default ``~/.brainio``: downloaded stimulus sets and assemblies.
    cache_home
        ``BRAINSCORE_HOME/cache`` if that variable is set, otherwise the platform's cache folder for ``brainscore``:
        everything that can be computed again.
    install_dependencies : {'yes', 'no', 'newenv'}
        ``BS_INSTALL_DEPENDENCIES``: whether requirements of plugins are installed, and where.
    caching_disabled
        ``RESULTCACHING_DISABLE`` is ``1``: recompute everything. Its published list form is ignored.
    s3_weight_folder
        ``BRAINSCORE_S3_WEIGHT_FOLDER``, default ``models``.
    offline
        ``BRAINSCORE_OFFLINE`` is ``1`` or ``data``: fetch neither data nor weights; use the cache and mirror.
    installer_offline
        ``BRAINSCORE_OFFLINE`` is ``1``: never use the network, not even to install requirements.
    mirror
        ``BRAINSCORE_MIRROR``: a folder with copies of files in S3 as ``<bucket>/<key>``, asked before S3.
    images
        ``BRAINSCORE_IMAGES``: a folder of images that may not be passed on, by stimulus set.
    memory_map
        ``BRAINSCORE_MEMORY_MAP`` is ``1``: values of assemblies stay on disk and are read on demand.
    array_backend
        ``BRAINSCORE_ARRAY_BACKEND``, default ``numpy``: library that computes the metrics, such as ``torch:cuda``; a
        metric's argument takes precedence.
    memory_gb
        ``BRAINSCORE_MEMORY_GB``: larger activations lie in a file; GB (10^9 bytes), greater than 0. None: see
        `memory_budget`.
    cache_gb
        ``BRAINSCORE_CACHE_GB``: limit of cached activations, and again of kept answers of models in boxes, in GB (10^9
        bytes), greater than 0. None: a quarter of the disk.
    lock_s
        ``BRAINSCORE_LOCK_S``, default 28800 (8 hours, longer than any download may take): wait that long for another
        process that makes the same file or environment, s.
    trusts_repositories
        ``BRAINSCORE_TRUST_REPO`` is ``1``: run the code of any repository that a ``torchhub:`` name names, unasked.
    device
        ``BRAINSCORE_DEVICE``: where networks run, such as ``cuda:1``. None: a GPU if CUDA has one, otherwise the CPU. A
        model's argument takes precedence.
    progress
        ``BRAINSCORE_PROGRESS``: ``1`` shows progress bars, ``0`` shows none. None: at a terminal and in a notebook.
    on_ci
        ``CI`` is set, as continuous integration does (unless to ``0`` or ``false``): no person sits at this machine.
    """

    home: Path
    data_home: Path
    cache_home: Path
    install_dependencies: InstallMode
    caching_disabled: bool
    s3_weight_folder: str
    offline: bool
    installer_offline: bool
    mirror: Path | None = None
    images: Path | None = None
    memory_map: bool = False
    array_backend: str = "numpy"
    memory_gb: float | None = None
    cache_gb: float | None = None
    lock_s: float = 8 * 3600.0
    trusts_repositories: bool = False
    device: str | None = None
    progress: bool | None = None
    on_ci: bool = False


def settings() -> Settings:
    """Read the environment; raise `ConfigurationError` for a value without meaning."""
    environment = os.environ
    home = environment.get("BRAINSCORE_HOME")
    mirror = environment.get("BRAINSCORE_MIRROR")
    images = environment.get("BRAINSCORE_IMAGES")
    mode = environment.get(_INSTALL_VARIABLE, "yes")
    if mode not in get_args(InstallMode):
        raise ConfigurationError(
            f"BS_INSTALL_DEPENDENCIES is {mode!r}; expected 'yes' (install a plugin's requirements), 'no' or 'newenv'."
        )
    offline = environment.get("BRAINSCORE_OFFLINE", "")
    if offline not in _OFFLINE:
        raise ConfigurationError(
            f"BRAINSCORE_OFFLINE is {offline!r}; expected '1' (never touch the network), 'data' (fetch neither data "
            "nor weights, but install the requirements of plugins) or '0'."
        )
    if home:
        cache = _path(home) / "cache"
    else:
        from platformdirs import user_cache_path  # not needed when BRAINSCORE_HOME is set

        cache = user_cache_path("brainscore", appauthor=False)
    return Settings(
        home=_path(home) if home else Path.home() / ".brain-score",
        data_home=_path(environment.get("BRAINIO_HOME") or "~/.brainio"),
        cache_home=cache,
        install_dependencies=cast("InstallMode", mode),
        caching_disabled=environment.get("RESULTCACHING_DISABLE") == "1",
        s3_weight_folder=environment.get("BRAINSCORE_S3_WEIGHT_FOLDER", "models"),
        offline=offline in ("1", "data"),
        installer_offline=offline == "1",
        mirror=_path(mirror) if mirror else None,
        images=_path(images) if images else None,
        memory_map=environment.get("BRAINSCORE_MEMORY_MAP") == "1",
        array_backend=environment.get("BRAINSCORE_ARRAY_BACKEND") or "numpy",
        memory_gb=_above_0("BRAINSCORE_MEMORY_GB"),
        cache_gb=_above_0("BRAINSCORE_CACHE_GB"),
        lock_s=_above_0("BRAINSCORE_LOCK_S", "seconds above 0, such as 60 or 28800") or Settings.lock_s,
        trusts_repositories=environment.get("BRAINSCORE_TRUST_REPO") == "1",
        device=environment.get("BRAINSCORE_DEVICE") or None,
        progress={"1": True, "0": False}.get(environment.get("BRAINSCORE_PROGRESS", "")),
        on_ci=environment.get("CI", "").lower() not in ("", "0", "false"),
    )


@contextmanager
def installing_nothing() -> Iterator[None]:
    """Let plugins be imported within the block without installing their requirements."""
    earlier = os.environ.get(_INSTALL_VARIABLE)
    os.environ[_INSTALL_VARIABLE] = "no"
    try:
        yield
    finally:
        if earlier is None:
            del os.environ[_INSTALL_VARIABLE]
        else:
            os.environ[_INSTALL_VARIABLE] = earlier


def plugin_paths() -> tuple[str, Sequence[Path]]:
    """Return where paths of plugins outside the library are named, for messages, and the paths.

    They are those of ``BRAINSCORE_PLUGINS``, separated as in ``PATH``; if unset, of ``plugins`` in
    ``[tool.brainscore]`` of the nearest ``pyproject.toml`` above the working folder that has this key, relative to that
    file.
    """
    named = os.environ.get(PLUGINS_VARIABLE)
    if named is not None:
        return f"{PLUGINS_VARIABLE} (--plugins)", [_path(path) for path in named.split(os.pathsep) if path]
    try:
        here = Path.cwd()
    except FileNotFoundError:  # removed
        return "", ()
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        try:
            paths = _plugins_key(file, file.read_bytes())
        except OSError:
            continue
        if paths is not None:
            return f"[tool.brainscore] plugins of {file}", [folder / Path(path).expanduser() for path in paths]
    return "", ()


@lru_cache(maxsize=64)
def _plugins_key(file: Path, content: bytes) -> tuple[str, ...] | None:
    import tomllib  # only needed if there is such a file

    try:
        paths = tomllib.loads(content.decode()).get("tool", {}).get("brainscore", {}).get("plugins")
    except (ValueError, AttributeError):  # the program that owns the file reports this
        return None
    if paths is not None and not (isinstance(paths, list) and all(isinstance(path, str) for path in paths)):
        raise ConfigurationError(f"[tool.brainscore] plugins of {file} is {paths!r}; expected a list of paths.")
    return None if paths is None else tuple(paths)


def memory_budget() -> int:
    """Return how many bytes an array may take: ``BRAINSCORE_MEMORY_GB``, or a quarter of `available_memory`."""
    limit_gb = settings().memory_gb
    if limit_gb is not None:
        return int(limit_gb * 1e9)
    return available_memory() // 4


def available_memory() -> int:
    """Return the bytes of memory of this machine, or of its container (cgroup version 1 or 2) if that has less."""
    limits = [_machine_memory()]
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # no such cgroup, or "max"
            limits.append(int(path.read_text()))
    return min(limits)


_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNKNOWN_MACHINE = 16 * 10**9


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf, others may lack these names
        return _UNKNOWN_MACHINE


def _above_0(name: str, unit: str = "GB (10^9 bytes) above 0, such as 8 or 0.5") -> float | None:
    text = os.environ.get(name)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ConfigurationError(f"{name} is {text!r}; expected a number of {unit}.")
    return number


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()
