"""Build the environment of a plugin in a box: its requirements may run any code during installation."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from brainscore_core.config import settings
from brainscore_core.credentials import environment_of
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.environment import requirements_of
from brainscore_core.plugin_management.requirements import LAYER_MARKER
from brainscore_core.scoring.isolation.box import Box, run_boxed
from brainscore_core.scoring.isolation.interpreter import interpreter_paths

__all__ = ["boxed_python_for", "built_python_for"]

_LONGEST_S = 3600.0
_REFUSED = "Not installed: "
_BUILD = f"""
import sys
from pathlib import Path
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.environment import environment_for
try:
    print(environment_for([Path(name) for name in sys.argv[1:]]))
except RequirementsError as error:
    sys.exit({_REFUSED!r} + str(error))
"""


def boxed_python_for(plugin_folders: Sequence[Path]) -> Path:
    """Return an interpreter that has what some plugins require: this one if it has, else that of an environment.

    The environment is that of `plugin_management.environment.environment_for`, built in a box that has the network, and
    sees nothing but the library, the plugins and the environment. Each set of requirements has a folder of its own, so
    that what is installed for one changes nothing of another.

    Parameters
    ----------
    plugin_folders : sequence of Path
        The plugins that shall work there together.

    Raises
    ------
    RequirementsError
        If the requirements cannot be read or installed.
    IsolationError
        If there is no box here.
    """
    lines, missing = requirements_of(plugin_folders)
    if not missing:
        return Path(sys.executable)
    home = _home(lines)
    home.mkdir(parents=True, exist_ok=True)
    surroundings = environment_of(os.environ)
    ended = run_boxed(
        [sys.executable, "-c", _BUILD, *plugin_folders],
        Box(
            readable=(*interpreter_paths(), *plugin_folders),
            writable=(home,),
            network=True,
            environment={**surroundings, "BRAINSCORE_HOME": str(home), "HOME": str(home), "TMPDIR": str(home)},
        ),
        timeout_s=_LONGEST_S,
    )
    if ended.problem is not None:
        names = " and ".join(folder.name for folder in plugin_folders)
        _, is_refused, why = ended.output.rpartition(_REFUSED)
        if is_refused:
            raise RequirementsError(why.strip())
        raise RequirementsError(f"What {names} require cannot be installed into an environment.\n{ended}")
    return _below(home, ended.tail.rpartition("\n")[2])


def built_python_for(plugin_folders: Sequence[Path]) -> Path | None:
    """Return what `boxed_python_for` has returned before, and build nothing; None if it is not known which that was.

    Raises
    ------
    RequirementsError
        If the requirements cannot be read.
    """
    lines, missing = requirements_of(plugin_folders)
    if not missing:
        return Path(sys.executable)
    environments = _home(lines) / "cache" / "environments"
    built = [folder.parent for folder in environments.glob(f"*/{LAYER_MARKER}")]
    return built[0] / "bin" / "python" if len(built) == 1 else None


def _home(lines: Sequence[str]) -> Path:
    key = hashlib.sha256("\0".join(lines).encode()).hexdigest()[:32]
    return settings().cache_home / "boxed-environments" / key


def _below(home: Path, said: str) -> Path:
    """Return the interpreter that was built below a folder; where it lies is said, and made, by strangers' code too."""
    folder = Path(said).parent.parent
    environments = home / "cache" / "environments"
    # A link would expose its target to the boxes that use it.
    if folder.parent != environments or folder.resolve() != environments.resolve() / folder.name:
        raise RequirementsError(f"{said!a} is no environment below {environments}. Remove {home} and try again.")
    return folder / "bin" / "python"
