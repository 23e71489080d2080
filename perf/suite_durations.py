"""Measure which test files take the most time in the default tests, beside an earlier measurement.

    python perf/suite_durations.py                 # runs the tests
    python perf/suite_durations.py --log LOG       # of a run of pytest with --durations=0 --durations-min=0
    python perf/suite_durations.py --log LOG --as-before

Set-up and teardown count; times are by the clock, so two processes side by side share the processors.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from harness import keep, markdown, read

DURATION = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+(\S+?)::")
MARKED = "not (private_access or network or gpu or slow or memory_intense)"
SHOWN = 50


def seconds_of(log: str) -> dict[str, float]:
    """Return the seconds of each test file, largest first."""
    seconds: Counter[str] = Counter()
    for line in log.splitlines():
        if match := DURATION.match(line):
            seconds[match[2]] += float(match[1])
    return {name: round(total, 1) for name, total in seconds.most_common()}


def table(results: dict[str, dict[str, float]]) -> str:
    """Return the files that were or are among the slowest."""
    before, now = results["before"], results["now"]
    slowest = sorted({**before, **now}, key=lambda name: -max(before.get(name, 0), now.get(name, 0)))[:SHOWN]
    rows = [[name, *(f"{times[name]:.1f}" if name in times else "-" for times in (before, now))] for name in slowest]
    rows.append(["all files", *(f"{sum(times.values()):.0f}" for times in (before, now))])
    return markdown(["file", "before, s", "now, s"], rows)


def main() -> None:
    """Measure or read, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, help="what pytest has printed; without it the tests run")
    parser.add_argument("--as-before", action="store_true", help="keep it as what later ones are compared with")
    options = parser.parse_args()
    if options.log:
        log = options.log.read_text(encoding="utf-8", errors="replace")
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", MARKED, "--durations=0"]
        log = subprocess.run([*command, "--durations-min=0"], capture_output=True, text=True, check=False).stdout
    results = {"before": {}, "now": {}, **read("suite_durations")}
    results["before" if options.as_before else "now"] = seconds_of(log)
    how = "`python perf/suite_durations.py`: seconds of the slowest test files in the default tests, two processes."
    keep("suite_durations", results, title="Slowest test files", text=f"{how}\n\n{table(results)}")


if __name__ == "__main__":
    main()
