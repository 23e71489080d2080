"""Record the results of tests while pytest runs."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.testing.outcomes import Outcome, Part, TestOutcome, write_outcomes
from brainscore_core.testing.plugin_session import CONTRACT_FILE

if TYPE_CHECKING:
    import pytest

_MOST_REASON = 4_000  # characters


class Recorder:
    """Writes the results of the tests to a file when pytest ends by itself."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._phases: dict[str, list[pytest.TestReport]] = {}
        self._others: list[TestOutcome] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a phase of a test: set-up, call, tear-down."""
        self._phases.setdefault(report.nodeid, []).append(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record what cannot be collected."""
        if report.outcome != "passed":
            self._others.append(_of_report(report, "skipped" if report.skipped else "error"))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Record deselected tests, which pytest-xdist does not report."""
        self._others += [_outcome(item.nodeid, "deselected") for item in items]

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        write_outcomes(self._file, [*self._others, *(_of_phases(phases) for phases in self._phases.values())])


def _of_phases(phases: list[pytest.TestReport]) -> TestOutcome:
    bad = [phase for phase in phases if phase.failed]
    skipped = [phase for phase in phases if phase.skipped]
    seconds = max(0.0, sum(phase.duration for phase in phases))
    if bad:
        return _of_report(bad[0], "failed" if any(phase.when == "call" for phase in bad) else "error", seconds)
    if skipped:
        return _of_report(skipped[0], "skipped", seconds)
    return _outcome(phases[0].nodeid, "passed", seconds, phases[0].keywords)


def _of_report(report: pytest.TestReport | pytest.CollectReport, outcome: Outcome, seconds: float = 0.0) -> TestOutcome:
    file, line, _ = report.location or (None, None, "")
    return replace(
        _outcome(report.nodeid, outcome, seconds, getattr(report, "keywords", ())),
        reason=_reason(report),
        file=file,
        line=None if line is None else line + 1,  # pytest counts from 0 here
        traceback=report.longreprtext if outcome != "skipped" else "",
    )


def _outcome(nodeid: str, outcome: Outcome, seconds: float = 0.0, keywords: Container[str] = ()) -> TestOutcome:
    file, _, test = nodeid.partition("::")
    part: Part = "contract" if file.endswith(CONTRACT_FILE) or "contract" in keywords else "test.py"
    return TestOutcome(test=test or file, part=part, outcome=outcome, seconds=seconds)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if hasattr(report, "wasxfail"):
        return f"other: expected to fail: {report.wasxfail}"
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return str(longrepr[2])
    crash = getattr(longrepr, "reprcrash", None)
    return str(crash.message) if crash is not None else str(longrepr or "").strip()[-_MOST_REASON:]
