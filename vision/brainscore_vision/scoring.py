"""Score a model on a benchmark, and write the record."""

from __future__ import annotations

import dataclasses
import math
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from brainscore_core.benchmarks import Benchmark, not_applicable, score_benchmark
from brainscore_core.command_line import say
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, DownloadError
from brainscore_core.files import check_writable
from brainscore_core.names import CHARACTERS, why_no_identifier
from brainscore_core.records import record as records
from brainscore_core.records.from_score import format_record, score_of
from brainscore_core.records.record import ScoreRecord
from brainscore_vision.benchmark_helpers.screen import presented
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate
from brainscore_vision.identity import ingredients
from brainscore_vision.loading import find_plugin_directory, known_identifiers, load_benchmark, load_model, unwatched
from brainscore_vision.model_interface import BrainModel, region_layers

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

__all__ = ["record_failure", "run_score", "score", "score_and_record", "shared_candidate"]


@overload
def score(model_identifier: object, benchmark_identifier: str, conda_active: bool = ..., **options: Any) -> Score: ...


@overload
def score(
    model_identifier: object, benchmark_identifier: Sequence[str], conda_active: bool = ..., **options: Any
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
    """Score a model on one benchmark, or on several that share its answers, and print a summary (`report`).

    Parameters
    ----------
    model_identifier : str or object
        A registered model, such as ``'pixels'``, or one that `model_helpers.adapters.as_brain_model` wraps.
    benchmark_identifier
        A registered benchmark, such as ``'SimulatedCortex2026.V1-pls'``. Several are scored in turn with one model,
        which answers each question once, unless environments of their own separate them.
    conda_active
        Whether the environment is prepared; ``BS_INSTALL_DEPENDENCIES=newenv`` then makes no other.
    record : path, optional
        File; for several benchmarks, a folder for ``<benchmark>/<model>.json``. None: ``scores`` in the Brain-Score
        home for a registered model or one with a separate `identifier`, otherwise no record.
    **model_options
        Arguments of `as_brain_model`; of a `BrainModel` only `identifier`, its name in the record.

    Returns
    -------
    Score
        0-d, ceiling-normalised: about 0 (no better than chance) to 1 (at the noise ceiling). Attributes: ``raw``,
        ``ceiling``, ``error`` (standard error over what ``error_over`` names), ``interval`` (95 %), both identifiers,
        ``comment`` (the layers used) and ``record_path``. For several benchmarks, a dict from each to its score.

    Raises
    ------
    UnknownIdentifierError
        No plugin registers an identifier.
    ConfigurationError
        A property of the model cannot be inferred, or a model object would get a registered name.
    """
    if model_options and _is_registered(model_identifier):
        raise TypeError(
            f"{', '.join(model_options)} can only be given with a network; {model_identifier!r} names a registered "
            "model, which defines its own. Leave them out, or pass the network."
        )
    if isinstance(benchmark_identifier, str):
        return _score_one(model_identifier, benchmark_identifier, record, report, conda_active, **model_options)
    benchmarks = list(benchmark_identifier)
    for benchmark in benchmarks:
        load_benchmark(benchmark)  # a wrong name must not cost the scores of those before it
    loaded = shared_candidate(model_identifier, conda_active=conda_active, **model_options)
    shared: dict[str, Any] = {"loaded": loaded, "identifier": model_options.get("identifier")}
    scores = {}
    for benchmark in benchmarks:
        name = shared["identifier"] or _name(model_identifier, loaded)
        path = None if record is None else records.record_path(Path(record), name, benchmark)
        scores[benchmark] = _score_one(model_identifier, benchmark, path, report, conda_active, **shared)
    return scores


def _score_one(
    model: object, benchmark: str, path: str | Path | None, report: bool, conda_active: bool, **options: Any
) -> Score:
    path = None if path is None else Path(path)
    result, record, written = score_and_record(model, benchmark, path, conda_active=conda_active, **options)
    if report:
        say(format_record(record, written))
    return result


def shared_candidate(model: object, *, conda_active: bool = False, **model_options: Any) -> object | None:
    """Return a model for several benchmarks; None if each scores it in another environment."""
    if _needs_new_environment(model, conda_active=conda_active):
        return None
    return SharedCandidate(_candidate(model, **model_options))


def _is_registered(model: object) -> bool:
    return isinstance(model, str) and not model.endswith(".onnx")


def _name(model: object, candidate: object) -> str:
    return str(model if _is_registered(model) else getattr(candidate, "identifier", model))


def _needs_new_environment(model: object, *, conda_active: bool) -> bool:
    return _is_registered(model) and settings().install_dependencies == "newenv" and not conda_active


def _candidate(model: object, **model_options: Any) -> BrainModel:  # checked by as_brain_model
    """Wrap a model, or load a registered one without tracking its loads: its revision stands for them."""
    if _is_registered(model):
        with unwatched():
            return load_model(str(model))
    if isinstance(model, BrainModel):
        model_options.pop("identifier", None)
    from brainscore_vision.model_helpers.adapters import as_brain_model  # heavy: torch; registered models bring theirs

    return as_brain_model(model, **model_options)


def score_and_record(
    model: object,
    benchmark_identifier: str,
    record_path: Path | None = None,
    *,
    conda_active: bool = False,
    loaded: object | None = None,
    isolation: str = "none",
    data_access: Literal["unstated"] | None = None,
    identifier: str | None = None,
    **model_options: Any,  # checked by as_brain_model
) -> tuple[Score, ScoreRecord, Path | None]:
    """Score a pair, here or in its own environment (``BS_INSTALL_DEPENDENCIES=newenv``), and write its record.

    Parameters and errors are those of `score`; a model that is `loaded` already is scored here, and the record states
    its `isolation`, ``'box'`` or ``'none'``, and its `data_access`, see `ScoreRecord`. The returned path is None if the
    record was not written.
    """
    is_registered = _is_registered(model)
    has_own_name = identifier is not None and identifier not in known_identifiers("model")
    if record_path is None and (is_registered or has_own_name):
        record_path = records.record_path(settings().home / "scores", identifier or str(model), benchmark_identifier)
    if record_path is not None:
        check_writable(record_path)  # before the time that scoring takes
    if record_path is not None and loaded is None and _needs_new_environment(model, conda_active=conda_active):
        return _score_elsewhere(str(model), benchmark_identifier, record_path, data_access)
    started = time.monotonic()
    # Before it runs: a plugin may write into its own folder.
    revisions = ingredients.revisions_of(str(model) if is_registered else None, benchmark_identifier)
    with ingredients.noting_ingredients() as loads:
        # The benchmark first: a wrong name must not cost the loading of a large model.
        benchmark = load_benchmark(benchmark_identifier)
        candidate = (
            _candidate(model, identifier=identifier, **model_options) if loaded is None else cast("BrainModel", loaded)
        )
        name = identifier or _name(model, candidate)
        if not is_registered and record_path is not None and name in known_identifiers("model"):
            raise ConfigurationError(
                f"Only the registered model {name!r} can have a record with that name: score({name!r}, ...). Give "
                "this model another name (identifier='...'), or leave record out."
            )
        for identified in () if record_path is None else (name, benchmark_identifier):
            if why := why_no_identifier(identified):
                raise ConfigurationError(
                    f"{identified!a} cannot be recorded: the name {why}. Give another (identifier='...') of "
                    f"{CHARACTERS}."
                )
        result = _compare(candidate, benchmark, name, benchmark_identifier)
    return _recorded(
        result,
        record_path,
        ingredients=loads,
        candidate=candidate,
        model=name,
        benchmark=benchmark_identifier,
        benchmark_version=getattr(benchmark, "version", None),
        duration_s=time.monotonic() - started,
        isolation=isolation,
        data_access=data_access,
        **revisions,
    )


def _recorded(result: Score, path: Path | None, **fields: Any) -> tuple[Score, ScoreRecord, Path | None]:
    """Build and write a record; if that fails, `result` has the reason as ``record_error``."""
    try:
        return result, ingredients.build_record(result, path, **fields), path
    except OSError as error:
        warnings.warn(f"The record {path} could not be written: {error}", stacklevel=3)
        result.attrs["record_error"] = str(error)
        result.attrs.pop("record_path", None)
        return result, ingredients.build_record(result, None, **fields), None


def _score_elsewhere(
    model: str, benchmark: str, record_path: Path, data_access: Literal["unstated"] | None
) -> tuple[Score, ScoreRecord, Path]:
    from brainscore_core.plugin_management.environment import isolated_score  # rarely needed

    folders = [find_plugin_directory("benchmark", benchmark), find_plugin_directory("model", model)]
    record = isolated_score(
        "brainscore_vision", model, benchmark, plugin_folders=folders, record_path=record_path, read=ScoreRecord.read
    )
    if data_access is not None:  # only this process knows it
        record = dataclasses.replace(record, data_access=data_access)
        record.write(record_path)
    return score_of(record, record_path), record, record_path


def record_failure(model_identifier: str, benchmark_identifier: str, error: Exception, record_path: Path) -> None:
    """Write a failed pair's record: status ``failed:<class of the error>``."""
    ScoreRecord.without_score(
        f"failed:{type(error).__name__}",
        str(error),
        model=model_identifier,
        benchmark=benchmark_identifier,
        **ingredients.revisions_of(model_identifier, benchmark_identifier),
    ).write(record_path)


def run_score(model_identifier: str, benchmark_identifier: str) -> Score:
    """Score a pair in this process without writing a record."""
    benchmark = load_benchmark(benchmark_identifier)
    return _compare(_candidate(model_identifier), benchmark, model_identifier, benchmark_identifier)


def _compare(model: BrainModel, benchmark: Benchmark, model_identifier: str, benchmark_identifier: str) -> Score:
    keep_order = getattr(benchmark, "presentation_order", "content") == "experiment"  # published ones state none
    candidate = presented(model, keep_order=keep_order)
    try:
        result = score_benchmark(benchmark, candidate, name=benchmark_identifier)
    except NotImplementedError as error:
        frames = {frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)}
        if frames.isdisjoint({"start_task", "start_recording"}):  # elsewhere the class means unfinished code
            raise
        result = not_applicable(str(error))
    except DownloadError as error:
        from brainscore_vision.catalogue.needs import absent_data_error  # only for errors

        absent = absent_data_error(benchmark_identifier, error)
        if absent is None:
            raise
        raise absent from error
    if candidate.has_seen and math.isnan(float(result)) and not result.attrs.get("not_estimable"):
        # Averages leave out inapplicable benchmarks: a model could avoid one by always giving the same answer.
        # The exception are data that allow no estimate, whatever the model answers.
        result = result.copy(data=0.0)
        result.attrs["error_nan_reason"] = f"0 by rule, since it answered: {result.attrs.pop('not_applicable')}"
    if keep_order:
        result.attrs["presentation_order"] = "experiment"
    result.attrs["model_identifier"] = model_identifier
    result.attrs["benchmark_identifier"] = benchmark_identifier
    layers = region_layers(model)
    if layers:
        result.attrs["comment"] = f"layers: {layers}"
    return result
