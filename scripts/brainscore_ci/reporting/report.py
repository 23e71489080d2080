"""Report tests and scores, all problems, and what merging triggers; untrusted text passes through `markdown`."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from brainscore_ci.planning.plan import Plan, fold
from brainscore_ci.reporting import markdown
from brainscore_ci.reporting.markdown import code, escape
from brainscore_ci.reporting.results import CheckResult, PairResult, PluginResult, Results, read_folder, write_bundle
from brainscore_ci.reporting.step import annotate, append_summary, for_log
from brainscore_ci.reporting.verdict import Verdict, judge
from brainscore_core.command_line import show
from brainscore_core.errors import count
from brainscore_core.testing.machine import SkipKind

if TYPE_CHECKING:
    from brainscore_ci.planning.areas import PluginName
    from brainscore_core.scoring.pairs import Pair

# -- Numbers in words --------------------------------------------------------------------------------------------------


def rough_duration(minutes: float) -> str:
    """Return an approximate duration."""
    if minutes < 1:
        return "under 1 min"
    return f"about {minutes:.0f} min" if minutes < 120 else f"about {minutes / 60:,.0f} h"


def cost(pairs: Sequence[Pair]) -> str:
    """Describe a cost, such as 'scores 12 models x 3 benchmarks, about 41 min, 2 private'.

    Private benchmarks need private data.
    """
    if not pairs:
        return "scores nothing"
    models, benchmarks = {pair.model for pair in pairs}, {pair.benchmark for pair in pairs}
    size = f"{count(len(models), 'model')} x {count(len(benchmarks), 'benchmark')}"
    if len(pairs) != len(models) * len(benchmarks):
        size = f"{count(len(pairs), 'pair')} of {size.replace(' x ', ' and ')}"
    private = len({pair.benchmark for pair in pairs if pair.private})
    return f"scores {size}, {rough_duration(sum(pair.minutes for pair in pairs))}" + (
        f", {private} private" if private else ""
    )


def stale(pairs: Sequence[Pair]) -> str:
    """Return how many records may be stale, and the cost of scoring them again."""
    records = count(len(pairs), "stored record")
    again = cost(pairs).removeprefix("scores ")
    return f"{records} may be stale; nothing scores {'it' if len(pairs) == 1 else 'them'} again ({again})"


# -- Shorten the sections of a text to a size, least important first ---------------------------------------------------

_FEWEST_ITEMS = 10  # that a section keeps while another can still be shortened


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the report that can be shortened."""

    name: str  # of its items, for people
    importance: int  # lower numbers are shortened first
    items: Iterable[str]  # lines, dropped from the end; generated only as far as needed
    total: int
    head: tuple[str, ...] = ()
    foot: tuple[str, ...] = ("",)

    def made(self, most_bytes: int) -> Section:
        """Return the section with the items that fit on their own."""
        items, size = [], 0
        for item in self.items:
            size += line_bytes(item)
            items.append(item)
            if size > most_bytes:
                break
        return replace(self, items=tuple(items))

    def lines(self) -> tuple[str, ...]:
        """Return all lines; none without items."""
        items = tuple(self.items)
        return (*self.head, *items, *self.foot) if items else ()

    def size(self) -> int:
        """Size of all lines in bytes."""
        return sum(map(line_bytes, self.lines()))


def folded(name: str, title: str, items: Iterable[str], total: int, importance: int) -> Section:
    """Return a section that a click unfolds."""
    head, foot = (f"<details><summary>{title}</summary>", ""), ("", "</details>", "")
    return Section(name=name, importance=importance, items=items, total=total, head=head, foot=foot)


def fit(sections: Sequence[Section], most: int) -> tuple[list[Section], list[str]]:
    """Shorten sections until they fit, the least important first.

    Each keeps its first few items as long as possible.
    """
    shortened = list(sections)
    excess = sum(section.size() for section in shortened) - most
    order = sorted(range(len(shortened)), key=lambda index: shortened[index].importance)
    for floor, index in itertools.product((_FEWEST_ITEMS, 0), order):
        section = shortened[index]
        items, size, freed = list(section.items), section.size(), 0
        while len(items) > floor and freed < excess:
            freed += line_bytes(items.pop())
        shortened[index] = replace(section, items=tuple(items))
        excess -= size - shortened[index].size()
    numbers = [len(tuple(section.items)) for section in shortened]
    cuts = [
        f"{section.total - number:,} of {section.total:,} {section.name}"
        for section, number in zip(shortened, numbers, strict=True)
        if number < section.total
    ]
    return shortened, cuts


def line_bytes(line: str) -> int:
    """Return the size of a line with its end, in bytes."""
    return len(line.encode()) + 1


# -- the report --------------------------------------------------------------------------------------------------------

SUMMARY_BYTES = 2**20  # GitHub's limit for a step's summary
COMMENT_BYTES = 65_536  # GitHub's limit for a comment, in characters; never more than bytes
_ROOM_FOR_CUTS = 1_000
_FEW = 3  # names of models, benchmarks, plugins or tests
_REPRODUCE = "nox -s test_plugin -- {name}"


def render(plan: Plan, results: Results, verdict: Verdict, *, most_bytes: int = SUMMARY_BYTES) -> str:
    """Write the report; results that were not planned are skipped.

    Beyond `most_bytes` in UTF-8, at least 4,096, the least important parts are shortened first and named at the end.
    """
    opening = [f"## Checks {'passed' if verdict.passed else 'failed'}", "", _opening(plan, results), ""]
    sections = [
        _problems(verdict),
        _refused(plan),
        _findings(results),
        _new(results),
        _plugins(plan, results),
        _failures(plan, results),
        _messages(plan, results),
        _scores(plan, results),
        _merging(plan),
        _reproduce(plan, results),
        _skipped(plan, results),
        _notes(plan),
        _reasons(plan),
    ]
    room = most_bytes - sum(map(line_bytes, opening)) - _ROOM_FOR_CUTS
    sections, cuts = fit([section.made(room) for section in sections], room)
    ending = [f"Left out to keep this short: {', '.join(cuts)}.", ""] if cuts else []
    return "\n".join([*opening, *(line for section in sections for line in section.lines()), *ending]).rstrip() + "\n"


# -- sections ----------------------------------------------------------------------------------------------------------


def _opening(plan: Plan, results: Results) -> str:
    done = _of_plan(plan, results)
    failed = sum(not result.is_fine for result in done.values())
    left_out = sum(result.n_skipped for result in done.values())
    minutes = sum(result.duration_s for result in done.values()) / 60
    what = f"Commit {code(plan.head[:12])}" if plan.head else "The working tree"
    against = f" against {code(plan.base[:12])}" if plan.base else ""
    tested = f"{count(len(done), 'plugin')} tested in {rough_duration(minutes)}" if done else "no plugin tested"
    more = [f"{failed} failed"] if failed else []
    more += [f"{count(left_out, 'test')} skipped"] if left_out else []
    changed = f"{count(len(plan.changed), 'changed file')}"
    return f"{what}{against}: {changed}, {', '.join([tested, *more])}."


def _problems(verdict: Verdict) -> Section:
    items = (f"- {escape(problem)}" for problem in verdict.problems)
    head = ("### Problems", "")
    return Section(name="problems", importance=100, items=items, total=len(verdict.problems), head=head)


def _refused(plan: Plan) -> Section:
    head, rows = markdown.table(
        ["path", "why it must not be merged"],
        ([_path(refusal.path), escape(refusal.reason)] for refusal in plan.refused),
    )
    head = ["### Refused", "", *head]
    return Section(name="refused paths", importance=90, items=rows, total=len(plan.refused), head=tuple(head))


def _findings(results: Results) -> Section:
    check = results.check or CheckResult()

    def items() -> Iterator[str]:
        for finding in check.findings:
            kind = "" if finding.is_error else "suggestion, "
            fix = f"<br>Fix: {escape(finding.fix, 600)}" if finding.fix else ""
            place = _path(f"{finding.path}:{finding.line}")
            yield f"- {place}: {kind}{escape(finding.rule)}: {escape(finding.message, 600)}{fix}"

    counts = f"{count(check.n_errors, 'error')}, {count(check.n_hints, 'suggestion')}"
    head = (f"### Static checks: {counts}", "")
    return Section(name="findings", importance=85, items=items(), total=check.n_errors + check.n_hints, head=head)


def _new(results: Results) -> Section:
    new = () if results.check is None else results.check.new
    header = ["plugin", "access", "licence", "citation"]
    rows_of = (
        [code(str(plugin.plugin)), *map(_told, (plugin.access, plugin.licence, plugin.citation))] for plugin in new
    )
    head, rows = markdown.table(header, rows_of)
    head = ["### New", "", *head]
    return Section(name="new plugins", importance=72, items=rows, total=len(new), head=tuple(head))


def _told(text: str) -> str:
    return escape(text) or "**not stated**"


def _plugins(plan: Plan, results: Results) -> Section:
    done = _of_plan(plan, results)
    tasks = sorted(plan.tests, key=lambda task: (task.plugin in done and done[task.plugin].is_fine, task.plugin))
    header = ["plugin", "result", "ran", "failed", "skipped", "minutes"]
    head, rows = markdown.table(header, (_plugin_row(task.plugin, done.get(task.plugin)) for task in tasks))
    head = ["### Plugins", "", *head]
    return Section(name="plugins", importance=70, items=rows, total=len(tasks), head=tuple(head))


def _plugin_row(name: PluginName, result: PluginResult | None) -> list[str]:
    if result is None:
        return [code(str(name)), "**no result**", "", "", "", ""]
    reasons = Counter(skip.kind if skip.kind != "other" else _reason(skip.reason) for skip in result.skipped)
    why = ", ".join(f"{number} {escape(reason, 80)}" for reason, number in list(reasons.items())[:4])
    ran = result.n_passed + result.n_failed + result.n_errors
    return [
        code(str(name)),
        result.status if result.is_fine else f"**{result.status}**",
        str(ran),
        str(result.n_failed + result.n_errors),
        f"{result.n_skipped} ({why})" if why else str(result.n_skipped),
        f"{result.duration_s / 60:.1f}",
    ]


def _reason(reason: str, most: int = 80) -> str:
    """Return why a test was skipped, without its kind."""
    reason = re.sub(r"^(Skipped|unconditional skip):?\s*", "", reason)
    reason = re.sub(rf"^({'|'.join(get_args(SkipKind))}): ", "", reason)
    return markdown.plain(reason, most) or "no reason given"


def _failures(plan: Plan, results: Results) -> Section:
    done = _of_plan(plan, results)

    def items() -> Iterator[str]:
        for name, result in done.items():
            for failure in result.failures:
                line = "" if failure.line is None else f":{failure.line}"
                place = "" if failure.file is None else _path(f"{failure.file}{line}")
                fix = f"<br>Fix: {escape(failure.fix)}" if failure.fix else ""
                yield (
                    f"- {code(str(name))}, {code(failure.test) or 'a test'}{f' at {place}' if place else ''}: "
                    f"{code(failure.message, 600) or 'no message'}{fix}"
                )
            if _untold(result):
                yield f"- {code(str(name))}: {count(_untold(result), 'more failure')}; the log of the run shows all"

    total = sum(len(result.failures) + (_untold(result) > 0) for result in done.values())
    return Section(name="failures", importance=80, items=items(), total=total, head=("### Failures", ""))


def _untold(result: PluginResult) -> int:
    return max(0, result.n_failed + result.n_errors - len(result.failures))


def _messages(plan: Plan, results: Results) -> Section:
    """Return all multi-line messages in full."""
    long = [
        (name, failure)
        for name, result in _of_plan(plan, results).items()
        for failure in result.failures
        if len(failure.message.splitlines()) > 1
    ]
    items = (
        f"<details><summary>{markdown.summary(f'{name}, {failure.test}')}</summary>\n\n"
        f"{markdown.block(failure.message)}\n\n</details>\n"
        for name, failure in long
    )
    head = ("### Messages in full", "")
    return Section(name="messages in full", importance=20, items=items, total=len(long), head=head)


def _scores(plan: Plan, results: Results) -> Section:
    done = {(result.model, result.benchmark): result for result in results.pairs}
    header = ["model", "benchmark", "raw", "ceiling", "ceiled", "95 % interval"]

    def rows_of() -> Iterator[list[str]]:
        for pair in plan.previews:
            result = done.get((pair.model, pair.benchmark))
            mark = " (simulated)" if result is not None and result.simulated else ""
            yield [code(pair.model, 100), f"{code(pair.benchmark, 100)}{mark}", *_score_cells(result)]

    head, rows = markdown.table(header, rows_of())
    about = "Reference models on new benchmarks, and new models on the public reference benchmarks."
    if any(result.simulated for result in results.pairs):
        about += " Simulated measurements show that everything works, not that a model is brain-like."
    head = ["### Scores", "", about, "", *head]
    return Section(name="scores", importance=75, items=rows, total=len(plan.previews), head=tuple(head))


def _score_cells(result: PairResult | None) -> list[str]:
    if result is None:
        return ["**no score**", "", "", ""]
    if result.status == "not_applicable":
        return [f"not applicable: {code(result.message, 200)}" if result.message else "not applicable", "", "", ""]
    if result.status != "scored":
        message = f": {code(result.message, 200)}" if result.message else ""
        return [f"{escape(result.status, 200)}{message}", "", "", ""]
    interval = "" if result.interval is None else f"{result.interval[0]:.3f} to {result.interval[1]:.3f}"
    score = _shown(result.score) if result.score is not None else "not scorable"
    if not interval and result.error is not None:
        score += f" ± {result.error:.3f}"
    return [_shown(result.raw), _shown(result.ceiling), score, interval]


def _merging(plan: Plan) -> Section:
    starts = "This starts" if plan.event in {"push", "workflow_dispatch"} else "Merging starts"
    text = f"{starts} scoring: {cost(plan.pairs)}." if plan.pairs else f"{starts} no scoring."
    if plan.stale:
        text += f" {stale(plan.stale)}."
    return Section(name="what merging starts", importance=110, items=[text], total=1)


def _reproduce(plan: Plan, results: Results) -> Section:
    done = _of_plan(plan, results)
    failed = [task.plugin for task in plan.tests if task.plugin not in done or not done[task.plugin].is_fine]
    names = list(dict.fromkeys(name.name for name in failed or [task.plugin for task in plan.tests]))
    items = [_REPRODUCE.format(name=name) for name in names[:10]]
    head = ("### On your own machine", "", "```bash")
    return Section(name="commands", importance=60, items=items, total=len(items), head=head, foot=("```", ""))


def _skipped(plan: Plan, results: Results) -> Section:
    done = _of_plan(plan, results)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for name, result in done.items():
        for test in result.skipped:
            alike.setdefault((str(name), test.kind, _reason(test.reason, 300)), []).append(test.test)

    def items() -> Iterator[str]:
        for skip in sorted(plan.skipped, key=lambda skip: "private" not in f"{skip.what} {skip.reason}"):
            yield f"- {escape(skip.what)}: {escape(skip.reason)}"
        for (name, kind, reason), tests in sorted(alike.items(), key=lambda group: group[0][1] != "private"):
            prefix = "" if kind == "other" else f"{kind}: "
            yield f"- {code(name)}, {_few(tests, 'tests')}: {prefix}{escape(reason)}"

    total = len(plan.skipped) + sum(len(result.skipped) for result in done.values())
    n_lines = len(plan.skipped) + len(alike)
    return folded("skipped", f"Skipped ({count(total, 'entry', 'entries')})", items(), n_lines, 40)


def _notes(plan: Plan) -> Section:
    notes = [note for note in plan.notes if note]
    items = (f"- {escape(note, 600)}" for note in notes)
    return Section(name="notes", importance=50, items=items, total=len(notes), head=("### Notes", ""))


def _reasons(plan: Plan) -> Section:
    alike: dict[tuple[str, ...], list[str]] = {}
    for task in plan.tests:
        alike.setdefault(task.reasons, []).append(str(task.plugin))
    groups = fold((*plan.previews, *plan.pairs))
    items = itertools.chain(
        (f"- {_few(plugins, 'plugins')} ← {_chain(reasons)}" for reasons, plugins in alike.items()),
        (
            f"- {_few(group.models, 'models')} on {_few(group.benchmarks, 'benchmarks')} ← {_chain(group.reasons)}"
            for group in groups
        ),
    )
    pairs = count(len(plan.previews) + len(plan.pairs), "score")
    title = f"Why these ({count(len(plan.tests), 'plugin')} to test, {pairs})"
    return folded("reasons", title, items, len(alike) + len(groups), 10)


# -- helpers -----------------------------------------------------------------------------------------------------------


def _of_plan(plan: Plan, results: Results) -> dict[PluginName, PluginResult]:
    planned = {task.plugin for task in plan.tests}
    return {result.plugin: result for result in results.plugins if result.plugin in planned}


def _few(names: Sequence[str], kind: str) -> str:
    """Return the first names and the number of others: '`a`, `b` and 10 more models'."""
    more = f" and {count(len(names) - _FEW, f'more {kind}', f'more {kind}')}" if len(names) > _FEW else ""
    return f"{', '.join(code(name) for name in names[:_FEW])}{more}"


def _chain(reasons: Iterable[str]) -> str:
    return " ← ".join(escape(reason) for reason in reasons)


def _path(path: str) -> str:
    """Return a path as code, with odd characters escaped."""
    return code(path if path.isprintable() else ascii(path), 300)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def run(plan: Path, results: Path, *, bundle: Path | None, tests_only: bool) -> int:
    """Run the command `report`: show the results of a run on GitHub, and write the artifact for the reconciler."""
    planned = Plan.read(plan)
    outcomes, unreadable = read_folder(results)
    verdict = Verdict((*judge(planned, outcomes, whole=not tests_only).problems, *unreadable))
    text = render(planned, outcomes, verdict)
    show(for_log(text))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        show("\n".join(annotate(planned, outcomes, verdict)))
    append_summary(text)
    if bundle is not None:
        write_bundle(bundle, planned, outcomes)
    return 0
