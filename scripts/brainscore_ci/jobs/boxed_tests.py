"""Define the box for a plugin's tests in a job: the checkout, their requirements, and a home of their own."""

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
    """Return the box for the tests of a plugin; they share no writable folder with other plugins except public data.

    Parameters
    ----------
    repository : Path
        Top folder of the checkout, read-only.
    python : Path
        Interpreter with the plugin's requirements.
    own : Path
        Temporary folder for their home, files and outcomes.
    data : Path
        Data they can read and extend: public data, or a copy of the private data they need.
    environment : mapping of str to str
        Environment variables without credentials.
    network : bool
        Whether they have network; never with private data.
    """
    home = own / "home"
    for folder in (home, data):
        folder.mkdir(parents=True, exist_ok=True)
    # Somebody could replace shared byte code; that of installed packages lies beside them.
    variables = {name: value for name, value in environment.items() if name != "PYTHONPYCACHEPREFIX"}
    homes = {"HOME": home, "BRAINSCORE_HOME": home, "TMPDIR": own, "BRAINIO_HOME": data}
    return Box(
        readable=(repository, plugin.root.path, plugin.directory, *interpreter_paths(python)),
        writable=(own, data),
        network=network,
        environment={**variables, **{name: str(path) for name, path in homes.items()}},
        folder=repository,
    )
