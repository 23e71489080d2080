"""Describe the machine a result was computed on."""

from __future__ import annotations

import platform
import sys

__all__ = ["machine", "peak_memory_bytes"]


def machine() -> str:
    """Return operating system and processor architecture, such as ``'Linux-x86_64'``."""
    return f"{platform.system()}-{platform.machine()}"


def peak_memory_bytes() -> int | None:
    """Return the peak memory of this process in bytes; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
