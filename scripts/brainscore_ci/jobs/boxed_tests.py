"""Define the box for a plugin's tests in a job: the checkout, their requirements, and a home of their own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.files import LOCKS
from brainscore_core.scoring.isolation.box import Box, interpreter_paths

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin


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
    """Return the box for a plugin's tests, which share no writable folder with other plugins.

    Parameters
    ----------
    repository
        Top folder of the checkout, read-only.
    own
        Temporary folder for their home, files and outcomes.
    data
        Public data, or a copy of the private data they need. They see links to these files in their own folder,
        where they may add others.
    network
        Whether they have network; never with private data.
    """
    own, data = own.resolve(), data.resolve()
    home = own / "home"
    home.mkdir(parents=True, exist_ok=True)
    (data / LOCKS).mkdir(parents=True, exist_ok=True)  # or it would be in sight when it is made later
    own_data = own / "data"
    if not own_data.exists():
        shutil.copytree(data, own_data, symlinks=True, copy_function=os.symlink, ignore=shutil.ignore_patterns(LOCKS))
    # Somebody could replace shared byte code; that of installed packages lies beside them.
    variables = {name: value for name, value in environment.items() if name != "PYTHONPYCACHEPREFIX"}
    homes = {"HOME": home, "BRAINSCORE_HOME": home, "TMPDIR": own, "BRAINIO_HOME": own_data}
    here = (repository, plugin.root.path, plugin.directory)
    return Box(
        readable=(data, *(path.resolve() for path in here), *interpreter_paths(python)),
        writable=(own,),
        network=network,
        environment={**variables, **{name: str(path) for name, path in homes.items()}},
        folder=repository.resolve(),
    )
