"""Run other programs, bounded in time, memory and output, and end all their descendants."""

from brainscore_core.processes.output import MOST_SHOWN_BYTES, scrub
from brainscore_core.processes.runner import (
    Captured,
    Ended,
    Program,
    RunOptions,
    Stopped,
    run_attached,
    run_bounded,
    run_captured,
    running,
)

__all__ = [
    "MOST_SHOWN_BYTES",
    "Captured",
    "Ended",
    "Program",
    "RunOptions",
    "Stopped",
    "run_attached",
    "run_bounded",
    "run_captured",
    "running",
    "scrub",
]
