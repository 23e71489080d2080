"""Derive a plugin's result from its test outcomes: what failed, where, why, and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from brainscore_ci.reporting.results import MOST_FAILURES, MOST_SKIPS, Failure, PluginResult, SkippedTest, Status
from brainscore_core.testing.machine import SkipKind, kind_of_reason
from brainscore_core.untrusted import MOST_LINE

if TYPE_CHECKING:
    from brainscore_ci.planning.areas import PluginName
    from brainscore_core.testing.outcomes import TestOutcome

_LOCATION = re.compile(r"^(?P<file>[^\s:<>][^:\n]{0,400}\.py):(?P<line>\d{1,7}):", re.MULTILINE)
_SKIP_KINDS: tuple[tuple[str, SkipKind], ...] = (
    (r"private", "private"),
    (r"memory", "memory"),
    (r"slow", "slow"),
    (r"gpu|cuda", "gpu"),
    (r"network|offline|internet|download", "network"),
)
_FIXES = (
    (
        r"No module named '(?P<name>[\w.]{1,80})'",
        "add what provides {name!r} to requirements.txt of the plugin, or correct the import",
    ),
    (r"PrivateDataError", "mark the test with @pytest.mark.private_access, or use public data"),
    (
        r"DownloadError|ConnectionError|TimeoutError|URLError|gaierror",
        "mark the test with @pytest.mark.network, or test with data that are generated",
    ),
    (
        r"UnknownIdentifierError",
        "name an identifier that a plugin registers; nox -s plan shows what this change registers",
    ),
    (r"fixture '(?P<name>\w{1,80})' not found", "define the fixture {name!r} in test.py or in conftest.py beside it"),
    (r"SyntaxError|IndentationError", "correct the syntax; python -m compileall shows where"),
    (r"MemoryError|signal 9|Killed", "mark the test with @pytest.mark.memory_intense, or use less data"),
)


def from_outcomes(
    outcomes: Sequence[TestOutcome], plugin: PluginName, *, duration_s: float, reproduce: str = ""
) -> PluginResult:
    """Return a plugin's result; the first 100 failures and 500 skipped tests are kept in full."""
    failures = [outcome for outcome in outcomes if outcome.outcome in {"failed", "error"}]
    skipped = [outcome for outcome in outcomes if outcome.outcome in {"skipped", "deselected"}]
    n_errors = sum(outcome.outcome == "error" for outcome in failures)
    n_failed, n_passed = len(failures) - n_errors, len(outcomes) - len(failures) - len(skipped)
    status: Status = "error" if n_errors else "failed" if n_failed else "passed" if n_passed else "skipped"
    return PluginResult(
        plugin=plugin,
        status=status,
        n_passed=n_passed,
        n_failed=n_failed,
        n_errors=n_errors,
        n_skipped=len(skipped),
        duration_s=duration_s,
        failures=tuple(_failure(outcome, plugin) for outcome in failures[:MOST_FAILURES]),
        skipped=tuple(
            SkippedTest(test=outcome.test, reason=reason[:MOST_LINE], kind=_kind(reason))
            for outcome in skipped[:MOST_SKIPS]
            for reason in [outcome.reason.removeprefix("Skipped: ")]
        ),
        reproduce=reproduce[:MOST_LINE],
    )


def _failure(outcome: TestOutcome, plugin: PluginName) -> Failure:
    """Locate a failure: the last frame inside the plugin, else the last one in the repository."""
    places: list[tuple[str | None, int | None]]
    places = [(match["file"].replace("\\", "/"), int(match["line"])) for match in _LOCATION.finditer(outcome.traceback)]
    places = [place for place in places if not str(place[0]).startswith(("/", "../"))]
    own = [place for place in places if f"/{plugin}/" in f"/{place[0]}"]
    file, line = (own or places or [(outcome.file, outcome.line)])[-1]
    fix = _fix(f"{outcome.reason}\n{outcome.traceback}")
    return Failure(test=outcome.test, message=outcome.reason, file=file, line=line, fix=fix)


def _fix(text: str) -> str:
    for pattern, hint in _FIXES:
        match = re.search(pattern, text)
        if match:
            return hint.format(**match.groupdict())
    return ""


def _kind(reason: str) -> SkipKind:
    """Return the kind that a reason states, else guess it from the words."""
    kind = kind_of_reason(reason)
    if kind != "other" or reason.startswith("other: "):
        return kind
    return next((kind for pattern, kind in _SKIP_KINDS if re.search(pattern, reason, re.IGNORECASE)), "other")
