"""Compute scores of recorded pairs again."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from brainscore_core import command_line
from brainscore_core.errors import BrainScoreError, ConfigurationError, DataNotHereError, did_you_mean
from brainscore_core.identity import software
from brainscore_core.records import recompute
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import FolderStore
from brainscore_vision.commands.work.selection import records_folder
from brainscore_vision.commands.work.tables import SCORE_COLUMNS, SPARE_COLUMNS, number, score_row
from brainscore_vision.isolation.judge import refuse_beside_private
from brainscore_vision.isolation.starting import remembered
from brainscore_vision.loading import find_plugin_directory, known_identifiers, load_benchmark, load_model
from brainscore_vision.model_helpers.activations.cache import NotStoredError, only_stored
from brainscore_vision.scoring import score_and_record

__all__ = ["renormalise", "rescore"]

_CHANGES = ("MODEL", "RAW", "CEILING", "NEW CEILING", "SCORE", "NEW SCORE", "ERROR", "NEW ERROR", "NOTE")


def renormalise(benchmark: str, records: Path | None, *, dry_run: bool) -> int:
    """Run ``brainscore renormalise``."""
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
        raise DataNotHereError(f"There is no record of {benchmark!r} in {folder}.")
    rows = []
    for change in changes:
        before, after = change.before, change.after
        pairs = ((before.ceiling, after.ceiling), (before.score, after.score), (before.error, after.error))
        done = "as it was" if not change.is_new else "would change" if dry_run else "changed"
        numbers = (number(value) for pair in pairs for value in pair)
        rows.append((before.model, number(before.raw), *numbers, change.problem or done))
    command_line.print_table(_CHANGES, rows)
    return command_line.FAILED if any(change.problem for change in changes) else 0


def rescore(metric: str | None, benchmarks: Sequence[str], models: Sequence[str], records: Path | None) -> int:
    """Run ``brainscore rescore``."""
    folder = records_folder(records)
    existing = FolderStore(folder).whole()
    models = models or sorted({record.model for record in existing if record.is_scored})
    if not models:
        raise DataNotHereError(f"There are no records in {folder}; name the models: --model MODEL...")
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
            f"No benchmark compares the recordings of which there are records with {metric!r}."
            f"{did_you_mean(metric, metrics)} Register one, or name benchmarks: --benchmark NAME..."
        )
    return matches


def _rescored(model: str, benchmarks: Sequence[str], folder: Path) -> Iterator[tuple[ScoreRecord | None, str]]:
    """Yield a record of each pair, or why there is none; stored answers from a box are tried first."""
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
            yield None, f"Not stored: {pair}. The model answers without the cache of activations."
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
    try:
        for benchmark in benchmarks:
            refuse_beside_private(model, benchmark)
    except BrainScoreError as error:
        return str(error)
    return ""
