"""Reduce results of jobs with private data to the public part: nothing that a plugin wrote.

Logs and artifacts of a public repository are public. Only status, counts, error classes of the library or Python, names
from the sources, and scores remain.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import re
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from brainscore_ci.reporting.results import Failure, PluginResult, SkippedTest
from brainscore_core import errors
from brainscore_core.identity import software
from brainscore_core.records.record import NOT_APPLICABLE, ScoreRecord

OTHER_ERROR = "OtherError"
"""Replaces other classes, since a plugin could encode data in their names."""

SKIPPED = "private data are not available"
"""Reason to skip private pairs."""

_NAMED = frozenset(
    {
        *(name for name in vars(builtins) if isinstance(vars(builtins)[name], type(Exception))),
        *errors.__all__,
        # External endings, and reasons for a missing record.
        *("Timeout", "MemoryLimit", "NoRecord", "NotStarted", "CandidateDied", "CandidateTimeout", "InvalidAnswer"),
    }
)
_ENDED = re.compile(r"Signal\d{1,2}|Exit\d{1,3}", re.ASCII)
_ROUNDED_S = 10.0
_ROUNDED_BYTES = 100_000_000
# Numbers, and words of closed lists. Sketches of influences stay private: who guesses the names of neuroids reads a
# value of each from them.
_KEPT = (
    *("benchmark_version", "score", "raw", "ceiling", "error", "interval", "error_df", "simulated", "seed", "chance"),
    *("raw_error", "raw_interval", "raw_error_df", "ceiling_error", "ceiling_interval", "stimulus_error"),
    *("split_error", "n_stimuli", "n_neuroids", "n_trials", "n_subjects", "n_clusters", "n_tested_in_training"),
    "presentation_order",
)
_CLUSTERS = ("object_name", "category", "scene", "video", "session")
_SOURCES = (
    *("stimulus", "stimulus_block", "presentation", *_CLUSTERS),
    *("neuroid", "subject", "trial", "split", "repetition", "triplet"),
)
_NORMALIZATIONS = ("explained_variance", "ceil_score")
_SEEDS, _MOST_SEED = ("raw", "ceiling"), 2**32
_MACHINES = ("Linux-x86_64", "Linux-aarch64", "Darwin-arm64", "Darwin-x86_64", "Windows-AMD64")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){1,3}((a|b|rc|\.dev|\.post)\d{1,3})?(\+(cpu|cu\d{2,3}))?", re.ASCII)


def known_error(name: str) -> str:
    """Return an error's class, such as ``'Timeout'`` or ``'SIGSEGV'``, or `OTHER_ERROR` if a plugin chose it."""
    is_known = name in _NAMED or name in signal.Signals.__members__ or _ENDED.fullmatch(name)
    return name if is_known else OTHER_ERROR


def public_record(record: ScoreRecord, revision_of: Callable[[str, str], str | None]) -> ScoreRecord:
    """Return a record of a private pair with its numbers, but only with text that this process knows or a list names.

    Any text and digest could hold data. Time is rounded to 10 s, memory to 100 MB. ``revision_of('model' or
    'benchmark', identifier)`` returns the revision in this checkout.
    """
    memory = record.peak_memory_bytes
    bare = ScoreRecord.without_score(
        _public_status(record.status),
        model=record.model,
        benchmark=record.benchmark,
        duration_s=_rounded(record.duration_s),
        peak_memory_bytes=None if memory is None else _ROUNDED_BYTES * round(memory / _ROUNDED_BYTES),
        source_revision=_own_revision(),
        model_revision=revision_of("model", record.model),
        benchmark_revision=revision_of("benchmark", record.benchmark),
        versions={
            name: version
            for name, version in record.versions.items()
            if name in software.REPORTED and _VERSION.fullmatch(version)
        },
        normalization=record.normalization if record.normalization in _NORMALIZATIONS else None,
        error_over=_known_sources(record.error_over),
        ceiling_error_over=_known_sources(record.ceiling_error_over),
        seeds={name: seed for name, seed in record.seeds.items() if name in _SEEDS and 0 <= seed < _MOST_SEED},
    )
    created = record.created if _TIME.fullmatch(record.created) else bare.created
    machine = record.machine if record.machine in _MACHINES else bare.machine
    kept = {name: getattr(record, name) for name in _KEPT}
    return dataclasses.replace(bare, created=created, machine=machine, **kept)


_own_revision = cache(software.source_revision)


def _public_status(status: str) -> str:
    if status in ("scored", NOT_APPLICABLE):
        return status
    kind, _, name = status.partition(":")
    if kind == "skipped":
        return f"skipped:{SKIPPED}"
    return f"failed:{known_error(name)}"


def _known_sources(sources: Sequence[str]) -> tuple[str, ...]:
    return tuple(source for source in _SOURCES if source in sources)


def public_result(result: PluginResult, tests: Mapping[str, tuple[str, int]]) -> PluginResult:
    """Return results of tests with private data without their output, and without names that are not in `tests`."""
    return dataclasses.replace(
        result,
        duration_s=_rounded(result.duration_s) or 0.0,
        failures=tuple(_public_failure(failure, tests) for failure in result.failures),
        skipped=tuple(
            SkippedTest(test=_written(skip.test, tests), reason=skip.kind, kind=skip.kind) for skip in result.skipped
        ),
    )


def written_tests(files: Iterable[Path], repository: Path) -> dict[str, tuple[str, int]]:
    """Return name, such as ``'TestCeiling::test_value'``, -> (file, line) of all tests in parsable sources."""
    places: dict[str, tuple[str, int]] = {}
    for file in files:
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        path = file.relative_to(repository).as_posix() if file.is_relative_to(repository) else file.name
        for node in tree.body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
            for statement in inner:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    places.setdefault(f"{prefix}{statement.name}", (path, statement.lineno))
    return places


def _public_failure(failure: Failure, tests: Mapping[str, tuple[str, int]]) -> Failure:
    name = _written(failure.test, tests)
    file, line = tests.get(name, (None, None))
    said = re.match(r"(?:[\w.]*\.)?(\w+)", failure.message, re.ASCII)
    error = "AssertionError" if failure.message.startswith("assert ") else known_error(said[1] if said else "")
    message = f"{error}; its message stays private: run the command below where the data are available"
    return Failure(test=name, message=message, file=file, line=line)


def _written(test: str, tests: Mapping[str, tuple[str, int]]) -> str:
    """Return a test's name as in the sources, without parameters."""
    name = test.partition("[")[0]
    return name if name in tests else "a test"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else _ROUNDED_S * round(seconds / _ROUNDED_S)
