"""Run other programs, bounded in time, memory and output, and end all their descendants."""

from brainscore_core.processes.runner import (
    MOST_SHOWN_BYTES,
    Captured,
    Ended,
    Program,
    RunOptions,
    Stopped,
    run_attached,
    run_bounded,
    run_captured,
    running,
    scrub,
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
