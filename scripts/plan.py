"""Plan what a change has to be tested and scored on; `nox -s plan` runs this, and so does CI.

Without --head the working tree is looked at. Where GITHUB_OUTPUT is set, the outputs of the step are written too.
PRIVATE_DATA=true says that private data are at hand.
"""

import argparse
import os
import sys
from pathlib import Path

from brainscore_ci.planning import planner
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.step_outputs import outputs_of, write_outputs
from brainscore_ci.reporting.listing import format_plan
from brainscore_core.caching import atomic_path
from brainscore_core.errors import BrainScoreError


def main() -> int:
    """Print the plan; exit code 0, 1 if something in the change is refused, 2 for wrong usage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="", help="branch or commit to compare with (default: origin/main or main)")
    parser.add_argument("--head", help="commit that is checked out (default: the files as they are)")
    parser.add_argument("--event", help="what to plan for, such as pull_request or push (default: local)")
    parser.add_argument("--labels", default="", help="of the pull request: names with commas between, or a JSON list")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to write the plan as JSON")
    parser.add_argument(
        "--missing", type=Path, metavar="FILE", help="write the pairs without a record, and nothing else"
    )
    options = parser.parse_args()
    try:
        checkout = read_own_checkout(Path.cwd())
        if options.missing is not None:
            return planner.write_missing(checkout, options.missing)
        with_private = os.environ.get("PRIVATE_DATA") == "true"
        event, labels = planner.read_event(options.event or "local"), planner.read_labels(options.labels)
        if options.head is None:
            plan = planner.plan_work_tree(checkout, options.base, event=event, labels=labels)
        else:
            plan = planner.plan_change(
                checkout, options.base, options.head, event=event, labels=labels, with_private=with_private
            )
        if options.output is not None:
            with atomic_path(options.output) as temporary:
                temporary.write_text(plan.to_json(), encoding="utf-8")
        if file := os.environ.get("GITHUB_OUTPUT"):
            write_outputs(outputs_of(plan, checkout.policy, with_private=with_private), Path(file))
    except (BrainScoreError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    print(plan.to_json() if options.json else format_plan(plan), end="")
    return 1 if plan.refused else 0


if __name__ == "__main__":
    sys.exit(main())
