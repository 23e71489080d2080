"""The command ``brainscore score``: score models on benchmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError
from brainscore_core.scoring.selection import is_pattern, select
from brainscore_vision.commands.options import CONDA, ScoreOptions
from brainscore_vision.commands.tables import SCORE_COLUMNS, SPARE_COLUMNS, score_row

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["ScoreCommand", "score"]

_IN_A_FILE = re.compile(r".+\.py(:.*)?")


class ScoreCommand(command_line.SpreadingCommand):
    """A command with an option whose value is optional."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer's base class of contexts is not public
        """Read the arguments."""
        return super().parse_args(ctx, list(_with_value(args)))


def _with_value(arguments: Sequence[str]) -> Iterator[str]:
    for argument, following in zip(arguments, [*arguments[1:], "-"], strict=True):
        yield f"{CONDA}=True" if argument == CONDA and following.startswith("-") else argument


def score(options: ScoreOptions) -> int:
    """Score models on benchmarks.

    Of one pair prints the summary, of several a table; writes the full record of each as JSON. Where a model cannot
    have a score, both say why, and the exit code is 4. Several pairs are scored in processes of their own, which
    share what they can; interrupted, the same command goes on where it was.
    """
    files = [model for model in options.model if _is_file(model)]
    registered = [model for model in options.model if not _is_file(model)]
    _check_options(options, files, registered)
    is_one = len(options.model) == len(options.benchmark) == 1
    if is_one and not options.of_many and not any(map(is_pattern, [*options.model, *options.benchmark])):
        return _score_one(options)
    if options.failure is not None:
        raise ConfigurationError("--failure is for one model and one benchmark; the table says what went wrong.")
    models, benchmarks = _selected("model", registered), _selected("benchmark", options.benchmark)
    codes = set()
    if models:
        from brainscore_vision.commands.campaign import score_many  # start-up

        codes.add(score_many(models, benchmarks, options))
    if files:
        codes.add(_score_files(files, benchmarks, options))
    return codes.pop() if len(codes) == 1 else command_line.FAILED if command_line.FAILED in codes else max(codes)


def _check_options(options: ScoreOptions, files: Sequence[str], registered: Sequence[str]) -> None:
    """Raise if options of models in files are given for registered ones, or those of many pairs for files."""
    if options.of_files and registered:
        raise ConfigurationError(
            f"The options {', '.join(options.of_files)} are for models in files (path.py:function, model.onnx); "
            f"{registered[0]!r} names a registered model, which brings its own. Leave them out."
        )
    if files and options.of_many:
        raise ConfigurationError(
            f"{options.of_many[0]} is for registered models; {files[0]!r} is a file, which is scored in this process. "
            "Leave it out, or score the registered models with another command."
        )
    if options.cluster is not None:
        from brainscore_core.scoring.cluster.places import parse_place  # start-up

        parse_place(options.cluster)
        if options.jobs is not None:
            raise ConfigurationError("--jobs is for this machine; how much a cluster does at a time its workers say.")


def _selected(kind: str, names: Sequence[str]) -> list[str]:
    from brainscore_vision.loading import find_plugin_directory, known_identifiers  # start-up

    identifiers = known_identifiers(kind)
    for name in names:
        if not is_pattern(name, identifiers):
            find_plugin_directory(kind, name)  # explains a wrong name better than a list of names can
    return select(names, identifiers, kind)


def _score_one(options: ScoreOptions) -> int:
    from brainscore_core.records.summary import format_record  # start-up
    from brainscore_vision import scoring  # start-up

    (model,), (benchmark,) = options.model, options.benchmark
    command_line.say(f"Scoring {model} on {benchmark} ...")
    try:
        record, path = scoring.score_and_record(
            _loaded(model) if _is_file(model) else model,
            benchmark,
            options.record,
            conda_active=options.conda_active.lower() in ("true", "1", "yes"),
            **options.of_files,
        )[1:]
    except Exception as error:
        if options.failure is not None:
            scoring.record_failure(model, benchmark, error, options.failure)
        raise
    print(format_record(record, path))  # noqa: T201 - the result
    return command_line.NO_SCORE if record.score is None else 0


def _score_files(models: Sequence[str], benchmarks: Sequence[str], options: ScoreOptions) -> int:
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
    """Score one model on benchmarks that share its answers; yield each record, also of failures, and its exit code."""
    from brainscore_core.records.record import ScoreRecord, record_path  # start-up
    from brainscore_vision import scoring  # start-up

    candidate: object = None
    for benchmark in benchmarks:
        command_line.say(f"Scoring {model} on {benchmark} ...")
        try:
            if candidate is None:
                candidate = scoring.shared_candidate(_loaded(model), **options.of_files)
            name = str(getattr(candidate, "identifier", model))
            path = None if options.record is None else record_path(options.record, name, benchmark)
            record = scoring.score_and_record(candidate, benchmark, path)[1]
        except Exception as error:  # noqa: BLE001 - of a plugin; the other pairs are scored all the same
            command_line.say(f"Not scored: {model} on {benchmark}. {error}")
            status = f"failed:{type(error).__name__}"
            yield (
                ScoreRecord.without_score(status, str(error), model=model, benchmark=benchmark),
                command_line.exit_code_of(error),
            )
        else:
            yield record, command_line.NO_SCORE if record.score is None else 0


def _is_file(model: str) -> bool:
    return model.endswith(".onnx") or _IN_A_FILE.fullmatch(model) is not None


def _loaded(model: str) -> object:
    from brainscore_vision.model_helpers.adapters.files import load_from_file  # start-up

    return model if model.endswith(".onnx") else load_from_file(model)
