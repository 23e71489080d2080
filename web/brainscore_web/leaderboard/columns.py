"""Compute the columns of the board: the scores of all models on a benchmark or on average, with intervals and ranks.

A benchmark without any score is in no average.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.records.comparison import counting_version
from brainscore_core.statistics.model_scores import ModelScores

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.records.record import ScoreRecord
    from brainscore_core.statistics.joint_errors import JointErrors
    from brainscore_core.statistics.tests import Comparison

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

CODES = {
    "s": "scored",
    "n": "not applicable",
    "f": "failed",
    "q": "not run",
    "v": "scored on another version of the benchmark",
    "r": "running",
    "h": "hidden",
    "a": "average of all its parts",
    "p": "average with missing parts",
    "-": "average without any part",
}
"""Status of a model on a node, one character each."""

DETAILS = (
    *("raw", "ceiling", "error", "raw_error", "stimulus_error", "split_error"),
    *("n_stimuli", "n_neuroids", "n_trials", "n_subjects", "layers", "version", "created", "duration_s"),
    *("peak_memory_bytes", "status", "message", "error_over", "reason", "model_revision", "benchmark_revision"),
    *("environment", "library", "weights", "normalization"),
)
"""Details of one score; None: unknown."""

_ONLY_WITH_ALL = frozenset(DETAILS) - {"version", "created", "status", "reason", "model_revision", "benchmark_revision"}
_OF_CHOICE = {"benchmark": str, "simulated": bool, "runner_up": str, "margin": float, "separable": bool}
"""Displayed fields of the choice of a layer, besides the interval of the margin, and their types."""

Layers = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""Model -> region -> layer -> how it was chosen, and ``n``, the number of benchmarks."""


@dataclass(frozen=True)
class Column:
    """Results on one node; lists are in the order of `models`.

    Attributes
    ----------
    low, high
        95 % interval of `value`; None for an average with missing scores.
    bounded
        For each model ``'1'`` if the interval is an upper bound, as an error or a correlation is unknown, or ``'0'``.
    code
        One of `CODES` for each model.
    missing, n
        Number of benchmarks below without a score of the model, and number that count.
    rank
        One more than the number of models with a higher score, among those that lack none; its 95 % interval is
        `rank_low` to `rank_high`.
    group
        Letters of models that do not differ, see `brainscore_core.statistics.tests.Comparison.letters`. Empty without a
        rank.
    unranked
        Model without `value` -> a score that is shown next to the ranks, and why it has none, such as ``'version 1'``.
    waiting
        Model -> version, score and time of its record on a version that does not count (`counting_version`).
    """

    models: tuple[str, ...]
    value: list[float | None]
    low: list[float | None]
    high: list[float | None]
    bounded: str
    code: str
    missing: list[int]
    n: list[int]
    rank: list[int | None]
    rank_low: list[int | None]
    rank_high: list[int | None]
    group: list[str]
    unranked: dict[str, tuple[float, str]] = field(default_factory=dict)
    waiting: dict[str, tuple[int | None, float, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Leaf:
    """Details and facts from the records of a benchmark.

    Attributes
    ----------
    details
        Each of `DETAILS` for each model of the column; on the board only ``created`` and ``version``.
    layers
        Region -> ``layer``, ``origin`` and, if it was chosen, ``benchmark``, ``simulated``, ``runner_up``, ``margin``,
        ``margin_interval`` and ``separable``. Empty on the board, which counts them.
    facts
        ``simulated``, ``version``, ``ceiling``, ``of_ceiling`` (``error``, ``low``, ``high``, ``over``, the ``reason``
        if there are none, ``how`` it was estimated), ``n_stimuli``, ``n_neuroids``, ``n_subjects``, ``fails`` (class ->
        number of models), ``rollout`` (for each version, newest first: ``version``, ``n`` models with a score of it,
        and whether it ``counts``).
    problems
        Unreadable records with the reason.
    """

    details: dict[str, list[Any]]
    layers: list[dict[str, Any] | None]
    facts: dict[str, Any]
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LeafColumn:
    """Column and details of a benchmark, and the inputs of averages and comparisons.

    `scores` are for averages over benchmarks: influences whose stimuli and units have no names are left out. `joint`
    are the errors of the models with a score.
    """

    column: Column
    leaf: Leaf
    scores: ModelScores
    joint: JointErrors


def column_of_records(
    records: Mapping[str, ScoreRecord | None],
    earlier: Mapping[str, Mapping[int | None, ScoreRecord]] = MappingProxyType({}),
    *,
    shows: str = "all",
) -> LeafColumn:
    """Compute a benchmark from the records of models.

    Parameters
    ----------
    records
        None: unreadable.
    earlier
        Model -> version -> the record of it that a newer one replaced, which counts while that version does.
    shows
        As for `BenchmarkEntry`.
    """
    models = tuple(sorted(records))
    scored = {model: record for model, record in records.items() if record is not None and record.score is not None}
    of_versions = {
        model: {**earlier.get(model, {}), record.benchmark_version: record} for model, record in scored.items()
    }
    version = counting_version(of_versions.values())
    of_models = [of_versions.get(model, {}).get(version, records[model]) for model in models]
    counted = [None if shows == "nothing" else of_versions.get(model, {}).get(version) for model in models]
    waiting = {
        model: (record.benchmark_version, record.score or 0.0, record.created_in_utc)
        for model, record in scored.items()
        if shows != "nothing" and record.benchmark_version != version
    }
    scores = ModelScores.of_scores(
        _numbers([None if record is None else record.score for record in counted], math.nan),
        _numbers([None if record is None else record.error for record in counted], math.nan),
        _numbers([None if record is None else record.error_df for record in counted], math.inf),
        [None if record is None else record.influence for record in counted],
    )
    nameless = [record is None or None in (record.stimulus_set, record.assembly) for record in counted]
    intervals = scores.intervals()
    for place, record in enumerate(counted):
        if record is not None and record.score is not None and record.interval is not None:
            intervals[place] = record.interval
    code = "".join("h" if shows == "nothing" else _code(record, version) for record in of_models)
    comparison = scores.comparison()
    column = _column(models, scores, comparison, intervals, code)
    others = {model: of for model, of in waiting.items() if version not in of_versions[model]}
    unranked = {model: (score, f"version {number}") for model, (number, score, _) in others.items()}
    column = replace(column, unranked=unranked, waiting=waiting)
    rows = [_details(record, version, shows) for record in of_models]
    details = {name: [row[name] for row in rows] for name in DETAILS}
    layers = [None if record is None or shows != "all" else _layers(record) for record in of_models]
    facts = _facts(of_models, counted, shows)
    facts["rollout"] = [] if shows == "nothing" else _rollout(of_versions.values(), version)
    leaf = Leaf(details, layers, facts)
    return LeafColumn(column, leaf, scores.without_influences(np.array(nameless, dtype=bool)), comparison.joint)


def column_of_average(models: tuple[str, ...], scores: ModelScores, comparison: Comparison) -> Column:
    """Compute a node from its mean scores, and the comparison of the models that have all of them."""
    code = "".join("-" if lacks == scores.n_below else "p" if lacks else "a" for lacks in scores.missing.tolist())
    return _column(models, scores, comparison, scores.intervals(), code)


def _column(
    models: tuple[str, ...], scores: ModelScores, comparison: Comparison, intervals: Floats, code: str
) -> Column:
    ranks = np.full((3, len(models)), np.nan)
    ranks[:, scores.is_compared] = comparison.ranks, *comparison.rank_intervals().T
    rank, low, high = ([int(n) if math.isfinite(n) else None for n in of_models] for of_models in ranks.tolist())
    letters = np.full(len(models), "", dtype=object)
    letters[scores.is_compared] = comparison.letters()
    return Column(
        models,
        _floats(scores.value),
        _floats(intervals[:, 0]),
        _floats(intervals[:, 1]),
        "".join("01"[bound] for bound in scores.is_bound.tolist()),
        code,
        scores.missing.tolist(),
        [scores.n_below] * len(models),
        rank,
        low,
        high,
        letters.tolist(),
    )


def _rollout(of_versions: Iterable[Iterable[int | None]], counting: int | None) -> list[dict[str, Any]]:
    numbers = Counter(version for versions in of_versions for version in versions)
    ordered = sorted(numbers, key=lambda version: -1 if version is None else version, reverse=True)
    return [{"version": version, "n": numbers[version], "counts": version == counting} for version in ordered]


def _code(record: ScoreRecord | None, version: int | None) -> str:
    if record is None or record.status.startswith("skipped:"):
        return "q"
    if not record.is_scored:
        return "f"
    if record.score is None:
        return "n"
    return "s" if record.benchmark_version == version else "v"


def _reason(record: ScoreRecord, version: int | None) -> str | None:
    if record.score is None:
        return record.message or record.status
    if record.benchmark_version != version:
        return f"scored on version {record.benchmark_version} of the benchmark; the current version is {version}"
    return record.error_nan_reason or record.interval_nan_reason


def _details(record: ScoreRecord | None, version: int | None, shows: str) -> dict[str, Any]:
    if record is None or shows == "nothing":
        return dict.fromkeys(DETAILS) | ({} if record is not None else {"reason": "its record cannot be read"})
    fields = vars(record)
    details = {name: fields.get(name) for name in DETAILS}
    details["layers"] = "; ".join(f"{region}: {_text(of)}" for region, of in sorted(record.layers.items())) or None
    details["version"] = record.benchmark_version
    details["error_over"] = ", ".join(record.error_over) or None
    details["created"] = record.created_in_utc
    details["reason"] = _reason(record, version)
    details["message"] = record.message or None
    return details if shows == "all" else {name: None if name in _ONLY_WITH_ALL else details[name] for name in DETAILS}


def _layers(record: ScoreRecord) -> dict[str, Any] | None:
    layers = {}
    for region, layer in sorted(record.layers.items()):
        origin = record.layer_origin.get(region)
        about = origin if isinstance(origin, Mapping) else {"from": origin}
        how = about.get("from")
        layers[region] = {"layer": _text(layer), "origin": None if how is None else _text(how), **_choice(about)}
    return layers or None


def _choice(origin: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields of a choice of layer that have the right type; a record may hold anything."""
    choice = {name: origin[name] for name, kind in _OF_CHOICE.items() if isinstance(origin.get(name), kind)}
    interval = origin.get("margin_interval")
    if isinstance(interval, list) and len(interval) == 2 and all(isinstance(end, float) for end in interval):
        choice["margin_interval"] = interval
    numbers: list[Any] = [*choice.get("margin_interval", ()), choice.get("margin", 0.0)]  # type: ignore[misc]
    return choice if all(math.isfinite(number) for number in numbers) else {}


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _facts(
    records: Sequence[ScoreRecord | None],
    counted: Sequence[ScoreRecord | None],
    shows: str,
) -> dict[str, Any]:
    readable = [record for record in records if record is not None]
    scored = [record for record in counted if record is not None and record.score is not None]
    latest = max(scored, key=lambda each: (each.created_in_utc, each.model), default=None)
    statuses = (record.status.partition(":") for record in readable)
    fails = Counter(name for kind, _, name in statuses if kind == "failed")
    sizes = ("ceiling", "n_stimuli", "n_neuroids", "n_subjects")
    return {
        "simulated": any(record.simulated for record in readable),
        "version": None if latest is None else latest.benchmark_version,
        **{name: getattr(latest, name) if latest is not None and shows == "all" else None for name in sizes},
        "of_ceiling": _of_ceiling(latest) if latest is not None and shows == "all" else None,
        "fails": dict(sorted(fails.items())),
    }


def _of_ceiling(record: ScoreRecord) -> dict[str, Any]:
    low, high = record.ceiling_interval or (None, None)
    return {
        "error": record.ceiling_error,
        "low": low,
        "high": high,
        "over": list(record.ceiling_error_over),
        "reason": record.ceiling_nan_reason,
        "how": record.ceiling_estimator,
    }


def _numbers(values: Sequence[float | None], otherwise: float) -> Floats:
    return np.array([otherwise if value is None else value for value in values], dtype=np.float64)


def _floats(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]
