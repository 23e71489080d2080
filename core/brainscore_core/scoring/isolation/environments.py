"""Build a plugin's environment in a box: installing its requirements may run any code."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from brainscore_core.config import settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import RequirementsError
from brainscore_core.files import atomic_path, locked
from brainscore_core.plugin_management.environment import requirements_of
from brainscore_core.plugin_management.requirements import LAYER_MARKER
from brainscore_core.scoring.isolation.box import Box, interpreter_paths, run_boxed
from brainscore_core.scoring.isolation.handover import take_over

__all__ = ["boxed_python_for", "built_python_for"]

_LONGEST_S = 3600.0
_REFUSED = "Not installed: "
_BUILD = f"""
import sys
from pathlib import Path
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.environment import environment_for
try:
    bounded, *folders = sys.argv[1:]
    print(environment_for([Path(name) for name in folders], bounded=bounded == "True"))
except RequirementsError as error:
    sys.exit({_REFUSED!r} + str(error))
"""


def boxed_python_for(plugin_folders: Sequence[Path], *, hidden: tuple[Path, ...] = (), bounded: bool = True) -> Path:
    """Return an interpreter with plugins' requirements: this one, or one built in a box; see `environment_for`.

    The box has the network and sees only the library without the `hidden` folders, these plugins and the environment,
    which is then copied (`take_over`) and never writable to a box again. Each set of requirements has its own folder.
    """
    lines, missing = requirements_of(plugin_folders)
    if not missing:
        return Path(sys.executable)
    home = _home(lines, bounded=bounded)
    with locked(home):
        python = _python_of(home)
        if python is None:
            _build(home, plugin_folders, hidden, bounded=bounded)
            python = _python_of(home)
    if python is None:
        raise RequirementsError(f"Expected exactly one environment below {home}. Remove that folder and try again.")
    return python


def built_python_for(plugin_folders: Sequence[Path], *, bounded: bool = True) -> Path | None:
    """Return an environment that `boxed_python_for` built earlier, or None."""
    lines, missing = requirements_of(plugin_folders)
    return _python_of(_home(lines, bounded=bounded)) if missing else Path(sys.executable)


def _build(home: Path, plugin_folders: Sequence[Path], hidden: tuple[Path, ...], *, bounded: bool) -> None:
    shutil.rmtree(home, ignore_errors=True)  # of an interrupted attempt
    home.mkdir(mode=0o700, parents=True)
    try:
        _install(home, plugin_folders, hidden, bounded=bounded)
        # An environment holds its path: the copy has to be at that path.
        leftovers = home.with_name(f"{home.name}.left")
        shutil.rmtree(leftovers, ignore_errors=True)
        home.rename(leftovers)
        take_over(leftovers, home)
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    for folder in _environments(home):
        for name in ("python", "python3", f"python3.{sys.version_info.minor}"):  # links do not arrive
            (folder / "bin" / name).unlink(missing_ok=True)
            (folder / "bin" / name).symlink_to(sys.executable)
        if not (folder / "lib64").exists():
            (folder / "lib64").symlink_to("lib")
    with atomic_path(_marker(home)) as temporary:
        temporary.touch()


def _install(home: Path, plugin_folders: Sequence[Path], hidden: tuple[Path, ...], *, bounded: bool) -> None:
    surroundings = environment_of(os.environ)
    ended = run_boxed(
        [sys.executable, "-c", _BUILD, str(bounded), *plugin_folders],
        Box(
            readable=(*interpreter_paths(), *plugin_folders),
            writable=(home,),
            hidden=hidden,
            network=True,
            environment={**surroundings, "BRAINSCORE_HOME": str(home), "HOME": str(home), "TMPDIR": str(home)},
        ),
        timeout_s=_LONGEST_S,
    )
    if ended.problem is None:
        return
    _, is_refused, why = ended.output.rpartition(_REFUSED)
    if is_refused:
        raise RequirementsError(why.strip())
    names = " and ".join(folder.name for folder in plugin_folders)
    raise RequirementsError(f"The requirements of {names} cannot be installed into an environment.\n{ended}")


def _home(lines: Sequence[str], *, bounded: bool) -> Path:
    key = hashlib.sha256("\0".join([*lines, *([] if bounded else ["unbounded"])]).encode()).hexdigest()[:32]
    return settings().cache_home.resolve() / "boxed-environments" / key


def _marker(home: Path) -> Path:
    """Return the file that marks an environment as ours, where strangers cannot write."""
    return home.with_name(f"{home.name}.built")


def _environments(home: Path) -> list[Path]:
    return [marker.parent for marker in (home / "cache" / "environments").glob(f"*/{LAYER_MARKER}")]


def _python_of(home: Path) -> Path | None:
    built = _environments(home) if _marker(home).is_file() else []
    return built[0] / "bin" / "python" if len(built) == 1 else None
