"""Plan the tests and scores of a change; write and print the plan."""

from __future__ import annotations

import gc
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from brainscore_ci.planning import planner
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.plan import PairGroup, Plan, Skip, TestTask, fold
from brainscore_ci.planning.shards import outputs_of
from brainscore_ci.reporting.markdown import plain
from brainscore_ci.reporting.report import cost, stale
from brainscore_ci.reporting.step import write_outputs
from brainscore_core.command_line import say, show
from brainscore_core.errors import count
from brainscore_core.files import atomic_path
from brainscore_core.git import commit_named

# -- Format a plan for the terminal ------------------------------------------------------------------------------------

MOST = 50
_FEW = 3  # names of models or benchmarks


def format_plan(plan: Plan) -> str:
    """Return a plan as text, with reasons and costs; at most `MOST` plugins and groups of pairs."""
    title = f"{count(len(plan.changed), 'changed file')}{'' if plan.event == 'local' else f', as for {plan.event}'}"
    sections: list[tuple[str, Iterable[str]]] = [(title, [plain(note) for note in plan.notes])]
    if plan.refused:
        refusals = (f"{refusal.path[:200]!a}: {plain(refusal.reason)}" for refusal in plan.refused)
        sections.append((f"REFUSED, nothing runs: {count(len(plan.refused), 'path')}", refusals))
    if plan.tests:
        memory, minutes = max(task.memory_gb for task in plan.tests), sum(task.minutes for task in plan.tests)
        title = f"Tests of {count(len(plan.tests), 'plugin')}, about {duration(minutes)}, {memory:g} GB of memory"
        sections.append((title, _tests(plan.tests)))
    if plan.pairs:
        when = "This" if plan.event in {"push", "workflow_dispatch"} else "Merging this"
        sections.append((f"{when} {cost(plan.pairs)}", _groups(fold(plan.pairs))))
    if plan.previews:
        sections.append(
            (f"A pull request shows {count(len(plan.previews), 'score')} before", _groups(fold(plan.previews)))
        )
    if plan.stale:
        sections.append((stale(plan.stale), _groups(fold(plan.stale))))
    if plan.skipped:
        sections.append(("Left out", _skips(plan.skipped)))
    lines: list[str] = []
    for title, entries in sections:
        visible = list(itertools.islice(entries, MOST + 1))
        if len(visible) > MOST:
            visible[MOST:] = ["... (--json shows all)"]
        lines += [
            f"{title}{':' if visible else ''}",
            *(f"  {line}" for text in visible for line in text.splitlines()),
            "",
        ]
    if not (plan.tests or plan.pairs or plan.previews or plan.stale or plan.refused):
        lines.append("Nothing has to be tested or scored.")
    return "\n".join(lines).rstrip() + "\n"


def duration(minutes: float) -> str:
    """Return minutes such as '41 min' or '3.5 h'."""
    if minutes < 1:
        return f"{60 * minutes:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _names(names: Sequence[str], kind: str) -> str:
    return f"{len(names)} {kind}" if len(names) > _FEW else ", ".join(plain(name, 80) for name in names)


def _tests(tests: Iterable[TestTask]) -> Iterator[str]:
    for task in tests:
        private = f", {task.private_tests} private" if task.private_tests else ""
        not_run = "" if task.with_private or not task.private_tests else " (left out)"
        head = f"{task.plugin}  {duration(task.minutes)}, {task.memory_gb:g} GB{private}{not_run}"
        yield "\n".join([head, *_chain(task.reasons)])


def _groups(groups: Iterable[PairGroup]) -> Iterator[str]:
    for group in groups:
        number = len(group.models) * len(group.benchmarks)
        per_pair = f"{duration(group.minutes)}{' each' if number > 1 else ''}, {group.memory_gb:g} GB"
        pairs = f"{_names(group.models, 'models')} x {_names(group.benchmarks, 'benchmarks')}"
        head = f"{pairs}  {per_pair}{', private data' if group.private else ''}"
        yield "\n".join([head, *_chain(group.reasons)])


def _chain(reasons: Iterable[str]) -> list[str]:
    return [
        f"{'  ' * depth}{'<- ' if depth > 1 else 'because: '}{plain(reason)}" for depth, reason in enumerate(reasons, 1)
    ]


def _skips(skipped: Sequence[Skip]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for skip in skipped:
        by_reason.setdefault(skip.reason, []).append(skip.what)
    for reason, what in by_reason.items():
        more = f" and {len(what) - _FEW} more" if len(what) > _FEW else ""
        yield f"{', '.join(plain(name, 100) for name in what[:_FEW])}{more}: {plain(reason)}"


# -- make and write the plan -------------------------------------------------------------------------------------------


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
