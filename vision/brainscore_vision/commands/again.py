"""The commands ``brainscore renormalise``, ``rescore`` and ``reproduce``: results from records and cache."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import brainscore_core
import brainscore_vision
from brainscore_core import command_line
from brainscore_core.errors import BrainScoreError, ConfigurationError, DataNotHereError, did_you_mean
from brainscore_core.identity import digest
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model
from brainscore_vision.commands.options import RecordsOption  # noqa: TC001 - typer reads it
from brainscore_vision.loading import find_plugin_directory, known_identifiers, load_benchmark, load_model

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["renormalise", "reproduce", "rescore"]

_CHANGES = ("MODEL", "RAW", "CEILING", "NEW CEILING", "SCORE", "NEW SCORE", "ERROR", "NEW ERROR", "NOTE")
_MOST_SHOWN = 5


def renormalise(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK", help="benchmark whose ceiling has changed", autocompletion=complete_benchmark
        ),
    ],
    records: RecordsOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the table without changing a record")] = False,
) -> int:
    """Divide the raw scores of all records of a benchmark by its present ceiling, without running any model.

    Use it if only the ceiling has changed: the records then count as scored with the present benchmark. Scores
    composed of parts with separate ceilings are left unchanged, with exit code 1.
    """
    from brainscore_core.identity import software  # this and the next: slow to import, and completion does without
    from brainscore_core.records import recompute
    from brainscore_vision.commands.records import number, records_folder

    folder = records_folder(records)
    loaded = load_benchmark(benchmark)
    version = loaded.version
    changes = recompute.renormalise(
        folder,
        benchmark,
        loaded.ceiling,
        version=version if isinstance(version, int) else None,
        revision=software.folder_revision(find_plugin_directory("benchmark", benchmark)),
        dry_run=dry_run,
    )
    if not changes:
        raise DataNotHereError(f"{benchmark!r} has no record in {folder}.")
    rows = []
    for change in changes:
        before, after = change.before, change.after
        pairs = ((before.ceiling, after.ceiling), (before.score, after.score), (before.error, after.error))
        done = "unchanged" if not change.is_new else "would change" if dry_run else "changed"
        numbers = (number(value) for pair in pairs for value in pair)
        rows.append((before.model, number(before.raw), *numbers, change.problem or done))
    command_line.print_table(_CHANGES, rows)
    return command_line.FAILED if any(change.problem for change in changes) else 0


def rescore(
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="score on benchmarks with the same recordings and this metric"),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="BENCHMARK...", help="score on these benchmarks", autocompletion=complete_benchmark),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL...", help="only these models (default: all with a record)", autocompletion=complete_model
        ),
    ] = None,
    records: RecordsOption = None,
) -> int:
    """Score models with stored activations on other benchmarks or with another metric, without a forward pass.

    Uses stored answers of isolated models, without their code, and cached activations of other models. If something is
    missing for a pair, it is named, and the exit code is 1.
    """
    if (metric is None) == (not benchmark):
        raise ConfigurationError("Name either a metric (--metric NAME) or benchmarks (--benchmark NAME...), not both.")
    from brainscore_core.records.store import FolderStore  # slow to import, see `renormalise`
    from brainscore_vision.commands.records import SCORE_COLUMNS, SPARE_COLUMNS, records_folder, score_row

    folder = records_folder(records)
    existing = FolderStore(folder).whole()
    models = model or sorted({record.model for record in existing if record.is_scored})
    if not models:
        raise DataNotHereError(f"{folder} has no records. Name the models: --model MODEL...")
    benchmarks = benchmark or ()
    if not benchmarks:
        benchmarks = _with_metric(str(metric), {record.benchmark for record in existing if record.model in models})
    rows, problems = [], 0
    for name in models:
        for record, problem in _rescored(name, benchmarks, folder):
            if record is None:
                problems += 1
                command_line.say(problem)
            else:
                rows.append(score_row(record))
    if rows:
        command_line.print_table(SCORE_COLUMNS, rows, spare=SPARE_COLUMNS)
    return command_line.FAILED if problems else 0


def _with_metric(metric: str, recorded: set[str]) -> list[str]:
    """Return benchmarks that differ from recorded ones only in the metric."""
    identifiers = set(known_identifiers("benchmark"))
    matches = sorted(
        {f"{identifier.rpartition('-')[0]}-{metric}" for identifier in recorded if "-" in identifier} & identifiers
    )
    if not matches:
        metrics = {identifier.rpartition("-")[2] for identifier in identifiers}
        raise ConfigurationError(
            "None of the recorded benchmarks has a variant with the metric "
            f"{metric!r}.{did_you_mean(metric, metrics)} Register one, or name benchmarks: --benchmark NAME..."
        )
    return matches


def _rescored(model: str, benchmarks: Sequence[str], folder: Path) -> Iterator[tuple[ScoreRecord | None, str]]:
    """Yield a record of each pair, or why there is none; stored answers from a box are tried first."""
    from brainscore_core.records.record import record_path  # slow to import, see `renormalise`
    from brainscore_vision.isolation.judge import remembered
    from brainscore_vision.model_helpers.activations.cache import NotStoredError, only_stored
    from brainscore_vision.scoring import score_and_record

    without_answers: list[str] = []
    for benchmark in benchmarks:
        path = record_path(folder, model, benchmark)
        try:
            with remembered(model) as answers:
                answers.load()
                yield score_and_record(model, benchmark, path, loaded=answers, isolation="box")[1], ""
        except NotStoredError:
            without_answers.append(benchmark)
        except BrainScoreError as error:
            yield None, f"Not scored: {model} on {benchmark}. {error}"
    if not without_answers:
        return
    if why := _why_not_here(model, benchmarks):  # also of one with answers: its measurements may still be in memory
        yield from ((None, f"Not stored: {model} on {benchmark}. {why}") for benchmark in without_answers)
        return
    loaded = load_model(model)
    network = getattr(loaded, "activations_model", None)
    for benchmark in without_answers:
        pair = f"{model} on {benchmark}"
        if network is None or not hasattr(getattr(network, "_extractor", network), "model_digest"):
            yield None, f"Not stored: {pair}. The model does not use the activations cache."
            continue
        try:
            with only_stored():
                path = record_path(folder, model, benchmark)
                yield score_and_record(model, benchmark, path, loaded=loaded)[1], ""
        except NotStoredError as error:
            yield None, f"Not stored: {pair}. {error}"
        except BrainScoreError as error:
            yield None, f"Not scored: {pair}. {error}"


def _why_not_here(model: str, benchmarks: Sequence[str]) -> str:
    from brainscore_vision.isolation.judge import refuse_beside_private  # slow to import, see `renormalise`

    try:
        for benchmark in benchmarks:
            refuse_beside_private(model, benchmark)
    except BrainScoreError as error:
        return str(error)
    return ""


def reproduce(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="path of a record file", show_default=False)],
    here: Annotated[
        bool, typer.Option("--here", help="use the packages installed here, even if the record names others")
    ] = False,
) -> int:
    """Score the pair of a record again, in an environment with the packages of its lock, and compare.

    If other packages are installed here, the environment is built from the lock next to the record. Use only locks of
    authors you trust, because the packages are installed and run. The library is the one installed here. No cache is
    used.

    Exit codes: 0 equal, 1 something differs: the first difference is named, causes before effects (data, weights,
    plugins, library, environments, then numbers); 2 no such record; 3 data, weights or requirements are not available.
    """
    from brainscore_core.records.recompute import differences, not_comparable  # slow to import, see `renormalise`
    from brainscore_core.records.record import ScoreRecord
    from brainscore_vision.commands.records import number

    if not record.is_file():
        raise ConfigurationError(f"{record} is not a file. Name a record: <folder>/<benchmark>/<model>.json")
    before = ScoreRecord.read(record)
    if not before.is_scored:
        raise ConfigurationError(f"{record} records a pair without a score ({before.status}). Score the pair instead.")
    with tempfile.TemporaryDirectory(prefix="brainscore-reproduce-") as name:
        file = Path(name) / "record.json"
        python, variables = _where(record, before, here=here)
        _score_again(before, file, python, variables)
        after = ScoreRecord.read(file)
    skipped = not_comparable(before, after)
    if skipped:
        command_line.say(
            f"Not compared, because the records state it differently or one lacks it: {', '.join(skipped)}."
        )
    changes = list(differences(before, after))
    scores = f"score {number(before.score)} then, {number(after.score)} now"
    if not changes:
        command_line.show(f"equal: {before.model} on {before.benchmark}, {scores}")
        return 0
    first = changes[0]
    command_line.show(f"differs: {first.what}: {first.before} then, {first.after} now; {scores}")
    for change in changes[1:_MOST_SHOWN]:
        command_line.say(f"  also {change.what}: {_short(change.before)} then, {_short(change.after)} now")
    return command_line.FAILED


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _where(path: Path, record: ScoreRecord, *, here: bool) -> tuple[Path, dict[str, str]]:
    """Return an interpreter, and variables to set there.

    It has the packages of the record's lock; if `here`, or without an environment in the record, the plugins' packages.
    """
    from brainscore_core.identity import software  # slow to import, see `renormalise`
    from brainscore_core.plugin_management.environment import environment_from_lock, python_for
    from brainscore_core.records.store import lock_path, read_lock_of

    again = {"RESULTCACHING_DISABLE": "1"}  # so that it is computed again
    is_here = record.environment in (None, digest.text_digest(software.installed()))
    if here or is_here or record.environment is None:
        if record.candidate_environment is not None:  # its judge had no requirements of the model
            return Path(sys.executable), again
        pair = ("benchmark", record.benchmark), ("model", record.model)
        return python_for([find_plugin_directory(kind, name) for kind, name in pair]), again
    lock = read_lock_of(path, record.environment)
    if lock is None:
        raise DataNotHereError(
            f"{path.name} was made with other packages than are installed here, and their lock, "
            f"{lock_path(path, record.environment)}, is missing or belongs to another record. Restore it, or use the "
            "packages installed here: --here."
        )
    packages = [Path(str(package.__file__)).parents[1] for package in (brainscore_core, brainscore_vision)]
    python = environment_from_lock(lock, packages)
    # Nothing beyond the lock, unless the model has its own environment.
    return python, again if record.candidate_environment else {**again, "BS_INSTALL_DEPENDENCIES": "no"}


def _score_again(record: ScoreRecord, file: Path, python: Path, variables: Mapping[str, str]) -> None:
    from brainscore_core.plugin_management.environment import run_in_environment  # slow to import, see `renormalise`
    from brainscore_core.records.record import record_path
    from brainscore_vision.catalogue.facts import benchmark_facts

    command: list[str | Path] = ["-m", "brainscore_vision"]
    is_public = any(facts.access == "public" for facts in benchmark_facts(record.benchmark))
    if record.candidate_environment is None and is_public:
        pair = (f"--model_identifier={record.model}", f"--benchmark_identifier={record.benchmark}")
        ended = run_in_environment(
            python, [*command, "score", *pair, "--conda_active=True", "--record", file], environment=variables
        )
    else:  # the model has its own environment or must not reach the data: in a box
        folder = file.parent / "records"
        which = ("--model", record.model, "--benchmark", record.benchmark, "--isolation", "box")
        places = ("--records", folder, "--events", file.parent / "events.jsonl")
        ended = run_in_environment(python, [*command, "judge", *which, *places], environment=variables)
        written = record_path(folder, record.model, record.benchmark)
        if written.is_file():
            written.replace(file)
    if ended.status not in (0, command_line.NO_SCORE) or not file.is_file():
        raise BrainScoreError(f"{record.model} on {record.benchmark} could not be scored again.\n{ended}")
