"""Format a plan for the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from brainscore_ci.planning.plan import PairGroup, Plan, Skip, TestTask, fold
from brainscore_ci.reporting.markdown import plain
from brainscore_ci.reporting.wording import cost, stale
from brainscore_core.errors import count

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
