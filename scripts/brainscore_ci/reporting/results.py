"""Results of tests and scores, from the job that ran them to the report, which does not trust them."""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, Strict, TypeAdapter

from brainscore_ci.planning.plan import MOST_PAIRS, MOST_PLUGINS, Plan, Plugin
from brainscore_core.errors import CorruptFileError
from brainscore_core.files import atomic_path
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.record import Status as PairStatus
from brainscore_core.testing.machine import SkipKind
from brainscore_core.untrusted import (
    MOST_BYTES,
    Count,
    Flag,
    Line,
    Message,
    Name,
    PathText,
    Untrusted,
    at_most,
    read,
    read_start,
    shown,
)

SCHEMA_VERSION = 1
MOST_FAILURES, MOST_SKIPS = 100, 500  # per plugin
MOST_FINDINGS = 500

Status = Literal["passed", "failed", "error", "skipped"]
Value = Annotated[float, Strict(), Field(ge=-1e12, le=1e12)]
Seconds = Annotated[float, Strict(), Field(ge=0, le=1e9)]
_WORST: tuple[Status, ...] = ("error", "failed", "passed", "skipped")


@dataclass(frozen=True, kw_only=True)
class Failure(Untrusted):
    """One failed test, and its place relative to the repository."""

    test: Name
    message: Message
    file: PathText | None = None
    line: Count | None = None
    fix: Line = ""


@dataclass(frozen=True, kw_only=True)
class SkippedTest(Untrusted):
    """One skipped test, and why."""

    test: Name
    reason: Line
    kind: SkipKind = "other"


@dataclass(frozen=True, kw_only=True)
class PluginResult(Untrusted):
    """Test results of one plugin."""

    plugin: Plugin
    status: Status  # 'passed', 'failed', 'error' (a test could not run), or 'skipped' (none ran)
    n_passed: Count = 0
    n_failed: Count = 0
    n_errors: Count = 0
    n_skipped: Count = 0
    duration_s: Seconds = 0.0
    # The first of them, see `from_outcomes`
    failures: Annotated[tuple[Failure, ...], at_most(MOST_FAILURES)] = ()
    skipped: Annotated[tuple[SkippedTest, ...], at_most(MOST_SKIPS)] = ()
    reproduce: Line = ""

    @property
    def is_fine(self) -> bool:
        """Whether the plugin has no problem."""
        return self.status in {"passed", "skipped"}


@dataclass(frozen=True, kw_only=True)
class PairResult(Untrusted):
    """Result of scoring a model on a benchmark."""

    model: Name
    benchmark: Name
    status: PairStatus  # 'scored', 'not_applicable', 'failed:<class of the error>' or 'skipped:<reason>'
    # Score before normalisation, ceiling, score after it, and its standard error (`ScoreRecord.error`)
    raw: Value | None = None
    ceiling: Value | None = None
    score: Value | None = None
    error: Value | None = None
    interval: tuple[Value, Value] | None = None
    message: Message = ""
    simulated: Flag = False
    again: Value | None = None  # the score from another box, if it was scored twice

    @classmethod
    def of_record(cls, record: ScoreRecord, again: ScoreRecord | None = None) -> PairResult:
        """Copy a record's values, and the score of another one of the same pair."""
        values = {field.name: getattr(record, field.name) for field in fields(cls) if field.name != "again"}
        return cls(**values, again=None if again is None else again.score)

    @property
    def is_reproduced(self) -> bool:
        """Whether two boxes gave the same score."""
        return self.score is not None and self.again is not None and math.isclose(self.score, self.again, rel_tol=1e-6)

    @property
    def is_fine(self) -> bool:
        """Whether it did not fail."""
        return not self.status.startswith("failed:")


@dataclass(frozen=True, kw_only=True)
class FoundProblem(Untrusted):
    """One finding of the static checks."""

    path: PathText
    line: Count
    rule: Name
    message: Message
    fix: Message = ""
    is_error: Flag = True  # hints may be intended


@dataclass(frozen=True, kw_only=True)
class AddedPlugin(Untrusted):
    """Metadata of a new plugin."""

    plugin: Plugin
    access: Line = ""
    licence: Line = ""
    citation: Line = ""


@dataclass(frozen=True, kw_only=True)
class CheckResult(Untrusted):
    """Findings of the static checks.

    `findings` are the first of them, errors before hints.
    """

    n_errors: Count = 0
    n_hints: Count = 0
    findings: Annotated[tuple[FoundProblem, ...], at_most(MOST_FINDINGS)] = ()
    new: Annotated[tuple[AddedPlugin, ...], at_most(MOST_PLUGINS)] = ()


@dataclass(frozen=True)
class Results:
    """Results of a run; ``check`` is None if it has no static checks."""

    plugins: tuple[PluginResult, ...] = ()
    pairs: tuple[PairResult, ...] = ()
    check: CheckResult | None = None

    def to_json(self, most_bytes: int = MOST_BYTES) -> str:
        """Return the results as JSON.

        If it got too large, plugins keep fewer failures and skipped tests; all stay counted.
        """
        content = _FILE.dump_python(_File(SCHEMA_VERSION, self.plugins, self.pairs, self.check))
        for most in (MOST_SKIPS, 20, 5, 1, 0):
            if content["check"]:
                content["check"]["findings"] = content["check"]["findings"][:most]
            for result in content["plugins"]:
                result["failures"], result["skipped"] = result["failures"][:most], result["skipped"][:most]
            written = json.dumps(content, indent=1, allow_nan=False) + "\n"  # ASCII: bytes equal characters
            if len(written) <= most_bytes:
                break
        return written

    @classmethod
    def from_json(cls, data: str | bytes) -> Results:
        """Read the form that `to_json` writes, and no other.

        Raises `CorruptFileError` if it is too large or anything is unexpected.
        """
        content = read(_FILE, data, "results")
        return cls(content.plugins, content.pairs, content.check)

    @classmethod
    def merge(cls, parts: Iterable[Results]) -> Results:
        """Merge results of jobs; of duplicates the worst counts."""
        plugins: dict[Plugin, PluginResult] = {}
        pairs: dict[tuple[str, str], PairResult] = {}
        check: CheckResult | None = None
        for part in parts:
            for plugin in part.plugins:
                other = plugins.get(plugin.plugin)
                if other is None or _WORST.index(plugin.status) < _WORST.index(other.status):
                    plugins[plugin.plugin] = plugin
            for pair in part.pairs:
                key = (pair.model, pair.benchmark)
                pairs[key] = min(pairs.get(key, pair), pair, key=lambda one: (one.is_fine, one.is_reproduced))
            check = check or part.check
        ordered = (tuple(plugins[name] for name in sorted(plugins)), tuple(pairs[key] for key in sorted(pairs)))
        return cls(*ordered, check)


@dataclass(frozen=True)
class _File(Untrusted):
    """Written form; only the static checks may be absent."""

    schema_version: Annotated[int, Strict(), Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)]
    plugins: Annotated[tuple[PluginResult, ...], at_most(MOST_PLUGINS)]
    pairs: Annotated[tuple[PairResult, ...], at_most(MOST_PAIRS)]
    check: CheckResult | None = None


_FILE = TypeAdapter(_File)


def read_folder(folder: Path) -> tuple[Results, tuple[str, ...]]:
    """Read all results below a folder.

    Returns
    -------
    Results
        All readable results, merged.
    tuple of str
        Problems with the other files.
    """
    parts, problems = [], []
    for file in sorted(folder.rglob("*.json")):
        if file.is_symlink() or not file.is_file():
            problems.append(f"{shown(file.name)} is no file of its own")
            continue
        try:
            parts.append(Results.from_json(read_start(file)))
        except CorruptFileError as error:
            problems.append(f"{shown(file.name)}: {error}")
    return Results.merge(parts), tuple(problems)


# -- Write and read a run's artifact with its plan and results; anybody may have made it -------------------------------

MOST_ZIP = 4 * 2**20  # bytes of an artifact; plans and results compress well
_PLAN, _RESULTS = "plan.json", "results.json"


def write_bundle(folder: Path, plan: Plan, results: Results) -> None:
    """Write the files of the artifact."""
    for name, content in {_PLAN: plan.to_json(), _RESULTS: results.to_json()}.items():
        with atomic_path(folder / name) as temporary:
            temporary.write_text(content, encoding="utf-8")


def read_bundle(data: bytes) -> tuple[Plan, Results]:
    """Read the artifact of a run, an untrusted zip file."""
    content = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = sorted(info.filename for info in archive.infolist())
            if names != sorted((_PLAN, _RESULTS)):
                raise CorruptFileError(f"Expected {_PLAN} and {_RESULTS} in the artifact; found {shown(str(names))}.")
            for info in archive.infolist():
                # Other compressions cannot be stopped in time; the declared size may be wrong.
                if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
                    raise CorruptFileError(f"{info.filename} is encrypted, or packed in an unusual way.")
                with archive.open(info) as member:
                    content[info.filename] = member.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, CorruptFileError):
            raise
        raise CorruptFileError(f"The artifact is no zip file: {shown(str(error))}.") from error
    return Plan.from_json(content[_PLAN]), Results.from_json(content[_RESULTS])
