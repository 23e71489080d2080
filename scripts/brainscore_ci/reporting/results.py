"""Hand over what tests and scores gave, from the job that ran them to whoever reports it.

What is read here may come from anybody: files are checked by hand for size, keys, types and lengths before anything is
made of them, and what is wrong is said without repeating more than a few harmless characters of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Event, Pair, PairGroup, Plan, Refusal, Skip, TestTask, unfold
from brainscore_ci.reporting.schema import (
    MOST_BYTES,
    boolean,
    entry,
    integer,
    list_of,
    number,
    one_of,
    optional,
    parse,
    shown,
    text,
    wrong,
)
from brainscore_core.errors import CorruptFileError

if TYPE_CHECKING:
    from brainscore_core.scoring.records import ScoreRecord

__all__ = [
    "Failure",
    "PairResult",
    "PluginResult",
    "Results",
    "SkippedTest",
    "read_folder",
    "read_plan",
]

SCHEMA_VERSION = 1
MOST_FAILURES, MOST_SKIPS, MOST_PLUGINS, MOST_PAIRS = 100, 500, 5_000, 100_000
MOST_PLANNED = 300_000  # pairs: those of a whole community tree that is scored for the first time
MOST_NAME, MOST_LINE, MOST_MESSAGE, MOST_PATH = 400, 1_000, 4_000, 4_096

Status = Literal["passed", "failed", "error", "skipped"]
SkipKind = Literal["private", "slow", "gpu", "network", "memory", "other"]
_WORST: tuple[Status, ...] = ("error", "failed", "passed", "skipped")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One test that failed.

    Attributes
    ----------
    test : str
        Its name.
    message : str
    file : str or None
        Where it failed, relative to the repository.
    line : int or None
        Counted from 1.
    fix : str
        What to do; empty if nobody knows.
    """

    test: str
    message: str
    file: str | None = None
    line: int | None = None
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class SkippedTest:
    """One test that did not run, and why."""

    test: str
    reason: str
    kind: SkipKind = "other"


@dataclass(frozen=True, kw_only=True)
class PluginResult:
    """What the tests of one plugin gave.

    Attributes
    ----------
    plugin : PluginName
    status : str
        'passed', 'failed', 'error' (a test could not be run), or 'skipped' (none ran).
    n_passed, n_failed, n_errors, n_skipped : int
        Tests.
    duration_s : float
    failures : tuple of Failure
        The first of them, see `from_junit`.
    skipped : tuple of SkippedTest
        The first of them.
    reproduce : str
        Command line that gives the same on another machine.
    """

    plugin: PluginName
    status: Status
    n_passed: int = 0
    n_failed: int = 0
    n_errors: int = 0
    n_skipped: int = 0
    duration_s: float = 0.0
    failures: tuple[Failure, ...] = ()
    skipped: tuple[SkippedTest, ...] = ()
    reproduce: str = ""

    @property
    def is_fine(self) -> bool:
        """Whether nothing speaks against the plugin."""
        return self.status in {"passed", "skipped"}


@dataclass(frozen=True, kw_only=True)
class PairResult:
    """What scoring a model on a benchmark gave.

    Attributes
    ----------
    model, benchmark : str
        Identifiers.
    status : str
        'scored', 'failed:<class of the error>' or 'skipped:<reason>'.
    raw, ceiling, score, error : float or None
        Score before normalisation, ceiling, score after it, and its standard error.
    interval : tuple of float or None
        95 % interval of the score.
    message : str
        What the error said.
    """

    model: str
    benchmark: str
    status: str
    raw: float | None = None
    ceiling: float | None = None
    score: float | None = None
    error: float | None = None
    interval: tuple[float, float] | None = None
    message: str = ""

    @classmethod
    def of_record(cls, record: ScoreRecord) -> PairResult:
        """Take over what a record says."""
        return cls(
            model=record.model,
            benchmark=record.benchmark,
            status=record.status,
            raw=record.raw,
            ceiling=record.ceiling,
            score=record.score,
            error=record.error,
            interval=record.interval,
            message=record.message,
        )

    @property
    def is_fine(self) -> bool:
        """Whether it was scored, or left out on purpose."""
        return not self.status.startswith("failed:")


@dataclass(frozen=True)
class Results:
    """What a run gave.

    Attributes
    ----------
    plugins : tuple of PluginResult
    pairs : tuple of PairResult
    """

    plugins: tuple[PluginResult, ...] = ()
    pairs: tuple[PairResult, ...] = ()

    def to_json(self, most_bytes: int = MOST_BYTES) -> str:
        """Return the results as JSON text; plugins are written as folder/name.

        Where it would get too large, fewer failures and skipped tests of each plugin are kept; all stay counted.
        """
        for most in (MOST_SKIPS, 20, 5, 1, 0):
            content = {"schema_version": SCHEMA_VERSION, **asdict(self)}
            for result, content_of in zip(self.plugins, content["plugins"], strict=True):
                content_of["plugin"] = str(result.plugin)
                for key in ("failures", "skipped"):
                    content_of[key] = content_of[key][:most]
            written = json.dumps(content, indent=1, allow_nan=False) + "\n"  # ASCII: as many bytes as characters
            if len(written) <= most_bytes:
                break
        return written

    @classmethod
    def from_json(cls, data: str | bytes) -> Results:
        """Read what `to_json` wrote, and nothing else.

        Raises
        ------
        CorruptFileError
            If it is too large, no JSON, or a key, type, number or length is not as expected.
        """
        results: Results = _RESULTS(parse(data, "results"), "results")
        return results

    @classmethod
    def merge(cls, parts: Iterable[Results]) -> Results:
        """Join the results of several jobs; of a plugin or pair that is there twice, the worst is kept."""
        plugins: dict[PluginName, PluginResult] = {}
        pairs: dict[tuple[str, str], PairResult] = {}
        for part in parts:
            for plugin in part.plugins:
                other = plugins.get(plugin.plugin)
                if other is None or _WORST.index(plugin.status) < _WORST.index(other.status):
                    plugins[plugin.plugin] = plugin
            for pair in part.pairs:
                known = pairs.get((pair.model, pair.benchmark))
                if known is None or (known.is_fine and not pair.is_fine):
                    pairs[pair.model, pair.benchmark] = pair
        return cls(tuple(plugins[name] for name in sorted(plugins)), tuple(pairs[key] for key in sorted(pairs)))


def read_folder(folder: Path) -> tuple[Results, tuple[str, ...]]:
    """Read all results below a folder.

    Returns
    -------
    Results
        All that can be read, merged.
    tuple of str
        What is wrong with the other files.
    """
    parts, problems = [], []
    for file in sorted(folder.rglob("*.json")):
        if file.is_symlink() or not file.is_file():
            problems.append(f"{shown(file.name)} is no file of its own")
            continue
        try:
            with file.open("rb") as stream:
                parts.append(Results.from_json(stream.read(MOST_BYTES + 1)))
        except CorruptFileError as error:
            problems.append(f"{shown(file.name)}: {error}")
    return Results.merge(parts), tuple(problems)


def read_plan(data: str | bytes) -> Plan:
    """Read a plan that may come from anybody; `Plan.from_json` believes what it reads.

    Raises
    ------
    CorruptFileError
        If it is too large, no JSON, or a key, type, number or length is not as expected.
    """
    plan: Plan = _PLAN(parse(data, "plan"), "plan")
    return plan


# -- what is expected --------------------------------------------------------------------------------------------------


def _plugin(value: object, where: str) -> PluginName:
    try:
        return PluginName.parse(text(MOST_NAME)(value, where))
    except ValueError as error:
        raise wrong(where, "a plugin such as benchmarks/name", value) from error


def _status_of_pair(value: object, where: str) -> str:
    status: str = text(MOST_LINE)(value, where)
    if status != "scored" and not re.fullmatch(r"failed:[A-Za-z_][\w.]{0,99}|skipped:.{1,900}", status, re.ASCII):
        raise wrong(where, "'scored', 'failed:<class>' or 'skipped:<reason>'", value)
    return status


def _interval(value: object, where: str) -> tuple[float, float]:
    ends = list_of(_SCORE, 2)(value, where)
    if len(ends) != 2:
        raise wrong(where, "two numbers", value)
    return ends[0], ends[1]


_COUNT, _SCORE, _MINUTES = integer(10**7), number(-1e12, 1e12), number(0, 1e9)
_REASONS = list_of(text(MOST_MESSAGE), 1_000)
_RESULTS = entry(
    lambda schema_version, plugins, pairs: Results(plugins, pairs),  # noqa: ARG005 - checked, and no longer needed
    schema_version=one_of(SCHEMA_VERSION),
    plugins=list_of(
        entry(
            PluginResult,
            plugin=_plugin,
            status=one_of(*get_args(Status)),
            n_passed=_COUNT,
            n_failed=_COUNT,
            n_errors=_COUNT,
            n_skipped=_COUNT,
            duration_s=number(0, 1e9),
            failures=list_of(
                entry(
                    Failure,
                    test=text(MOST_NAME),
                    message=text(MOST_MESSAGE),
                    file=optional(text(MOST_PATH)),
                    line=optional(_COUNT),
                    fix=text(MOST_LINE),
                ),
                MOST_FAILURES,
            ),
            skipped=list_of(
                entry(SkippedTest, test=text(MOST_NAME), reason=text(MOST_LINE), kind=one_of(*get_args(SkipKind))),
                MOST_SKIPS,
            ),
            reproduce=text(MOST_LINE),
        ),
        MOST_PLUGINS,
    ),
    pairs=list_of(
        entry(
            PairResult,
            model=text(MOST_NAME),
            benchmark=text(MOST_NAME),
            status=_status_of_pair,
            raw=optional(_SCORE),
            ceiling=optional(_SCORE),
            score=optional(_SCORE),
            error=optional(_SCORE),
            interval=optional(_interval),
            message=text(MOST_MESSAGE),
        ),
        MOST_PAIRS,
    ),
)
_PAIR_GROUPS = list_of(
    entry(
        PairGroup,
        models=list_of(text(MOST_NAME), MOST_PAIRS),
        benchmarks=list_of(text(MOST_NAME), MOST_PAIRS),
        reasons=_REASONS,
        minutes=_MINUTES,
        memory_gb=_MINUTES,
        private=boolean,
    ),
    MOST_PAIRS,
)


def _planned_pairs(value: object, where: str) -> tuple[Pair, ...]:
    groups: tuple[PairGroup, ...] = _PAIR_GROUPS(value, where)
    total = sum(len(group.models) * len(group.benchmarks) for group in groups)
    if total > MOST_PLANNED:
        raise wrong(where, f"at most {MOST_PLANNED} pairs", total)
    return unfold(groups)


_PLAN = entry(
    Plan,
    base=optional(text(MOST_NAME)),
    head=optional(text(MOST_NAME)),
    event=one_of(*get_args(Event)),
    changed=list_of(text(MOST_PATH), 100_000),
    tests=list_of(
        entry(
            TestTask,
            plugin=_plugin,
            reasons=_REASONS,
            minutes=_MINUTES,
            memory_gb=_MINUTES,
            private_tests=_COUNT,
            with_private=boolean,
        ),
        MOST_PLUGINS,
    ),
    pairs=_planned_pairs,
    previews=_planned_pairs,
    skipped=list_of(entry(Skip, what=text(MOST_MESSAGE), reason=text(MOST_MESSAGE)), MOST_PAIRS),
    refused=list_of(entry(Refusal, path=text(MOST_PATH), reason=text(MOST_MESSAGE)), 100_000),
    notes=list_of(text(MOST_MESSAGE), 1_000),
)
