"""Reduce results of jobs with private data to the public part: nothing that a plugin wrote.

Logs and artifacts of a public repository are public. Searching a plugin's output for secrets does not help, since it
can encode them; so only these remain: status, counts, error classes of the library or Python, names from the sources,
and scores.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from brainscore_ci.reporting.results import Failure, PluginResult, SkippedTest
from brainscore_core import errors
from brainscore_core.records.record import ScoreRecord

__all__ = ["OTHER_ERROR", "known_error", "public_record", "public_result", "written_tests"]

OTHER_ERROR = "OtherError"
"""Replaces classes that neither Python nor the library defines: a plugin could encode data in their names."""

_NAMED = frozenset(
    {
        *(name for name in vars(builtins) if isinstance(vars(builtins)[name], type(Exception))),
        *errors.__all__,
        # External endings, and reasons for a missing record.
        *("Timeout", "MemoryLimit", "NoRecord", "NotStarted", "CandidateDied", "CandidateTimeout", "InvalidAnswer"),
    }
)
_ENDED = re.compile(r"SIG[A-Z]{2,8}|Signal\d{1,2}|Exit\d{1,3}", re.ASCII)
_ROUNDED_S = 10.0
_ROUNDED_BYTES = 100_000_000
# Fields that the record of a private pair keeps: numbers, and facts known without the model. Layer names and weight
# digests are the model's own words; reasons and messages may be anybody's.
_KEPT = frozenset(
    {
        *("model", "benchmark", "benchmark_version", "score", "raw", "ceiling", "error", "interval", "error_df"),
        *("raw_error", "raw_interval", "raw_error_df", "raw_influence", "normalization", "chance", "seeds"),
        *("ceiling_error", "ceiling_interval", "ceiling_error_over"),
        *("stimulus_error", "split_error", "error_over", "influence", "stimulus_set", "assembly", "simulated", "seed"),
        *("n_stimuli", "n_neuroids", "n_trials", "n_subjects", "created", "versions", "machine", "source_revision"),
        *("model_revision", "benchmark_revision", "version_class", "data", "plugins", "library", "environment"),
        *("candidate_environment", "schema_version"),
    }
)


def known_error(name: str) -> str:
    """Return the class of an error if its name reveals only what happened, else `OTHER_ERROR`.

    Parameters
    ----------
    name : str
        Such as ``'ValueError'``, ``'Timeout'`` or ``'SIGSEGV'``, or any name a plugin chose.
    """
    return name if name in _NAMED or _ENDED.fullmatch(name) else OTHER_ERROR


def public_record(record: ScoreRecord) -> ScoreRecord:
    """Return a record of a private pair without anything the model could have written.

    Drops messages, layer names and values of single neuroids; rounds time to 10 s and memory to 100 MB.
    """
    kind, colon, name = record.status.partition(":")
    status = f"failed:{known_error(name)}" if kind == "failed" and colon else record.status
    bare = ScoreRecord.without_score(
        status, model=record.model, benchmark=record.benchmark, duration_s=_rounded(record.duration_s)
    )
    memory = record.peak_memory_bytes
    rounded = None if memory is None else _ROUNDED_BYTES * round(memory / _ROUNDED_BYTES)
    return dataclasses.replace(bare, peak_memory_bytes=rounded, **{name: getattr(record, name) for name in _KEPT})


def public_result(result: PluginResult, tests: Mapping[str, tuple[str, int]]) -> PluginResult:
    """Return results of tests with private data without their output.

    Parameters
    ----------
    tests : mapping of str to (str, int)
        Names from the sources, see `written_tests`; other names are replaced.
    """
    return dataclasses.replace(
        result,
        duration_s=_rounded(result.duration_s) or 0.0,
        failures=tuple(_public_failure(failure, tests) for failure in result.failures),
        skipped=tuple(
            SkippedTest(test=_written(skip.test, tests), reason=skip.kind, kind=skip.kind) for skip in result.skipped
        ),
    )


def written_tests(files: Iterable[Path], repository: Path) -> dict[str, tuple[str, int]]:
    """Return name -> (file, line) of all tests in the sources, such as ``'TestCeiling::test_value'``.

    Files are parsed, not run; those that cannot be parsed are skipped. The returned paths are relative to `repository`.
    """
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
