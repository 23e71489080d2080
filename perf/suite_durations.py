"""Measure which test files take the most time in the default tests, beside an earlier measurement.

Set-up and teardown count; times are by the clock, so two processes side by side share the processors.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from harness import keep, markdown, options_of, read, size

DURATION = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+(\S+?)::")
MARKED = "not (private_access or network or gpu or slow or memory_intense)"
SHOWN = 50


def seconds_of(log: str) -> dict[str, float]:
    seconds: Counter[str] = Counter()
    for line in log.splitlines():
        if match := DURATION.match(line):
            seconds[match[2]] += float(match[1])
    return {name: round(total, 1) for name, total in seconds.most_common()}


def table(results: dict[str, dict[str, float]]) -> str:
    before, now = results["before"], results["now"]
    slowest = sorted({**before, **now}, key=lambda name: -max(before.get(name, 0), now.get(name, 0)))[:SHOWN]
    rows = [[name, *(f"{times[name]:.1f}" if name in times else "-" for times in (before, now))] for name in slowest]
    rows.append(["all files", *(f"{sum(times.values()):.0f}" for times in (before, now))])
    return markdown(["file", "before, s", "now, s"], rows)


if __name__ == "__main__":
    options = options_of(
        __doc__,
        log=(None, "output of pytest with --durations=0 --durations-min=0; without it the tests run"),
        as_before=(False, "keep it as the times that later ones are compared with"),
    )
    if options.log:
        log = Path(options.log).read_text(encoding="utf-8", errors="replace")
    else:
        tests = ["-n", "auto"] if size(1, 0) else ["core/tests/test_errors.py"]
        command = [sys.executable, "-m", "pytest", "-q", *tests, "-m", MARKED, "--durations=0", "--durations-min=0"]
        log = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    results = {"before": {}, "now": {}, **read("suite_durations")}
    results["before" if options.as_before else "now"] = seconds_of(log)
    how = "`python perf/suite_durations.py`: seconds of the slowest test files in the default tests, two processes."
    keep("suite_durations", results, title="Slowest test files", text=f"{how}\n\n{table(results)}")
