"""Decide whether a change may be merged; the one check that branch protection requires.

Reads from the environment: NEEDS, the output of `toJSON(needs)`; COUNTS, a JSON object of job -> amount of planned
work; REQUIRED, required jobs separated by spaces (default: plan and those in COUNTS); and REASON, why the plan has no
work for some.
"""

import json
import os
import sys

from brainscore_ci.reporting.step import annotation
from brainscore_ci.reporting.verdict import read_needs, verdict
from brainscore_core.errors import ConfigurationError


def main() -> int:
    """Print each problem as an annotation; exit code 1 if there is one."""
    try:
        counts = json.loads(os.environ.get("COUNTS") or "{}")
        # A missing or empty count, after failed planning, lets no job be skipped.
        may_skip = {job: str(count) == "0" for job, count in counts.items()}
        required = os.environ.get("REQUIRED", "").split() or ["plan", *may_skip]
        problems = verdict(read_needs(os.environ.get("NEEDS", "")), required=required, may_skip=may_skip).problems
    except (ConfigurationError, ValueError, AttributeError) as error:
        problems = (f"The gate stays closed, since its input cannot be read: {error}",)
    for problem in problems[:10]:
        print(annotation("error", problem))
    reason = os.environ.get("REASON", "")
    print("The gate is closed." if problems else f"The gate is open{f', {reason}' if reason else ''}.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
