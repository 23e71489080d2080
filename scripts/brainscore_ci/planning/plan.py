"""Represent a plan as values and as the file that jobs pass on.

Anybody may have written the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import GetPydanticSchema, PlainSerializer, PlainValidator
from pydantic_core import core_schema

from brainscore_ci.planning.areas import PluginName
from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.scoring.pairs import Cost, Pair, Reasons
from brainscore_core.untrusted import (
    MOST_NAME,
    Count,
    Flag,
    Identifier,
    Message,
    Name,
    PathText,
    Untrusted,
    adapter_of,
    at_most,
    read,
    read_start,
)

MOST_PLUGINS, MOST_PAIRS = 5_000, 100_000
_MOST_PATHS = 100_000
_MOST_PLANNED = 300_000  # pairs; enough to score a whole community tree for the first time


def _plugin(value: object) -> PluginName:
    try:
        if isinstance(value, str) and len(value) <= MOST_NAME:
            return PluginName.parse(value)
    except ValueError:
        pass  # the message of PluginName repeats the value
    raise ValueError("expected a plugin such as benchmarks/name")


Event = Literal["local", "merge_group", "pull_request", "push", "schedule", "workflow_dispatch"]
Plugin = Annotated[PluginName, PlainValidator(_plugin), PlainSerializer(str)]


class NoPlanError(CorruptFileError, ConfigurationError):
    """A file given as a plan holds none."""


@dataclass(frozen=True, kw_only=True)
class TestTask(Untrusted):
    """Tests of one plugin to run, and why, from the plugin back to the change."""

    __test__ = False  # pytest would collect it for its name

    plugin: Plugin
    reasons: Reasons
    minutes: Cost
    memory_gb: Cost
    private_tests: Count = 0
    with_private: Flag = False


@dataclass(frozen=True)
class Skip(Untrusted):
    """Something left out on purpose, and why."""

    what: Message
    reason: Message


@dataclass(frozen=True)
class Refusal(Untrusted):
    """A path that must not be merged as it is, and why."""

    path: PathText
    reason: Message


_Reason = tuple[tuple[str, ...], float, float, bool]  # common to the pairs of a group


@dataclass(frozen=True)
class PairGroup(Untrusted):
    """Every one of some models on every one of some benchmarks, planned for the same reasons."""

    models: Annotated[tuple[Identifier, ...], at_most(MOST_PAIRS)]
    benchmarks: Annotated[tuple[Identifier, ...], at_most(MOST_PAIRS)]
    reasons: Reasons
    minutes: Cost
    memory_gb: Cost
    private: Flag = False


def fold(pairs: Iterable[Pair]) -> tuple[PairGroup, ...]:
    """Group pairs, such as 12 models x 3 benchmarks."""
    alike: dict[tuple[str, _Reason], list[str]] = {}
    for pair in sorted(pairs, key=_by_names):
        reason = (pair.reasons, pair.minutes, pair.memory_gb, pair.private)
        alike.setdefault((pair.benchmark, reason), []).append(pair.model)
    benchmarks: dict[tuple[tuple[str, ...], _Reason], list[str]] = {}
    for (benchmark, reason), models in alike.items():
        benchmarks.setdefault((tuple(models), reason), []).append(benchmark)
    return tuple(PairGroup(models, tuple(some), *reason) for (models, reason), some in benchmarks.items())


def _by_names(pair: Pair) -> tuple[str, str]:
    return pair.model, pair.benchmark


def _unfolded(groups: tuple[PairGroup, ...]) -> tuple[Pair, ...]:
    total = sum(len(group.models) * len(group.benchmarks) for group in groups)
    if total > _MOST_PLANNED:
        raise ValueError(f"expected at most {_MOST_PLANNED} pairs, not {total}")
    pairs = [
        Pair(model, benchmark, group.minutes, group.memory_gb, private=group.private, reasons=group.reasons)
        for group in groups
        for model in group.models
        for benchmark in group.benchmarks
    ]
    return tuple(sorted(pairs, key=_by_names))


_Groups = Annotated[tuple[PairGroup, ...], at_most(MOST_PAIRS)]


# Grouped in a file, single in memory.
Pairs = Annotated[
    tuple[Pair, ...],
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(_unfolded, handler.generate_schema(_Groups))
    ),
    PlainSerializer(lambda pairs: adapter_of(tuple[PairGroup, ...]).dump_python(fold(pairs))),
]


@dataclass(frozen=True, kw_only=True)
class Plan(Untrusted):
    """What to do about a change."""

    # Compared commits, see `ChangeSet`
    base: Name | None
    head: Name | None
    event: Event
    changed: Annotated[tuple[PathText, ...], at_most(_MOST_PATHS)]  # every path that differs
    tests: Annotated[tuple[TestTask, ...], at_most(MOST_PLUGINS)] = ()
    pairs: Pairs = ()  # to score after the merge, or now on a push; each once
    # To score on a pull request: its plugins with the reference models or benchmarks, public data only
    previews: Pairs = ()
    stale: Pairs = ()  # whose record the change may make stale and nothing replaces
    skipped: Annotated[tuple[Skip, ...], at_most(MOST_PAIRS)] = ()
    refused: Annotated[tuple[Refusal, ...], at_most(_MOST_PATHS)] = ()  # if there is any, nothing may run
    notes: Annotated[tuple[Message, ...], at_most(1_000)] = ()
    # "plugins only: " and the plugins, if the library's own checks have nothing to check; see `reason_for_library`
    plugins_only: Message = ""

    def to_json(self) -> str:
        """Return the plan as JSON, with pairs in groups (`fold`), as a changed metric may affect fifty thousand."""
        return json.dumps(adapter_of(Plan).dump_python(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, data: str | bytes) -> Plan:
        """Read the form that `to_json` writes; raise `NoPlanError` for any other."""
        try:
            return read(adapter_of(Plan), data, "plan")
        except CorruptFileError as error:
            raise NoPlanError(f"This is no plan: {error} Make it again with nox -s plan -- --json.") from error

    @classmethod
    def read(cls, path: Path) -> Plan:
        """Read a file, see `from_json`."""
        try:
            return cls.from_json(read_start(path))
        except CorruptFileError:
            raise
        except OSError as error:
            raise NoPlanError(f"{path} cannot be read: {error}. Make it with nox -s plan -- --json.") from error
