"""Score one model on one benchmark, here or in an environment of its own, keep the record and say what it holds."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast, overload

from brainscore_core.errors import DataNotHereError, DownloadError, PrivateDataError, UnknownIdentifierError
from brainscore_vision.identity.ingredients import keep_result, noting_ingredients
from brainscore_vision.loading import (
    find_plugin_directory,
    known_identifiers,
    load_benchmark,
    load_model,
    unwatched,
)
from brainscore_vision.model_interface import region_layers

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.metrics import Score
    from brainscore_core.records.record import ScoreRecord
    from brainscore_vision.model_interface import BrainModel

__all__ = [
    "format_record",
    "record_failure",
    "run_score",
    "score",
    "score_and_record",
    "score_object",
    "shared_candidate",
]

_PLURALS = {
    "stimulus": "stimuli",
    "presentation": "stimuli",
    "neuroid": "neuroids",
    "subject": "subjects",
    "trial": "trials",
    "split": "splits",
}


@overload
def score(
    model_identifier: object,
    benchmark_identifier: str,
    conda_active: bool = ...,
    *,
    report: bool = ...,
    record: str | Path | None = ...,
    **model_options: Any,  # checked by as_brain_model
) -> Score: ...


@overload
def score(
    model_identifier: object,
    benchmark_identifier: Sequence[str],
    conda_active: bool = ...,
    *,
    report: bool = ...,
    record: str | Path | None = ...,
    **model_options: Any,  # checked by as_brain_model
) -> dict[str, Score]: ...


def score(
    model_identifier: object,
    benchmark_identifier: str | Sequence[str],
    conda_active: bool = False,
    *,
    report: bool = True,
    record: str | Path | None = None,
    **model_options: Any,  # checked by as_brain_model
) -> Score | dict[str, Score]:
    """Score a model on a benchmark, or on several that share its answers, and say what came out.

    Parameters
    ----------
    model_identifier : str or object
        A registered model, such as ``'pixels'``; or a model itself: a `BrainModel`, a module of PyTorch, timm,
        transformers or open_clip, an ONNX file or session, a function of pictures, or features, see
        `brainscore_vision.model_helpers.adapters.as_brain_model`.
    benchmark_identifier : str or sequence of str
        A registered benchmark, such as ``'SimulatedCortex2026.V1-pls'``. Several are scored one after the other with
        one model, which is not asked again what another of them has asked already, see
        `brainscore_vision.benchmark_helpers.stand_ins.sharing.SharedCandidate`; in environments of their own
        (``BS_INSTALL_DEPENDENCIES=newenv``) they share nothing.
    conda_active : bool
        Accepted from callers of the published system: True says that the environment is prepared already, so that
        ``BS_INSTALL_DEPENDENCIES=newenv`` does not make another one.
    report : bool
        Whether to print the summary (to standard error, so that output can be piped).
    record : path, optional
        Where to write the record; of several benchmarks, the folder for ``<benchmark>/<model>.json``. None: of a
        registered model ``scores/<benchmark>/<model>.json`` in the Brain-Score home; of a model itself none is written.
    **model_options
        Of a model itself, the arguments of `as_brain_model`: ``identifier``, ``layers``, ``preprocessing``,
        ``region_layer_map`` and others.

    Returns
    -------
    Score
        0-d, ceiling-normalised: about 0 (no better than chance) to 1 (at the noise ceiling). Attributes: ``raw``,
        ``ceiling``, ``error`` (standard error over what ``error_over`` names, such as new stimuli and new neuroids),
        ``interval`` (95 %), ``model_identifier``, ``benchmark_identifier``, ``comment`` (the layers used) and, if one
        was written, ``record_path``. Of several benchmarks, a dict from each identifier to its score.

    Raises
    ------
    UnknownIdentifierError
        If no plugin registers one of the identifiers.
    ConfigurationError
        If what a model needs is not known, or the record of a model itself would have the name of a registered one.
    """
    benchmarks = [benchmark_identifier] if isinstance(benchmark_identifier, str) else list(benchmark_identifier)
    results = {}
    for benchmark, outcome in zip(
        benchmarks,
        _outcomes(
            model_identifier,
            benchmarks,
            _path(record),
            is_one=isinstance(benchmark_identifier, str),
            conda_active=conda_active,
            **model_options,
        ),
        strict=True,
    ):
        results[benchmark], made, path = outcome
        if report:
            from brainscore_core.command_line import say

            say(format_record(made, path))
    return results[benchmark_identifier] if isinstance(benchmark_identifier, str) else results


def _outcomes(
    model: object,
    benchmarks: Sequence[str],
    record: Path | None,
    *,
    is_one: bool,
    conda_active: bool,
    **model_options: Any,  # checked by as_brain_model
) -> Iterator[tuple[Score, ScoreRecord, Path | None]]:
    """Yield score, record and where that was written, benchmark by benchmark."""
    is_registered = isinstance(model, str) and not model.endswith(".onnx")
    if is_registered and model_options:
        raise TypeError(
            f"{', '.join(model_options)} can only be said of a model itself; {model!r} names a registered one, which "
            "brings its own. Leave them out, or pass the network."
        )
    candidate = model
    if not is_one:
        for benchmark in benchmarks:
            load_benchmark(benchmark)  # a wrong name must not cost the scores of those before it
        candidate = shared_candidate(model, conda_active=conda_active, **model_options)
        model_options = {}
    for benchmark in benchmarks:
        path = record
        if not is_one and record is not None:
            from brainscore_core.records.record import record_path

            name = str(model) if is_registered else str(getattr(candidate, "identifier", model))
            path = record_path(record, name, benchmark)
        if is_registered:
            loaded = None if candidate is model else candidate
            yield score_and_record(str(model), benchmark, path, conda_active=conda_active, loaded=loaded)
        else:
            yield score_object(candidate, benchmark, path, **model_options)


def shared_candidate(
    model: object,
    *,
    conda_active: bool = False,
    **model_options: Any,  # checked by as_brain_model
) -> object:
    """Return a model that several benchmarks can share; the identifier where each scores it in another environment."""
    from brainscore_core.config import settings
    from brainscore_vision.benchmark_helpers.stand_ins.sharing import SharedCandidate

    if not isinstance(model, str) or model.endswith(".onnx"):
        from brainscore_vision.model_helpers.adapters import as_brain_model

        return SharedCandidate(as_brain_model(model, **model_options))
    if settings().install_dependencies == "newenv" and not conda_active:
        return model
    return SharedCandidate(load_model(model))


def _path(record: str | Path | None) -> Path | None:
    from pathlib import Path

    return None if record is None else Path(record)


def score_object(
    model: object,
    benchmark_identifier: str,
    record_path: Path | None = None,
    **model_options: Any,  # checked by as_brain_model
) -> tuple[Score, ScoreRecord, Path | None]:
    """Score a model that is no plugin, in this process.

    Parameters
    ----------
    model : object
        And further arguments: see `brainscore_vision.model_helpers.adapters.as_brain_model`.
    record_path : Path, optional
        Where to write the record; None: it is only returned.

    Raises
    ------
    ConfigurationError
        A record is wanted and the model has the identifier of a registered one.
    """
    from brainscore_core.errors import ConfigurationError
    from brainscore_vision.model_helpers.adapters import as_brain_model

    started, revisions = time.monotonic(), _revisions(None, benchmark_identifier)
    with noting_ingredients() as ingredients:
        benchmark = load_benchmark(benchmark_identifier)
        candidate = as_brain_model(model, **model_options)
        name = str(candidate.identifier)
        if record_path is not None and name in known_identifiers("model"):
            raise ConfigurationError(
                f"A record of {name!r} is written for the registered model of that name only: score({name!r}, ...). "
                "Give this one another name (identifier='...'), or leave record out."
            )
        result = _compare(candidate, benchmark, name, benchmark_identifier)
    record = _record(result, benchmark, name, benchmark_identifier, started, revisions)
    record = ingredients.noted_in(record, candidate)
    if record_path is not None:
        record = keep_result(record, record_path, result)
    return result, record, record_path


def score_and_record(
    model_identifier: str,
    benchmark_identifier: str,
    record_path: Path | None = None,
    *,
    conda_active: bool = False,
    loaded: object | None = None,
) -> tuple[Score, ScoreRecord, Path]:
    """Score a pair, here or in an environment of its own (``BS_INSTALL_DEPENDENCIES=newenv``), and write its record.

    Parameters
    ----------
    record_path : Path, optional
        Where to write the record; None means ``scores/<benchmark>/<model>.json`` in the Brain-Score home.
    loaded : BrainModel, optional
        The model of that name, if it has been loaded; it is scored here. None: it is loaded.
    """
    from brainscore_core.config import settings
    from brainscore_core.records import record as records  # brings NumPy, which the command line can do without

    path = record_path or records.record_path(settings().home / "scores", model_identifier, benchmark_identifier)
    if loaded is None and settings().install_dependencies == "newenv" and not conda_active:
        record = _record_from_new_environment(model_identifier, benchmark_identifier, path)
        return _score_of(record, path), record, path
    # What a plugin writes into its own folder while it runs must not count as its code.
    started, revisions = time.monotonic(), _revisions(model_identifier, benchmark_identifier)
    with noting_ingredients() as ingredients:
        result, benchmark, model = _score_pair(model_identifier, benchmark_identifier, loaded)
    record = _record(result, benchmark, model_identifier, benchmark_identifier, started, revisions)
    lock = getattr(model, "environment_lock", None)  # of one in a box that has an environment of its own
    kept = keep_result(ingredients.noted_in(record, model), path, result, lock if isinstance(lock, str) else "")
    return result, kept, path


def record_failure(model_identifier: str, benchmark_identifier: str, error: Exception, record_path: Path) -> None:
    """Write the record of a pair that could not be scored: status ``failed:<class of the error>``."""
    from brainscore_core.records.record import ScoreRecord

    failed = ScoreRecord.without_score(
        f"failed:{type(error).__name__}", str(error), model=model_identifier, benchmark=benchmark_identifier
    )
    revisions = _revisions(model_identifier, benchmark_identifier)
    failed.with_revisions(revisions["model"], revisions["benchmark"]).write(record_path)


def run_score(model_identifier: str, benchmark_identifier: str) -> Score:
    """Score a pair in this process without keeping a record."""
    return _score_pair(model_identifier, benchmark_identifier)[0]


def _score_pair(
    model_identifier: str, benchmark_identifier: str, loaded: object | None = None
) -> tuple[Score, Benchmark, BrainModel]:
    # The benchmark first: a wrong name must not cost the loading of a large model.
    benchmark = load_benchmark(benchmark_identifier)
    with unwatched():
        model = load_model(model_identifier) if loaded is None else cast("BrainModel", loaded)
    return _compare(model, benchmark, model_identifier, benchmark_identifier), benchmark, model


def _compare(model: BrainModel, benchmark: Benchmark, model_identifier: str, benchmark_identifier: str) -> Score:
    from brainscore_core.benchmarks import not_applicable, score_benchmark

    with _naming_absent_data(benchmark_identifier):
        try:
            result = score_benchmark(benchmark, model, name=benchmark_identifier)
        except NotImplementedError as error:
            if not _was_refused(error):
                raise
            result = not_applicable(str(error))
    result.attrs["model_identifier"] = model_identifier
    result.attrs["benchmark_identifier"] = benchmark_identifier
    layers = region_layers(model)
    if layers:
        result.attrs["comment"] = f"layers: {layers}"
    return result


def _was_refused(error: NotImplementedError) -> bool:
    """Tell whether a model has said so of a task or a region; elsewhere the same class means that code is not done."""
    frames = (frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__))
    return not {"start_task", "start_recording"}.isdisjoint(frames)


@contextmanager
def _naming_absent_data(benchmark_identifier: str) -> Iterator[None]:
    """Let an error about data that cannot be had say how to bring all that a benchmark needs."""
    try:
        yield
    except DownloadError as error:
        if isinstance(error, PrivateDataError) or not _lacks_data(benchmark_identifier):
            raise
        raise DataNotHereError(
            f"The data of {benchmark_identifier!r} are not here. {error} With a connection, `brainscore data fetch "
            f"--benchmark {benchmark_identifier}` brings all of them."
        ) from error


def _lacks_data(benchmark_identifier: str) -> bool:
    from brainscore_vision.catalogue.needs import data_of  # needed for errors only

    return any(entry.cached in ("no", "partly") for entry in data_of(benchmark_identifier))


def _record(
    result: Score,
    benchmark: Benchmark,
    model: str,
    benchmark_identifier: str,
    started: float,
    revisions: Mapping[str, str],
) -> ScoreRecord:
    from brainscore_core.records.record import ScoreRecord

    record = ScoreRecord.of_score(
        result,
        model=model,
        benchmark=benchmark_identifier,
        benchmark_version=getattr(benchmark, "version", None),
        duration_s=time.monotonic() - started,
    )
    return record.with_revisions(revisions["model"], revisions["benchmark"])


def _revisions(model_identifier: str | None, benchmark_identifier: str) -> dict[str, str]:
    """Return 'model' and 'benchmark' -> revision of the plugin; the model is None if it is no plugin."""
    from brainscore_core.identity import sources

    revisions = {}
    for kind, identifier in (("model", model_identifier), ("benchmark", benchmark_identifier)):
        try:
            folder = None if identifier is None else find_plugin_directory(kind, identifier)
        except UnknownIdentifierError:  # registered while the program runs, or not at all, which loading will say
            folder = None
        revisions[kind] = sources.UNREGISTERED if folder is None else sources.folder_revision(folder)
    return revisions


def _record_from_new_environment(model_identifier: str, benchmark_identifier: str, path: Path) -> ScoreRecord:
    from brainscore_core.plugin_management.environment import isolated_score
    from brainscore_core.records.record import ScoreRecord

    return isolated_score(
        "brainscore_vision",
        model_identifier,
        benchmark_identifier,
        plugin_folders=[
            find_plugin_directory("benchmark", benchmark_identifier),
            find_plugin_directory("model", model_identifier),
        ],
        record_path=path,
        read=ScoreRecord.read,
    )


def _score_of(record: ScoreRecord, path: Path) -> Score:
    """Return the score that a record describes, as far as it does: without values for splits and neuroids."""
    from brainscore_core.metrics import Score

    result = Score(float("nan") if record.score is None else record.score)
    result.attrs.update(
        raw=None if record.raw is None else Score(record.raw),
        ceiling=None if record.ceiling is None else Score(record.ceiling),
        error=record.error,
        interval=record.interval,
        error_over=list(record.error_over),
        split_error=record.split_error,
        stimulus_error=record.stimulus_error,
        error_nan_reason=record.error_nan_reason,
        interval_nan_reason=record.interval_nan_reason,
        model_identifier=record.model,
        benchmark_identifier=record.benchmark,
        comment=f"layers: {dict(record.layers)}",
        record_path=str(path),
    )
    if record.score is None:
        result.attrs["not_applicable"] = record.message
    return result


def format_record(record: ScoreRecord, path: Path | None) -> str:
    """Return the summary of a record as lines of text; `path` is where it was written, if it was."""

    def shown(value: float | None) -> str:
        return "not available" if value is None else f"{value:.4f}"

    error = "" if record.error is None else f" ± {record.error:.4f} (standard error{_error_over(record)})"
    low_high = record.interval
    interval = "" if low_high is None else f", 95 % interval {low_high[0]:.3f} to {low_high[1]:.3f}"
    counts = {"stimuli": record.n_stimuli, "neuroids": record.n_neuroids, "trials": record.n_trials}
    sizes = [f"{count} {unit}" for unit, count in counts.items() if count is not None]
    layers = ", ".join(f"{region}: {layer}{_origin(record, region)}" for region, layer in record.layers.items())
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    lines = [
        f"{record.model} on {record.benchmark}" + (" (SIMULATED measurements)" if record.simulated else ""),
        f"  score     {shown(record.score)}{error}{interval}",
        *([f"  because   {record.message}"] if record.is_scored and record.message else []),
        *(f"  {what:9s} none: {reason}" for what, reason in _lacking(record)),
        *([] if record.split_error is None else [f"  splits    ± {record.split_error:.4f} over splits of these data"]),
        f"  raw       {shown(record.raw)}",
        f"  ceiling   {shown(record.ceiling)}",
        f"  data      {', '.join(sizes) or 'size not stated'}; benchmark version {record.benchmark_version}",
        f"  layers    {layers or 'not stated'}",
        f"  seed      {'not stated' if record.seed is None else record.seed}",
        f"  versions  {versions}",
        f"  time      {record.duration_s or 0:.1f} s",
        f"  record    {path or 'not written'}",
    ]
    return "\n".join(lines)


def _error_over(record: ScoreRecord) -> str:
    """Say what else there would be in another experiment that would change the score that much."""
    sources = " and ".join(_PLURALS.get(each, each) for each in record.error_over)
    return f" over new {sources}" if sources else ""


def _lacking(record: ScoreRecord) -> Iterator[tuple[str, str]]:
    """Yield what a score does not state about its uncertainty, and why."""
    if record.score is not None:
        reasons = {"error": record.error_nan_reason, "interval": record.interval_nan_reason}
        yield from ((what, reason) for what, reason in reasons.items() if reason)


def _origin(record: ScoreRecord, region: str) -> str:
    """Say how the layer of a region was chosen, if it was."""
    origin = record.layer_origin.get(region)
    if not isinstance(origin, dict) or "benchmark" not in origin:
        return ""
    said = f"chosen on {origin['benchmark']}{' (SIMULATED)' if origin.get('simulated') else ''}"
    if origin.get("separable") is False:
        said += f", not separable from {origin.get('runner_up')}"
    optimism = origin.get("optimism")
    if origin["benchmark"] == record.benchmark and isinstance(optimism, float):
        said += f", this benchmark; choosing adds about {max(optimism, 0.0):.3f} to the score by chance"
    return f" ({said})"
