"""Write the report of a run: summary of the step, annotations, and optionally the files for the reconciler."""

import argparse
import os
import sys
from pathlib import Path

from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.annotations import annotate, for_log
from brainscore_ci.reporting.reconcile.bundle import write_bundle
from brainscore_ci.reporting.report import render
from brainscore_ci.reporting.results import read_folder
from brainscore_ci.reporting.verdict import Verdict, judge
from brainscore_core.errors import BrainScoreError


def main() -> int:
    """Print the report; exit code 0 whatever it says (the gate decides), 2 if there is no plan to report on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="plan.json, what nox -s plan -- --json has written")
    parser.add_argument("--results", type=Path, required=True, help="folder with results of tests and scores")
    parser.add_argument("--bundle", type=Path, help="folder to write plan.json and results.json to")
    parser.add_argument(
        "--tests-only", action="store_true", help="of a run without static checks, such as that of all plugins at night"
    )
    options = parser.parse_args()
    try:
        plan = Plan.read(options.plan)
    except (BrainScoreError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    results, unreadable = read_folder(options.results)
    verdict = Verdict((*judge(plan, results, whole=not options.tests_only).problems, *unreadable))
    report = render(plan, results, verdict)
    print(for_log(report))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print("\n".join(annotate(plan, results, verdict)))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.write(report)
    if options.bundle is not None:
        write_bundle(options.bundle, plan, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
