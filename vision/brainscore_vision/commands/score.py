"""Offer the command ``brainscore score``: score models on benchmarks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError
from brainscore_core.scoring.selection import is_pattern, select
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model
from brainscore_vision.commands.tables import SCORE_COLUMNS, SPARE_COLUMNS, score_row

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["ScoreCommand", "score"]

_IN_A_FILE = re.compile(r".+\.py(:.*)?")
_MANY = "all; a pattern such as 'MajajHong2015*'; or @file, with a name on each line"
_MODEL_HELP = f"a registered model such as pixels; {_MANY}; path.py:function, which returns a model; or model.onnx"
_OF_A_FILE, _MANY_PAIRS = "Of a model that a file holds", "Of many pairs"
_CONDA = "--conda_active"  # with or without a value, because scripts written for the published system pass it


class ScoreCommand(command_line.SpreadingCommand):
    """The command with an option whose value may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer's base class of contexts is not public
        """Read the arguments."""
        return super().parse_args(ctx, list(_with_value(args)))


def _with_value(arguments: Sequence[str]) -> Iterator[str]:
    for argument, following in zip(arguments, [*arguments[1:], "-"], strict=True):
        yield f"{_CONDA}=True" if argument == _CONDA and following.startswith("-") else argument


def score(
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "--models",
            "--model_identifier",
            metavar="MODEL...",
            help=_MODEL_HELP,
            show_default=False,
            autocompletion=complete_model,
        ),
    ],
    benchmark: Annotated[
        list[str],
        typer.Option(
            "--benchmark",
            "--benchmarks",
            "--benchmark_identifier",
            metavar="BENCHMARK...",
            help=f"such as SimulatedCortex2026.V1-pls; {_MANY}",
            show_default=False,
            autocompletion=complete_benchmark,
        ),
    ],
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            "--records",
            metavar="PATH",
            help="where to write the record, of several pairs the folder for them (default: the scores folder)",
        ),
    ] = None,
    failure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="where to write a record that says what went wrong, if something does"),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="layers to compare, with commas between them", rich_help_panel=_OF_A_FILE),
    ] = None,
    preprocessing: Annotated[
        str | None, typer.Option(metavar="NAME", help="such as imagenet-224", rich_help_panel=_OF_A_FILE)
    ] = None,
    identifier: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="its identifier in the record", rich_help_panel=_OF_A_FILE),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="only say which pairs would be scored, and how", rich_help_panel=_MANY_PAIRS),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume",
            help="leave out what has a record of the same code; --no-resume or --force: score all of it again",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = True,
    force: Annotated[bool, typer.Option("--force", hidden=True)] = False,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS...",
            help="score again what failed so, such as Timeout DownloadError; all: whatever failed",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="how many models are at work at a time (default: 1)", rich_help_panel=_MANY_PAIRS
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="where else: local:N, tcp://ADDRESS, ssh:hosts.txt or slurm:profile.yml (default: this machine)",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="after which a pair is stopped (default: four times what its plugins state, at least 10)",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="with which a pair is stopped (default: twice what its plugins state, at least 4)",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None,
    isolation: Annotated[
        Literal["auto", "box", "none"] | None,
        typer.Option(
            help="where models run: in a box without network, or with public data also in a plain process "
            "(default: auto, in a box where there can be one)",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="only with data and weights that are here; packages are installed",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = False,
    conda_active: Annotated[str, typer.Option(_CONDA, hidden=True)] = "False",
) -> int:
    """Score models on benchmarks.

    Of one pair prints the summary, of several a table; writes the full record of each as JSON. Where a model cannot
    have a score, both say why, and the exit code is 4. Several pairs are scored in processes of their own, which
    share what they can; interrupted, the same command goes on where it was.
    """
    given = {"layers": _names(layers), "preprocessing": preprocessing, "identifier": identifier}
    options: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    for_many = {
        "--dry-run": dry_run,
        "--no-resume": force or not resume,
        "--retry": retry,
        "--jobs": jobs,
        "--cluster": cluster,
        "--timeout": timeout,
        "--memory": memory,
        "--isolation": isolation,
        "--offline": offline,
    }
    asked = [name for name, value in for_many.items() if value]
    files, registered = [each for each in model if _is_file(each)], [each for each in model if not _is_file(each)]
    _refuse_what_does_not_fit(files, registered, options, asked)
    if cluster is not None:
        _check_cluster(cluster, jobs)
    is_one = len(model) == len(benchmark) == 1 and not any(map(is_pattern, [*model, *benchmark]))
    if is_one and not asked:
        prepared = conda_active.lower() in ("true", "1", "yes")
        return _score_one(model[0], benchmark[0], record, failure, options, prepared=prepared)
    if failure is not None:
        raise ConfigurationError("--failure is for one model and one benchmark; the table says what went wrong.")
    models, benchmarks = _chosen("model", registered), _chosen("benchmark", benchmark)
    codes = set()
    if models:
        from brainscore_vision.commands.campaign import Campaign, score_many

        campaign = Campaign(
            folder=record,
            jobs=jobs or 1,
            cluster=cluster,
            minutes=timeout,
            memory_gb=memory,
            isolation=isolation or "auto",
            again=force or not resume,
            retry=retry or (),
            dry_run=dry_run,
            offline=offline,
        )
        codes.add(score_many(models, benchmarks, campaign))
    if files:
        codes.add(_score_files(files, benchmarks, record, options))
    return codes.pop() if len(codes) == 1 else command_line.FAILED if command_line.FAILED in codes else max(codes)


def _refuse_what_does_not_fit(
    files: Sequence[str], registered: Sequence[str], options: Iterable[str], asked: Sequence[str]
) -> None:
    """Raise if options of models in files are given for registered ones, or those of many pairs for files."""
    if options and registered:
        raise ConfigurationError(
            f"The options {', '.join(options)} are for models in files (path.py:function, model.onnx); "
            f"{registered[0]!r} names a registered model, which brings its own. Leave them out."
        )
    if files and asked:
        raise ConfigurationError(
            f"{asked[0]} is for registered models; {files[0]!r} is a file, which is scored in this process. Leave it "
            "out, or score the registered models with another command."
        )


def _check_cluster(place: str, jobs: int | None) -> None:
    from brainscore_core.scoring.cluster.places import parse_place

    parse_place(place)
    if jobs is not None:
        raise ConfigurationError("--jobs is for this machine; how much a cluster does at a time its workers say.")


def _chosen(kind: str, wanted: Sequence[str]) -> list[str]:
    from brainscore_vision.loading import find_plugin_directory, known_identifiers

    known = known_identifiers(kind)
    for name in wanted:
        if not is_pattern(name, known):
            find_plugin_directory(kind, name)  # says more about a wrong name than a list of names can
    return select(wanted, known, kind)


def _score_one(
    model: str, benchmark: str, path: Path | None, failure: Path | None, options: dict[str, object], *, prepared: bool
) -> int:
    from brainscore_core.records.summary import format_record
    from brainscore_vision import scoring

    command_line.say(f"Scoring {model} on {benchmark} ...")
    try:
        candidate = _loaded(model) if _is_file(model) else model
        record, written = scoring.score_and_record(candidate, benchmark, path, conda_active=prepared, **options)[1:]
    except Exception as error:
        if failure is not None:
            scoring.record_failure(model, benchmark, error, failure)
        raise
    print(format_record(record, written))  # noqa: T201 - the result
    return command_line.NO_SCORE if record.score is None else 0


def _score_files(models: Sequence[str], benchmarks: Sequence[str], folder: Path | None, options: dict[str, Any]) -> int:
    """Score models that files hold, in this process."""
    rows, codes = [], set()
    for model in models:
        for record, code in _scored(model, benchmarks, folder, options):
            rows.append(score_row(record))
            codes.add(code)
    command_line.print_table(SCORE_COLUMNS, rows, spare=SPARE_COLUMNS)
    failures = codes - {0, command_line.NO_SCORE}
    if failures:
        return failures.pop() if len(failures) == 1 else command_line.FAILED
    return max(codes, default=0)


def _scored(
    model: str, benchmarks: Sequence[str], folder: Path | None, options: dict[str, Any]
) -> Iterator[tuple[ScoreRecord, int]]:
    """Score one model on benchmarks that share its answers; yield records, also of failures, and exit codes."""
    from brainscore_core.records.record import ScoreRecord, record_path
    from brainscore_vision import scoring

    candidate: object = None
    for benchmark in benchmarks:
        command_line.say(f"Scoring {model} on {benchmark} ...")
        try:
            if candidate is None:
                candidate = scoring.shared_candidate(_loaded(model), **options)
            name = str(getattr(candidate, "identifier", model))
            path = None if folder is None else record_path(folder, name, benchmark)
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
    from brainscore_vision.model_helpers.adapters.files import load_from_file

    return model if model.endswith(".onnx") else load_from_file(model)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
