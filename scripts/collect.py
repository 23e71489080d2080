"""Collect the records of all jobs that score, commit them to a branch, and show what came out.

With GITHUB_STEP_SUMMARY in the environment the table is written there too. GITHUB_TOKEN pushes.
"""

import argparse
import os
import sys
from pathlib import Path

from brainscore_ci.jobs.collect import collect, summary
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.annotations import for_log
from brainscore_ci.reporting.report import SUMMARY_BYTES
from brainscore_core.errors import BrainScoreError


def main() -> int:
    """Print the table; exit code 0, 1 if a pair has no record or a file is no record, 2 if nothing can be collected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True, help="plan.json, what nox -s plan -- --json has written")
    parser.add_argument("--records", type=Path, required=True, help="folder with a folder records-<i> for each job")
    parser.add_argument("--branch", default="scores", help="where to commit them (default: scores)")
    parser.add_argument(
        "--code-branch", default="main", help="branch with the plugins; records of other code are left out"
    )
    parser.add_argument("--remote", default="origin")
    options = parser.parse_args()
    try:
        plan = Plan.read(options.plan)
        checkout = read_own_checkout(Path.cwd())
        collected = collect(
            *(plan, options.records, checkout, options.branch),
            code_branch=options.code_branch,
            remote=options.remote,
            token=os.environ.get("GITHUB_TOKEN", ""),
        )
    except (BrainScoreError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    text = summary(collected, plan)
    print(for_log(text))
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(text.encode()[:SUMMARY_BYTES].decode(errors="ignore"))
    return 0 if collected.is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
