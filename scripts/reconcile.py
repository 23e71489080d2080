"""Bring comments and labels of all open pull requests, and the scores, into line with what is known.

Reads GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_API_URL and GITHUB_SHA from the environment.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from brainscore_ci.github.client import API, HttpGitHub
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.reporting.reconcile.decide import ReconcilePolicy, apply, describe
from brainscore_ci.reporting.reconcile.reconciler import reconcile
from brainscore_core.errors import BrainScoreError


def main() -> int:
    """Print what was done; exit code 1 if something could not be done, 2 if nothing could be started."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--missing", type=Path, help="JSON list of [model, benchmark] that should be scored and are not"
    )
    parser.add_argument("--dry-run", action="store_true", help="only print what would be done")
    options = parser.parse_args()
    environment = os.environ
    try:
        missing = json.loads(options.missing.read_text(encoding="utf-8")) if options.missing else []
        github = HttpGitHub(
            environment.get("GITHUB_REPOSITORY", ""),
            environment.get("GITHUB_TOKEN", ""),
            api=environment.get("GITHUB_API_URL") or API,
        )
        outcome = reconcile(
            github,
            ReconcilePolicy(libraries=read_policy(Path()).libraries),
            missing=missing,
            head=environment.get("GITHUB_SHA", ""),
            do=(lambda *_: None) if options.dry_run else apply,
        )
    except (BrainScoreError, OSError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    for action in outcome.actions:
        print(describe(action))
    for line in (*outcome.notes, *outcome.problems):
        print(line)
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
