"""Format the results of plugin tests as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

from brainscore_core.testing.outcomes import Part, TestOutcome

_MOST_NAMES, _MOST_REASONS, _N_SLOWEST, _NOTABLE_S = 3, 8, 3, 1.0


def is_untested(outcomes: Sequence[TestOutcome]) -> bool:
    """Whether tests were skipped and none ran."""
    return {outcome.outcome for outcome in outcomes} in ({"skipped"}, {"skipped", "deselected"})


def format_table(results: Mapping[str, Sequence[TestOutcome]]) -> str:
    """Return a row for each plugin and part, the reasons of skipped tests, and the slowest tests."""
    rows = [("plugin", "part", "passed", "failed", "skipped", "time")]
    for plugin, outcomes in results.items():
        for part in get_args(Part):
            group = [outcome for outcome in outcomes if outcome.part == part]
            if group:
                rows.append((plugin, part, *_numbers(group)))
    lines = _aligned(rows)
    for plugin, outcomes in results.items():
        lines += [f"{plugin}: {line}" for line in _skips(outcomes)]
        slow = sorted((test for test in outcomes if test.seconds >= _NOTABLE_S), key=lambda test: -test.seconds)
        if slow:
            slowest = ", ".join(f"{outcome.test} {outcome.seconds:.1f} s" for outcome in slow[:_N_SLOWEST])
            lines.append(f"{plugin}: slowest: {slowest}")
    return "\n".join(lines)


def _numbers(outcomes: Sequence[TestOutcome]) -> tuple[str, str, str, str]:
    counts = Counter(outcome.outcome for outcome in outcomes)
    failed, skipped = counts["failed"] + counts["error"], counts["skipped"] + counts["deselected"]
    seconds = sum(outcome.seconds for outcome in outcomes)
    return str(counts["passed"]), str(failed), str(skipped), f"{seconds:.1f} s"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _skips(outcomes: Sequence[TestOutcome]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.test):  # as they ended, in parallel
        if outcome.outcome in ("skipped", "deselected"):
            reason = " ".join(outcome.reason.removeprefix("Skipped: ").split()).removeprefix("other: ")
            reason = "deselected by -k or -m" if outcome.outcome == "deselected" else reason
            reasons.setdefault(reason, []).append(outcome.test)
    groups = sorted(reasons.items(), key=lambda entry: -len(entry[1]))
    n_skipped = sum(outcome.outcome == "skipped" for outcome in outcomes)
    skipped = f"all {n_skipped} tests were" if n_skipped > 1 else "its one test was"
    lines = [f"nothing was tested: {skipped} skipped"] if is_untested(outcomes) else []
    for reason, tests in groups[:_MOST_REASONS]:
        names = ", ".join([*tests[:_MOST_NAMES], *(["..."] if len(tests) > _MOST_NAMES else [])])
        lines.append(f"skipped {len(tests)}, {reason} ({names})")
    if rest := groups[_MOST_REASONS:]:
        n_tests, plural = sum(len(tests) for _, tests in rest), "s" if len(rest) > 1 else ""
        lines.append(f"skipped {n_tests}, for {len(rest)} more reason{plural}")
    return lines
