"""Hold the settings of the library; the only reader of its environment variables.

What others set is read where it is used: credentials, proxies and what GitHub tells a job about itself.
Settings are read when they are needed (`settings()`), never at import, so that a changed environment takes effect at
once and a test can set its own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from brainscore_core.errors import ConfigurationError

__all__ = ["InstallMode", "Settings", "settings"]

InstallMode = Literal["yes", "no", "newenv"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One reading of the environment.

    Attributes
    ----------
    home : Path
        ``BRAINSCORE_HOME``, default ``~/.brain-score``: weights, converted stimuli, score records.
    data_home : Path
        ``BRAINIO_HOME``, default ``~/.brainio``: downloaded stimulus sets and assemblies.
    cache_home : Path
        ``BRAINSCORE_HOME/cache`` if that variable is set, else the platform's cache folder for ``brainscore``:
        everything that can be made again (plugin index, activations, ceilings, generated data).
    install_dependencies : {'yes', 'no', 'newenv'}
        ``BS_INSTALL_DEPENDENCIES``: whether requirements of plugins are installed, and where.
    caching_disabled : bool
        ``RESULTCACHING_DISABLE`` is ``1``: compute everything anew. (Its list form names modules of the published
        system and is ignored.)
    s3_weight_folder : str
        ``BRAINSCORE_S3_WEIGHT_FOLDER``, default ``models``.
    offline : bool
        ``BRAINSCORE_OFFLINE`` is ``1``: never touch the network, use what is cached and what the mirror holds.
    mirror : Path, optional
        ``BRAINSCORE_MIRROR``: a folder that holds copies of files in S3 as ``<bucket>/<key>``. It is asked before S3;
        digests are verified all the same. Together with ``BRAINSCORE_OFFLINE=1`` it serves machines without network.
        None: there is no such folder.
    memory_map : bool
        ``BRAINSCORE_MEMORY_MAP`` is ``1``: values of assemblies stay on the disk, uncompressed, and only what is used
        is read, for assemblies larger than the memory.
    array_backend : str
        ``BRAINSCORE_ARRAY_BACKEND``, default ``numpy``: what computes the metrics; ``torch``, ``torch:cuda`` or
        ``torch:mps`` where a domain offers them. An argument of a metric takes precedence.
    """

    home: Path
    data_home: Path
    cache_home: Path
    install_dependencies: InstallMode
    caching_disabled: bool
    s3_weight_folder: str
    offline: bool
    mirror: Path | None = None
    memory_map: bool = False
    array_backend: str = "numpy"


def settings() -> Settings:
    """Read the environment.

    Raises
    ------
    ConfigurationError
        If ``BS_INSTALL_DEPENDENCIES`` is none of ``yes``, ``no``, ``newenv``.
    """
    environment = os.environ
    home = environment.get("BRAINSCORE_HOME")
    mirror = environment.get("BRAINSCORE_MIRROR")
    mode = environment.get("BS_INSTALL_DEPENDENCIES", "yes")
    if mode not in get_args(InstallMode):
        raise ConfigurationError(
            f"BS_INSTALL_DEPENDENCIES is {mode!r}; expected 'yes' (install what a plugin requires), 'no' or 'newenv'."
        )
    return Settings(
        home=_path(home) if home else Path.home() / ".brain-score",
        data_home=_path(environment.get("BRAINIO_HOME") or "~/.brainio"),
        cache_home=_path(home) / "cache" if home else _platform_cache(),
        install_dependencies=cast("InstallMode", mode),
        caching_disabled=environment.get("RESULTCACHING_DISABLE") == "1",
        s3_weight_folder=environment.get("BRAINSCORE_S3_WEIGHT_FOLDER", "models"),
        offline=environment.get("BRAINSCORE_OFFLINE") == "1",
        mirror=_path(mirror) if mirror else None,
        memory_map=environment.get("BRAINSCORE_MEMORY_MAP") == "1",
        array_backend=environment.get("BRAINSCORE_ARRAY_BACKEND") or "numpy",
    )


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _platform_cache() -> Path:
    from platformdirs import user_cache_path  # not needed when BRAINSCORE_HOME is set

    return user_cache_path("brainscore", appauthor=False)
