"""Score in this process: one pair, or models in files."""

from collections.abc import Iterator, Sequence

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.plugin_management.environment import conflicts_of
from brainscore_core.records.from_score import format_record
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_vision import scoring
from brainscore_vision.benchmark_helpers.stand_ins.sharing import SharedCandidate
from brainscore_vision.commands.options import ScoreOptions, is_file
from brainscore_vision.commands.work.tables import SCORE_COLUMNS, SPARE_COLUMNS, score_row
from brainscore_vision.isolation.judge import ModelPlace, place_unasked, refuse_unreviewed
from brainscore_vision.isolation.starting import started
from brainscore_vision.loading import find_plugin_directory
from brainscore_vision.model_helpers.adapters.files import load_from_file

__all__ = ["score_files", "score_one"]


def score_one(options: ScoreOptions) -> int:
    """Score one pair."""
    (model,), (benchmark,) = options.model, options.benchmark
    command_line.say(f"Scoring {model} on {benchmark} ...")
    try:
        is_active = options.conda_active.lower() in ("true", "1", "yes")
        is_new = not is_active and not is_file(model) and settings().install_dependencies == "newenv"
        is_boxed = is_new and bool(conflicts_of([find_plugin_directory("model", model)]))  # with the library's
        place = ModelPlace()
        if options.isolation is None and not is_boxed:
            place = place_unasked(model, benchmark, is_file=is_file(model))
        elif not is_boxed:
            refuse_unreviewed(model, options.isolation)
        if is_boxed or place.isolation == "box":
            with started(model) as candidate:
                result, record, path = scoring.score_and_record(
                    model, benchmark, options.record, loaded=SharedCandidate(candidate), isolation="box"
                )
        else:
            result, record, path = scoring.score_and_record(
                _loaded(model),
                benchmark,
                options.record,
                conda_active=is_active,
                data_access=place.data_access,
                **options.of_files,
            )
    except Exception as error:
        if options.failure is not None:
            scoring.record_failure(options.identifier or model, benchmark, error, options.failure)
        raise
    command_line.show(format_record(record, path))
    if "record_error" in result.attrs:
        return command_line.FAILED
    return command_line.NO_SCORE if record.score is None else 0


def score_files(models: Sequence[str], benchmarks: Sequence[str], options: ScoreOptions) -> int:
    """Score models in files, in this process."""
    rows, codes = [], set()
    for model in models:
        for record, code in _scored(model, benchmarks, options):
            rows.append(score_row(record))
            codes.add(code)
    command_line.print_table(SCORE_COLUMNS, rows, spare=SPARE_COLUMNS)
    failures = codes - {0, command_line.NO_SCORE}
    if failures:
        return failures.pop() if len(failures) == 1 else command_line.FAILED
    return max(codes, default=0)


def _scored(model: str, benchmarks: Sequence[str], options: ScoreOptions) -> Iterator[tuple[ScoreRecord, int]]:
    """Score one model on benchmarks that share its answers; yield each record and exit code."""
    candidate: object = None
    for benchmark in benchmarks:
        command_line.say(f"Scoring {model} on {benchmark} ...")
        try:
            place = place_unasked(model, benchmark, is_file=True) if options.isolation is None else ModelPlace()
            if candidate is None:
                candidate = scoring.shared_candidate(_loaded(model), **options.of_files)
            name = options.identifier or str(getattr(candidate, "identifier", model))
            path = None if options.record is None else record_path(options.record, name, benchmark)
            record = scoring.score_and_record(
                candidate, benchmark, path, identifier=options.identifier, data_access=place.data_access
            )[1]
        except Exception as error:  # noqa: BLE001 - of a plugin; the other pairs are scored all the same
            command_line.say(f"Not scored: {model} on {benchmark}. {error}")
            status = f"failed:{type(error).__name__}"
            yield (
                ScoreRecord.without_score(status, str(error), model=options.identifier or model, benchmark=benchmark),
                command_line.exit_code_of(error),
            )
        else:
            yield record, command_line.NO_SCORE if record.score is None else 0


def _loaded(model: str) -> object:
    return load_from_file(model) if is_file(model) and not model.endswith(".onnx") else model
