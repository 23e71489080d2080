"""Plan the tests and scores of a change; write and print the plan."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from brainscore_ci.planning import planner
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.step_outputs import outputs_of, write_outputs
from brainscore_ci.reporting.listing import format_plan
from brainscore_core.command_line import say, show
from brainscore_core.errors import count
from brainscore_core.files import atomic_path
from brainscore_core.git import commit_named


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection, which takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_garbage_collection()
def run(
    *,
    base: str = "",
    head: str | None = None,
    event: str = "",
    labels: str = "",
    as_json: bool = False,
    output: Path | None = None,
    missing: Path | None = None,
) -> int:
    """Plan and print; exit code 1 if the plan refuses a file.

    Writes step outputs to GITHUB_OUTPUT if set. PRIVATE_DATA=true says that private data are available. With `missing`,
    a file to write the pairs without a record to, nothing is planned.
    """
    checkout = read_own_checkout(Path.cwd())
    if missing is not None:
        pairs = planner.missing_pairs(checkout)
        with atomic_path(missing) as temporary:
            temporary.write_text(json.dumps(pairs, indent=0) + "\n", encoding="utf-8")
        say(f"{count(len(pairs), 'pair has', 'pairs have')} no record on {planner.RECORDS}.")
        return 0
    with_private = os.environ.get("PRIVATE_DATA") == "true"
    of_event, of_labels = planner.read_event(event or "local"), planner.read_labels(labels)
    if head is None:
        plan = planner.plan_work_tree(checkout, base, event=of_event, labels=of_labels)
    else:
        plan = planner.plan_change(checkout, base, head, event=of_event, labels=of_labels, with_private=with_private)
    if output is not None:
        with atomic_path(output) as temporary:
            temporary.write_text(plan.to_json(), encoding="utf-8")
    if file := os.environ.get("GITHUB_OUTPUT"):
        with_records = commit_named(checkout.repository, planner.RECORDS) is not None
        outputs = outputs_of(plan, checkout.policy, with_private=with_private, with_records=with_records)
        write_outputs(outputs, Path(file))
    show(plan.to_json() if as_json else format_plan(plan), end="")
    return 1 if plan.refused else 0
