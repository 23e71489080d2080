"""Published domains import this from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from brainscore_core.metrics import Score


def wrap_score(
    library_path: str | Path,  # noqa: ARG001 - the published signature
    model_identifier: str,
    benchmark_identifier: str,
    score_function: Callable[[str, str], Score],
    conda_active: bool = False,  # noqa: ARG001 - the published signature
) -> Score:
    """Return ``score_function(model_identifier, benchmark_identifier)``, in this process and without writing a file."""
    return score_function(model_identifier, benchmark_identifier)
