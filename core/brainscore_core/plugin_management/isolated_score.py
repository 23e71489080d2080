"""Score a pair in an environment and a process of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from brainscore_core.errors import BrainScoreError
from brainscore_core.plugin_management.environment import environment_for, run_in_environment

__all__ = ["isolated_score"]

Record = TypeVar("Record")


def isolated_score(
    library: str,
    model_identifier: str,
    benchmark_identifier: str,
    *,
    plugin_folders: Sequence[Path],
    record_path: Path,
    read: Callable[[Path], Record],
) -> Record:
    """Score a model on a benchmark in an environment that has what their plugins require.

    Runs ``python -m <library> score`` there, which installs into that environment what further plugins (a metric, a
    data set) require.

    Parameters
    ----------
    library : str
        Package with the command line, such as ``'mylibrary'``.
    model_identifier, benchmark_identifier : str
        What to score.
    plugin_folders : sequence of Path
        Folders of the plugins whose requirements the environment shall have.
    record_path : Path
        Where the program shall write its record.
    read : callable
        Reads the record back from that path.

    Returns
    -------
    Record
        What ``read`` returns.

    Raises
    ------
    RequirementsError
        If the environment cannot be made.
    BrainScoreError
        If the program fails, with its command, exit status and last lines.
    """
    record_path = record_path.absolute()
    finished = run_in_environment(
        environment_for(plugin_folders),
        [
            *("-m", library, "score"),
            f"--model_identifier={model_identifier}",
            f"--benchmark_identifier={benchmark_identifier}",
            *("--record", record_path),
        ],
        environment={"BS_INSTALL_DEPENDENCIES": "yes"},
    )
    if finished.status != 0:
        raise BrainScoreError(
            f"Scoring {model_identifier} on {benchmark_identifier} in an environment of its own failed.\n{finished}"
        )
    return read(record_path)
