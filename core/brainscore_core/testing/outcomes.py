"""Store the results of a plugin's tests; the file comes from the process that ran them, so it may hold anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, Strict, TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.files import atomic_path
from brainscore_core.testing.machine import SkipKind, kind_of_reason
from brainscore_core.untrusted import (
    MOST_MESSAGE,
    MOST_NAME,
    Count,
    Message,
    Name,
    PathText,
    Untrusted,
    at_most,
    read,
    read_start,
    text,
)

Outcome = Literal["passed", "failed", "error", "skipped", "deselected"]
Part = Literal["contract", "test.py"]
MOST_TESTS = 50_000
_MOST_TOLD, _MOST_TRACEBACK = 100, 16 * MOST_MESSAGE  # failures reported in full, and characters of each


@dataclass(frozen=True, kw_only=True)
class TestOutcome(Untrusted):
    """Result of one test."""

    __test__ = False  # despite its name, not a test

    test: Name  # name within the file, such as ``'TestCeiling::test_value[V1]'``
    part: Part  # whether it belongs to the contract of the plugin's kind or to the plugin's own tests
    outcome: Outcome  # 'error' if it could not run, 'deselected' by ``-k`` or ``-m``
    seconds: Annotated[float, Strict(), Field(ge=0, le=1e7)] = 0.0  # including set-up
    reason: Message = ""  # of the skip, or text of the error
    file: PathText | None = None
    line: Count | None = None
    traceback: Annotated[str, text(_MOST_TRACEBACK)] = ""  # as printed by pytest, for the first failures

    @property
    def kind(self) -> SkipKind:
        """Kind of the skip reason."""
        return kind_of_reason(self.reason)


_OUTCOMES = TypeAdapter(Annotated[tuple[TestOutcome, ...], at_most(MOST_TESTS)])


def write_outcomes(path: Path, outcomes: Iterable[TestOutcome]) -> None:
    """Write outcomes as JSON, atomically; long texts are cut."""
    entries, n_tracebacks = [], 0
    for outcome in outcomes:
        n_tracebacks += bool(outcome.traceback)
        traceback = outcome.traceback[-_MOST_TRACEBACK:] if n_tracebacks <= _MOST_TOLD else ""
        short = replace(outcome, test=outcome.test[:MOST_NAME], reason=outcome.reason[:MOST_MESSAGE])
        entries.append(asdict(replace(short, traceback=traceback)))
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(entries) + "\n", encoding="utf-8")


def read_outcomes(path: Path) -> tuple[TestOutcome, ...]:
    """Read what `write_outcomes` wrote; `CorruptFileError` if the file is absent or holds anything else."""
    try:
        if not path.is_file():  # regular files only, whatever the tests put there
            raise FileNotFoundError(path)
        return read(_OUTCOMES, read_start(path), "outcomes")
    except OSError as error:  # CorruptFileError is an OSError too
        raise CorruptFileError(f"{path} is not a valid file of test outcomes: {error} Run the tests again.") from error
