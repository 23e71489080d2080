"""Run a program and keep the end of what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Finished", "run_program"]


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a program ended.

    Attributes
    ----------
    command : tuple of str
        The program and its arguments.
    status : int
        Exit status; 0 is success, a negative number the signal that ended it.
    tail : str
        The last lines of standard output and standard error together.
    """

    command: tuple[str, ...]
    status: int
    tail: str

    def __str__(self) -> str:
        return f"command: {' '.join(self.command)}\nexit status: {self.status}\nlast lines of output:\n{self.tail}"


def run_program(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    most_lines: int = 20,
    echo: bool = False,
) -> Finished:
    """Run a program to its end, without a shell and without input.

    Parameters
    ----------
    command : sequence of str or Path
        The program and its arguments.
    environment : mapping of str to str, optional
        Variables to set besides those of this process.
    most_lines : int
        How many lines of output to keep.
    echo : bool
        Whether to pass the output on to standard error while the program runs.
    """
    arguments = tuple(str(argument) for argument in command)
    lines: deque[str] = deque(maxlen=most_lines)
    with subprocess.Popen(  # noqa: S603  # no shell; callers name programs of their own
        arguments,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                lines.append(line.rstrip())
                if echo:
                    sys.stderr.write(line)
        except BaseException:
            process.kill()
            raise
    return Finished(command=arguments, status=process.returncode, tail="\n".join(lines))
