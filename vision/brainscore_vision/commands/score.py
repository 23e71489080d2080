"""The command ``brainscore score``: score models on benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError
from brainscore_core.scoring.pairs import is_pattern, select
from brainscore_vision.commands.options import CONDA, ScoreOptions, is_file
from brainscore_vision.loading import find_plugin_directory, known_identifiers

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["ScoreCommand", "score"]


class ScoreCommand(command_line.SpreadingCommand):
    """A command with an option whose value is optional."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer's base class of contexts is not public
        """Read the arguments."""
        arguments = [
            f"{CONDA}=True" if argument == CONDA and following.startswith("-") else argument
            for argument, following in zip(args, [*args[1:], "-"], strict=True)
        ]
        return super().parse_args(ctx, arguments)


def score(options: ScoreOptions) -> int:
    """Score models on benchmarks.

    Prints a summary of one pair or a table of several, and writes the full record of each as JSON. If a model cannot
    have a score, both give the reason, and the exit code is 4. Several pairs are scored in their own processes; after
    an interruption, the same command continues.
    """
    files = [model for model in options.model if is_file(model)]
    registered = [model for model in options.model if not is_file(model)]
    _check_options(options, files, registered)

    is_one = len(options.model) == len(options.benchmark) == 1
    if is_one and not options.of_many and not any(map(is_pattern, [*options.model, *options.benchmark])):
        return score_one(options)
    if options.failure is not None:
        raise ConfigurationError(
            "--failure is for one model and one benchmark; for several, the table shows each error."
        )
    from brainscore_vision.commands import campaign  # slow to import, and completion does without

    models, benchmarks = _selected("model", registered), _selected("benchmark", options.benchmark)
    codes = set()
    if models:
        codes.add(campaign.score_many(models, benchmarks, options))
    if files:
        codes.add(score_files(files, benchmarks, options))
    return codes.pop() if len(codes) == 1 else command_line.FAILED if command_line.FAILED in codes else max(codes)


def _check_options(options: ScoreOptions, files: Sequence[str], registered: Sequence[str]) -> None:
    if options.of_files and registered:
        raise ConfigurationError(
            f"The options {', '.join(options.of_files)} are for models in files (path.py:function, model.onnx); "
            f"{registered[0]!r} names a registered model, which defines its own. Leave them out."
        )
    if options.identifier is not None and len(files) > 1:
        raise ConfigurationError(f"--name is for one model; {len(files)} are given. Score each with its own name.")
    if files and options.of_many:
        raise ConfigurationError(
            f"{options.of_many[0]} is for registered models; {files[0]!r} is a file, which is scored in this process. "
            "Leave it out, or score the registered models with another command."
        )
    if options.cluster is not None and options.jobs is not None:
        raise ConfigurationError(
            "--jobs is for this machine; on a cluster, the workers set the parallelism. Leave it out."
        )


def _selected(kind: str, names: Sequence[str]) -> list[str]:
    # The names of libraries are listed for a pattern such as 'timm:resnet*' only.
    identifiers = known_identifiers(kind, schemes=any(":" in name and is_pattern(name) for name in names))
    for name in names:
        if not is_pattern(name, identifiers):
            find_plugin_directory(kind, name)  # explains a wrong name better than a list of names can
    return select(names, identifiers, kind, exists=lambda name: ":" in name and bool(find_plugin_directory(kind, name)))


# -- in this process ---------------------------------------------------------------------------------------------------


def score_one(options: ScoreOptions) -> int:
    """Score one pair in this process, or in a box if its requirements conflict with the library's."""
    from brainscore_core.plugin_management.environment import conflicts_of  # these are slow to import, see `score`
    from brainscore_core.records.from_score import format_record
    from brainscore_vision import scoring
    from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate
    from brainscore_vision.isolation.judge import ModelPlace, place_unasked, refuse_unreviewed, started

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
    from brainscore_vision.commands.records import SCORE_COLUMNS, SPARE_COLUMNS, score_row  # slow to import

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
    from brainscore_core.records.record import ScoreRecord, record_path  # these are slow to import, see `score`
    from brainscore_vision import scoring
    from brainscore_vision.isolation.judge import ModelPlace, place_unasked

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
    from brainscore_vision.model_helpers.adapters.files import load_from_file  # slow to import, see `score`

    return load_from_file(model) if is_file(model) and not model.endswith(".onnx") else model
