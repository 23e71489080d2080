"""Tell people what was tested and scored, what is wrong, and what merging will start.

All names, paths and messages may come from anybody; they pass through `brainscore_ci.reporting.markdown`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from brainscore_ci.reporting import markdown
from brainscore_ci.reporting.gate import Verdict
from brainscore_ci.reporting.markdown import code, escape

if TYPE_CHECKING:
    from brainscore_ci.planning.areas import PluginName
    from brainscore_ci.planning.plan import Pair, Plan
    from brainscore_ci.reporting.results import PairResult, PluginResult, Results

__all__ = [
    "COMMENT_BYTES",
    "SUMMARY_BYTES",
    "annotate",
    "annotation",
    "cost",
    "for_log",
    "judge",
    "render",
]

SUMMARY_BYTES = 2**20  # GitHub's limit for the summary of a step
COMMENT_BYTES = 65_536  # GitHub's limit for a comment, in characters; bytes are never fewer
_ROOM_FOR_CUTS = 1_000
_FEW = 10
_REPRODUCE = "nox -s test_plugin -- {name}"


@dataclass(frozen=True, kw_only=True)
class _Section:
    """A part of the report that can be made shorter.

    Attributes
    ----------
    name : str
        For people, of its items.
    importance : int
        Sections with a lower number are shortened first.
    items : iterable of str
        Lines that may be left out from the end; made only as far as they may be shown.
    total : int
        How many there are.
    head, foot : tuple of str
        Lines above and below.
    """

    name: str
    importance: int
    items: Iterable[str]
    total: int
    head: tuple[str, ...] = ()
    foot: tuple[str, ...] = ("",)

    def made(self, most_bytes: int) -> _Section:
        """Return the section with as many of its items as can be shown at all."""
        items, size = [], 0
        for item in self.items:
            size += _size(item)
            items.append(item)
            if size > most_bytes:
                break
        return replace(self, items=tuple(items))

    def lines(self) -> tuple[str, ...]:
        items = tuple(self.items)
        return (*self.head, *items, *self.foot) if items else ()

    def size(self) -> int:
        return sum(map(_size, self.lines()))


def judge(plan: Plan, results: Results) -> Verdict:
    """Decide from results whether all that was planned was done and is fine; a missing result is a failure."""
    if plan.refused:
        names = ", ".join(ascii(refusal.path[:100]) for refusal in plan.refused[:3])
        return Verdict(False, (f"{_count(len(plan.refused), 'path')} must not be merged: {names}",))
    plugins = {result.plugin: result for result in results.plugins}
    pairs = {(result.model, result.benchmark): result for result in results.pairs}
    problems = []
    for task in plan.tests:
        result = plugins.get(task.plugin)
        if result is None:
            problems.append(f"{task.plugin}: no result of its tests")
        elif not result.is_fine:
            bad = result.n_failed + result.n_errors
            what = f"{_count(bad, 'test')} failed" if bad else result.status
            problems.append(f"{task.plugin}: {what}")
    for preview in plan.previews:
        scored = pairs.get((preview.model, preview.benchmark))
        if scored is None:
            problems.append(f"{preview.model} on {preview.benchmark}: no score")
        elif not scored.is_fine:
            problems.append(f"{preview.model} on {preview.benchmark}: {scored.status}")
    return Verdict(not problems, tuple(problems))


def cost(pairs: Sequence[Pair]) -> str:
    """Say what scoring takes, such as 're-scores 12 models x 3 benchmarks, about 41 min, 2 private'.

    Private are the benchmarks that need private data.
    """
    if not pairs:
        return "scores nothing"
    models, benchmarks = {pair.model for pair in pairs}, {pair.benchmark for pair in pairs}
    size = f"{_count(len(models), 'model')} x {_count(len(benchmarks), 'benchmark')}"
    if len(pairs) != len(models) * len(benchmarks):
        size = f"{_count(len(pairs), 'pair')} of {size.replace(' x ', ' and ')}"
    private = len({pair.benchmark for pair in pairs if pair.private})
    return f"re-scores {size}, {_duration(sum(pair.minutes for pair in pairs))}" + (
        f", {private} private" if private else ""
    )


def render(plan: Plan, results: Results, verdict: Verdict, *, most_bytes: int = SUMMARY_BYTES) -> str:
    """Write the report.

    Parameters
    ----------
    plan : Plan
        What was to be done.
    results : Results
        What was done. Results that were not planned are left out.
    verdict : Verdict
    most_bytes : int
        Of the text in UTF-8, at least 4,096. Where it would be longer, the least important parts are shortened first,
        and the end of the report says which.
    """
    opening = [f"## Checks {'passed' if verdict.passed else 'failed'}", "", _opening(plan, results), ""]
    sections = [
        _problems(verdict),
        _refused(plan),
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
    room = most_bytes - sum(map(_size, opening)) - _ROOM_FOR_CUTS
    sections, cuts = _fit([section.made(room) for section in sections], room)
    ending = [f"Left out to keep this short: {', '.join(cuts)}.", ""] if cuts else []
    return "\n".join([*opening, *(line for section in sections for line in section.lines()), *ending]).rstrip() + "\n"


def annotation(
    level: Literal["error", "warning", "notice"],
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    title: str = "",
) -> str:
    """Return the line that makes GitHub show a message, at a line of a file where one is given."""
    properties = {"file": file, "line": None if line is None else str(line), "title": title[:200] or None}
    shown = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value is not None)
    return f"::{level}{' ' if shown else ''}{shown}::{_data(message[:2000])}"


def annotate(plan: Plan, results: Results, verdict: Verdict, *, most: int = 10) -> list[str]:
    """Return annotations for what is wrong; GitHub shows ten of each step, so the last one counts the rest."""
    planned = {task.plugin for task in plan.tests}
    found = [annotation("error", refusal.reason, file=refusal.path, title="refused") for refusal in plan.refused]
    for result in results.plugins:
        for failure in result.failures if result.plugin in planned else ():
            message = failure.message + (f"\nFix: {failure.fix}" if failure.fix else "")
            place = {"file": failure.file, "line": failure.line} if _is_inside(failure.file) else {}
            found.append(annotation("error", message, title=f"{result.plugin}: {failure.test}", **place))  # type: ignore[arg-type] # file and line
    found += [annotation("error", problem) for problem in verdict.problems]
    if len(found) > most:
        more = f"{len(found) - most + 1} more problems; the summary of this run lists them."
        found = [*found[: most - 1], annotation("error", more)]
    return found


def for_log(text: str) -> str:
    """Return text for a log of GitHub, where lines such as ``::error::`` and ``##[group]`` would be commands."""
    text = re.sub(r"^(\s*):(?=:)", "\\1:\u2060", text, flags=re.MULTILINE)
    return text.replace("##[", "##\u2060[")


# -- sections ----------------------------------------------------------------------------------------------------------


def _opening(plan: Plan, results: Results) -> str:
    done = _of_plan(plan, results)
    failed = sum(not result.is_fine for result in done.values())
    left_out = sum(result.n_skipped for result in done.values())
    minutes = sum(result.duration_s for result in done.values()) / 60
    what = f"Commit {code(plan.head[:12])}" if plan.head else "The working tree"
    against = f" against {code(plan.base[:12])}" if plan.base else ""
    tested = f"{_count(len(done), 'plugin')} tested in {_duration(minutes)}" if done else "no plugin tested"
    more = [f"{failed} failed"] if failed else []
    more += [f"{_count(left_out, 'test')} skipped"] if left_out else []
    changed = f"{_count(len(plan.changed), 'changed file')}"
    return f"{what}{against}: {changed}, {', '.join([tested, *more])}."


def _problems(verdict: Verdict) -> _Section:
    items = (f"- {escape(problem)}" for problem in verdict.problems)
    head = ("### What is wrong", "")
    return _Section(name="problems", importance=100, items=items, total=len(verdict.problems), head=head)


def _refused(plan: Plan) -> _Section:
    head, rows = markdown.table(
        ["path", "why it must not be merged"],
        ([_path(refusal.path), escape(refusal.reason)] for refusal in plan.refused),
    )
    head = ["### Refused", "", *head]
    return _Section(name="refused paths", importance=90, items=rows, total=len(plan.refused), head=tuple(head))


def _plugins(plan: Plan, results: Results) -> _Section:
    done = _of_plan(plan, results)
    tasks = sorted(plan.tests, key=lambda task: (task.plugin in done and done[task.plugin].is_fine, task.plugin))
    header = ["plugin", "result", "ran", "failed", "skipped", "minutes"]
    head, rows = markdown.table(header, (_plugin_row(task.plugin, done.get(task.plugin)) for task in tasks))
    head = ["### Plugins", "", *head]
    return _Section(name="plugins", importance=70, items=rows, total=len(tasks), head=tuple(head))


def _plugin_row(name: PluginName, result: PluginResult | None) -> list[str]:
    if result is None:
        return [code(str(name)), "**no result**", "", "", "", ""]
    reasons: dict[str, int] = {}
    for skip in result.skipped:
        shown = skip.kind if skip.kind != "other" else _reason(skip.reason)
        reasons[shown] = reasons.get(shown, 0) + 1
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


def _reason(reason: str) -> str:
    return markdown.plain(re.sub(r"^(Skipped|unconditional skip):?\s*", "", reason), 80) or "no reason given"


def _failures(plan: Plan, results: Results) -> _Section:
    done = _of_plan(plan, results)

    def items() -> Iterator[str]:
        for name, result in done.items():
            for failure in result.failures:
                place = _place(failure.file, failure.line)
                fix = f"<br>Fix: {escape(failure.fix)}" if failure.fix else ""
                yield (
                    f"- {code(str(name))}, {code(failure.test) or 'a test'}{f' at {place}' if place else ''}: "
                    f"{code(failure.message, 600) or 'no message'}{fix}"
                )
            if _untold(result):
                yield f"- {code(str(name))}: {_count(_untold(result), 'more failure')}; the log of the run shows all"

    total = sum(len(result.failures) + (_untold(result) > 0) for result in done.values())
    return _Section(name="failures", importance=80, items=items(), total=total, head=("### Failures", ""))


def _untold(result: PluginResult) -> int:
    return max(0, result.n_failed + result.n_errors - len(result.failures))


def _messages(plan: Plan, results: Results) -> _Section:
    """Return the messages of several lines in full; `_failures` shows how they start."""
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
    return _Section(name="messages in full", importance=20, items=items, total=len(long), head=head)


def _scores(plan: Plan, results: Results) -> _Section:
    done = {(result.model, result.benchmark): result for result in results.pairs}
    header = ["model", "benchmark", "raw", "ceiling", "ceiled", "95 % interval"]
    head, rows = markdown.table(
        header,
        (
            [code(pair.model, 100), code(pair.benchmark, 100), *_score_cells(done.get((pair.model, pair.benchmark)))]
            for pair in plan.previews
        ),
    )
    about = "Of the reference models on what is new, and of new models on the public reference benchmarks."
    head = ["### Scores", "", about, "", *head]
    return _Section(name="scores", importance=75, items=rows, total=len(plan.previews), head=tuple(head))


def _score_cells(result: PairResult | None) -> list[str]:
    if result is None:
        return ["**no score**", "", "", ""]
    if result.status != "scored":
        message = f": {code(result.message, 200)}" if result.message else ""
        return [f"{escape(result.status, 200)}{message}", "", "", ""]
    interval = "" if result.interval is None else f"{result.interval[0]:.3f} to {result.interval[1]:.3f}"
    score = _shown(result.score) if result.score is not None else "not scorable"
    if not interval and result.error is not None:
        score += f" ± {result.error:.3f}"
    return [_shown(result.raw), _shown(result.ceiling), score, interval]


def _merging(plan: Plan) -> _Section:
    starts = "This starts" if plan.event in {"push", "workflow_dispatch"} else "Merging starts"
    text = f"{starts} scoring: {cost(plan.pairs)}." if plan.pairs else f"{starts} no scoring."
    return _Section(name="what merging starts", importance=110, items=[text], total=1)


def _reproduce(plan: Plan, results: Results) -> _Section:
    done = _of_plan(plan, results)
    failed = [task.plugin for task in plan.tests if task.plugin not in done or not done[task.plugin].is_fine]
    names = list(dict.fromkeys(name.name for name in failed or [task.plugin for task in plan.tests]))
    items = [_REPRODUCE.format(name=name) for name in names[:10]]
    head = ("### On your own machine", "", "```bash")
    return _Section(name="commands", importance=60, items=items, total=len(items), head=head, foot=("```", ""))


def _skipped(plan: Plan, results: Results) -> _Section:
    done = _of_plan(plan, results)

    def items() -> Iterator[str]:
        for skip in sorted(plan.skipped, key=lambda skip: "private" not in f"{skip.what} {skip.reason}"):
            yield f"- {escape(skip.what)}: {escape(skip.reason)}"
        for name, result in done.items():
            for test in sorted(result.skipped, key=lambda test: test.kind != "private"):
                kind = "" if test.kind == "other" else f"{test.kind}, "
                yield f"- {code(str(name))}, {code(test.test)}: {kind}{escape(_reason(test.reason))}"

    total = len(plan.skipped) + sum(len(result.skipped) for result in done.values())
    return _folded("skipped", f"Skipped ({_count(total, 'entry', 'entries')})", items(), total, 40)


def _notes(plan: Plan) -> _Section:
    notes = [note for note in plan.notes if note]
    items = (f"- {escape(note, 600)}" for note in notes)
    return _Section(name="notes", importance=50, items=items, total=len(notes), head=("### Notes", ""))


def _reasons(plan: Plan) -> _Section:
    pairs = (*plan.previews, *plan.pairs)
    items = itertools.chain(
        (f"- {code(str(task.plugin))} ← {_chain(task.reasons)}" for task in plan.tests),
        (f"- {code(pair.model)} on {code(pair.benchmark)} ← {_chain(pair.reasons)}" for pair in pairs),
    )
    title = f"Why these ({_count(len(plan.tests), 'plugin')} to test, {_count(len(pairs), 'score')})"
    return _folded("reasons", title, items, len(plan.tests) + len(pairs), 10)


def _folded(name: str, title: str, items: Iterable[str], total: int, importance: int) -> _Section:
    head, foot = (f"<details><summary>{title}</summary>", ""), ("", "</details>", "")
    return _Section(name=name, importance=importance, items=items, total=total, head=head, foot=foot)


# -- helpers -----------------------------------------------------------------------------------------------------------


def _fit(sections: Sequence[_Section], most: int) -> tuple[list[_Section], list[str]]:
    """Shorten sections until all take no more than some bytes, the least important first.

    The first few items of each are kept as long as possible, so that one long section does not hide all others.
    """
    kept = list(sections)
    excess = sum(section.size() for section in kept) - most
    order = sorted(range(len(kept)), key=lambda index: kept[index].importance)
    for floor, index in itertools.product((_FEW, 0), order):
        section = kept[index]
        items, before, freed = list(section.items), section.size(), 0
        while len(items) > floor and freed < excess:
            freed += _size(items.pop())
        kept[index] = replace(section, items=tuple(items))
        excess -= before - kept[index].size()
    shown = [len(tuple(section.items)) for section in kept]
    cuts = [
        f"{section.total - number:,} of {section.total:,} {section.name}"
        for section, number in zip(kept, shown, strict=True)
        if number < section.total
    ]
    return kept, cuts


def _of_plan(plan: Plan, results: Results) -> dict[PluginName, PluginResult]:
    planned = {task.plugin for task in plan.tests}
    return {result.plugin: result for result in results.plugins if result.plugin in planned}


def _chain(reasons: Iterable[str]) -> str:
    return " ← ".join(escape(reason) for reason in reasons)


def _size(line: str) -> int:
    return len(line.encode()) + 1


def _path(path: str) -> str:
    """Return a path as code; one with odd characters with escapes, so that nothing of it is hidden."""
    return code(path if path.isprintable() else ascii(path), 300)


def _place(file: str | None, line: int | None) -> str:
    return "" if file is None else _path(file if line is None else f"{file}:{line}")


def _is_inside(file: str | None) -> bool:
    return file is not None and not file.startswith(("/", "\\")) and ".." not in re.split(r"[/\\]", file)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _duration(minutes: float) -> str:
    if minutes < 1:
        return "under 1 min"
    return f"about {minutes:.0f} min" if minutes < 120 else f"about {minutes / 60:,.0f} h"


def _data(text: str) -> str:
    """Escape the message of a workflow command."""
    text = "".join(character for character in text if character.isprintable() or character in "\r\n")
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
