"""Run the process of some tests, and say in words how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

__all__ = ["Ended", "run_tests"]

MOST_SHOWN_BYTES = 4 * 2**20
_DRAIN_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a process ended.

    Attributes
    ----------
    status : int
        Exit status; a negative number is the signal that ended it.
    timed_out : float or None
        The seconds after which it was ended; None if it ended by itself.
    """

    status: int
    timed_out: float | None = None

    @property
    def problem(self) -> str | None:
        """What went wrong, where it is not just tests that failed."""
        if self.timed_out is not None:
            return f"the tests did not end within {self.timed_out / 60:.1f} minutes and were stopped"
        if self.status < 0:
            name = signal.Signals(-self.status).name if -self.status in set(signal.Signals) else "unknown"
            hint = ", as happens when there is not enough memory" if name == "SIGKILL" else ""
            return f"the interpreter crashed: signal {-self.status} ({name}){hint}"
        return None


def run_tests(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path,
    timeout_s: float | None = None,
    show: Callable[[str], object] | None = None,
) -> Ended:
    """Run a process to its end, or until it takes too long.

    Parameters
    ----------
    command : sequence of str
    environment : mapping of str to str
        All of its environment variables.
    folder : Path
        Where to start it.
    timeout_s : float, optional
        After which it is ended, together with what it started.
    show : callable, optional
        Takes each line of output, without its end, as long as there are not more than 4 MiB; None: output and input
        are those of this process.
    """
    if show is None:
        return Ended(status=subprocess.run(command, env=environment, cwd=folder, check=False).returncode)  # noqa: S603 - an interpreter and files that callers found
    process = subprocess.Popen(  # noqa: S603 - see above
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    # Read beside, and never wait for the end of the output: something left running may hold it open for ever.
    reader = threading.Thread(target=_pass_on, args=(process.stdout, show), daemon=True)
    reader.start()
    timed_out = None
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = timeout_s
    finally:
        _end_all(process)
        status = process.wait()
        reader.join(_DRAIN_S)
    return Ended(status=status, timed_out=timed_out)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started and left running."""
    if os.name == "nt":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _pass_on(stream: IO[bytes] | None, show: Callable[[str], object]) -> None:
    shown = 0
    for line in iter(lambda: stream.readline(2**16) if stream else b"", b""):
        shown += len(line)
        if shown <= MOST_SHOWN_BYTES:
            show(line.decode("utf-8", errors="replace").rstrip("\r\n"))
        elif shown - len(line) <= MOST_SHOWN_BYTES:
            show("[there is more output, which is not shown]")
