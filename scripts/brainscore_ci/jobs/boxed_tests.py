"""Say what the tests of a plugin see in a job: the checkout, what they require, and a home of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.scoring.isolation.box import Box
from brainscore_core.scoring.isolation.interpreter import interpreter_paths

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["box_of_tests"]


def box_of_tests(
    plugin: Plugin,
    *,
    repository: Path,
    python: Path,
    own: Path,
    data: Path,
    environment: Mapping[str, str],
    network: bool,
) -> Box:
    """Return the box for the tests of a plugin; nothing that they leave is found by those of another.

    Parameters
    ----------
    repository : Path
        Top folder of the checkout, which cannot be changed.
    python : Path
        Interpreter of the environment that has what the plugin requires.
    own : Path
        Folder for what the tests write, which is removed after them: their home, temporary files and outcomes.
    data : Path
        The data that they see and can add to: those that everybody may have, or a copy of the private ones they need.
    environment : mapping of str to str
        Without credentials.
    network : bool
        Whether they have one; never where they see private data.
    """
    home = own / "home"
    for folder in (home, data):
        folder.mkdir(parents=True, exist_ok=True)
    # Byte code that is shared could be replaced by somebody's; that of installed packages lies beside them.
    kept = {name: value for name, value in environment.items() if name != "PYTHONPYCACHEPREFIX"}
    homes = {"HOME": home, "BRAINSCORE_HOME": home, "TMPDIR": own, "BRAINIO_HOME": data}
    return Box(
        readable=(repository, plugin.root.path, plugin.directory, *interpreter_paths(python)),
        writable=(own, data),
        network=network,
        environment={**kept, **{name: str(path) for name, path in homes.items()}},
        folder=repository,
    )
