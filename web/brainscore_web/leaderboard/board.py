"""Compute the columns of the board: the scores of all models on a benchmark or on average, with intervals and ranks.

A node of the tree averages what is right below it, as `brainscore_core.statistics.averages.average_tree` does with
``missing="zero"``: a missing score counts as 0, unless all below a node are missing. Here that is done for all models
at once, since the average of a node is linear in what is below it: values, influences of stimuli and units, and errors
of which nobody knows how they go together are the means of those of its children.

A benchmark on which no model has a score yet is in no average: it would be the same zero for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.statistics.averages import Estimate
from brainscore_core.statistics.influence import LEVEL, satterthwaite
from brainscore_core.statistics.joint_errors import JointErrors
from brainscore_core.statistics.sketch import WIDTH, InfluenceSketch
from brainscore_core.statistics.tests import Comparison, letters

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.records.record import ScoreRecord

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]
    Places = npt.NDArray[np.intp]

__all__ = ["CODES", "DETAILS", "Column", "Computed", "Estimates", "Leaf", "average_of", "leaf_of"]

CODES = {
    "s": "scored",
    "n": "not applicable",
    "f": "failed",
    "q": "not run",
    "r": "running",
    "h": "hidden",
    "a": "average of all its parts",
    "p": "average of which some parts are missing",
    "-": "average without any part",
}
"""What one character says about a model on a node."""

DETAILS = (
    *("raw", "ceiling", "error", "raw_error", "stimulus_error", "split_error"),
    *("n_stimuli", "n_neuroids", "n_trials", "n_subjects", "layers", "version", "created", "duration_s"),
    *("peak_memory_bytes", "status", "message", "error_over", "reason", "model_revision", "benchmark_revision"),
    *("environment", "library", "weights", "normalization"),
)
"""What is shown about one score beside its value; each is None where it is not known."""

_ONLY_WITH_ALL = frozenset(DETAILS) - {"version", "created", "status", "reason", "model_revision", "benchmark_revision"}
_MOST_LETTERS = 3
_OF_CHOICE = {"benchmark": str, "simulated": bool, "runner_up": str, "margin": float, "separable": bool}
"""What is shown of how a layer was chosen, beside the interval of the margin, and of which type it has to be."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Scores of several models on one node, how sure they are, and how they err together.

    Attributes
    ----------
    value : ndarray, shape (n_models,)
        NaN: missing.
    buckets : ndarray, shape (n_models, 3, WIDTH)
        Influences, see `brainscore_core.statistics.sketch`; 0 where they are not known.
    freedom : ndarray, shape (n_models, 2)
        Of these.
    matched : ndarray of bool, shape (n_models,)
        Where influences are known.
    apart, total, spread : ndarray, shape (n_models,)
        Errors without influences; all errors; all errors, each divided by the root of its degrees of freedom. Weighted
        sums.
    unknown : ndarray of bool, shape (n_models,)
        Where a score has no error.
    """

    value: Floats
    buckets: Floats
    freedom: Floats
    matched: Bools
    apart: Floats
    total: Floats
    spread: Floats
    unknown: Bools

    @classmethod
    def of(cls, estimates: Sequence[Estimate]) -> Estimates:
        """Take scores on one benchmark, whose influences are sketches."""
        n = len(estimates)
        value = np.array([each.value for each in estimates], dtype=np.float64)
        error = np.array([each.error for each in estimates], dtype=np.float64)
        df = np.array([each.df for each in estimates], dtype=np.float64)
        unknown = np.isfinite(value) & ~np.isfinite(error)
        there = np.isfinite(value) & ~unknown
        buckets, freedom, matched = np.zeros((n, 3, WIDTH)), np.full((n, 2), np.inf), np.zeros(n, dtype=bool)
        for place, each in enumerate(estimates):
            if there[place] and isinstance(each.influence, InfluenceSketch):
                buckets[place], freedom[place], matched[place] = each.influence.buckets, each.influence.freedom, True
        error = np.where(there, error, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where((error > 0) & (df > 0), error / np.sqrt(df), 0.0)
        return cls(value, buckets, freedom, matched, np.where(matched, 0.0, error), error, spread, unknown)

    @classmethod
    def mean_of(cls, parts: Iterable[tuple[Places, Estimates]], n_models: int) -> Estimates:
        """Average scores on several nodes; one that is missing counts as 0.

        Parameters
        ----------
        parts : iterable of (ndarray of int, Estimates)
            The places of a node's models among all, and their estimates. Only one is held at a time: they are large.
        n_models : int
            How many models there are.
        """
        values: list[Floats] = []
        sums = {
            "buckets": np.zeros((n_models, 3, WIDTH)),
            **{name: np.zeros(n_models) for name in ("apart", "total", "spread")},
        }
        freedom = np.full((n_models, 2), np.inf)
        matched, unknown = (np.zeros(n_models, dtype=bool) for _ in range(2))
        for places, each in parts:
            values.append(np.full(n_models, np.nan))
            values[-1][places] = each.value
            for name, total in sums.items():
                total[places] += getattr(each, name)
            freedom[places] = np.minimum(freedom[places], each.freedom)
            matched[places] |= each.matched
            unknown[places] |= each.unknown
        for total in sums.values():
            total /= len(values)
        value = np.array([math.fsum(column) for column in np.nan_to_num(values).T.tolist()]) / len(values)
        there = np.isfinite(values).any(axis=0)
        return cls(np.where(there, value, np.nan), freedom=freedom, matched=matched, unknown=unknown, **sums)

    @property
    def moments(self) -> Floats:
        """Sums of squares over stimuli, units and cells, shape (n_models, 3)."""
        squares: Floats = np.vecdot(self.buckets, self.buckets)
        return squares

    @property
    def error(self) -> Floats:
        """Standard errors, the largest there can be where it is not known how scores go together; NaN without one."""
        of_stimuli, of_units, of_cells = self.moments.T
        variance = np.maximum(np.maximum(of_stimuli + of_units - of_cells, of_stimuli), of_units)
        error: Floats = np.where(self.unknown | np.isnan(self.value), np.nan, np.sqrt(variance) + self.apart)
        return error

    @property
    def df(self) -> Floats:
        """How many independent values each error is worth."""
        with np.errstate(divide="ignore", invalid="ignore"):
            df: Floats = np.where(self.spread > 0, (self.total / self.spread) ** 2, np.inf)
        moments, error = self.moments, self.error
        for place in np.flatnonzero(self.matched & (self.apart == 0) & ~self.unknown):
            n, q = self.freedom[place].tolist()
            known = satterthwaite(moments[place].tolist(), (n, q), float(error[place]) ** 2)
            df[place] = known if math.isfinite(known) else df[place]
        return df

    def intervals(self) -> Floats:
        """Return value ± error times the quantile of Student's t, shape (n_models, 2); NaN without an error."""
        from scipy.special import stdtrit  # takes longer to load than most commands

        error = self.error
        margin = np.where(error > 0, error * stdtrit(self.df, (1 + LEVEL) / 2), error)
        return np.column_stack([self.value - margin, self.value + margin])

    def joint(self) -> JointErrors:
        """Return how they err together, as `JointErrors.of_estimates` does."""
        known = self.matched & ~self.unknown
        kinds = (np.where(known[:, None], self.buckets[:, kind], 0.0) for kind in range(3))
        moments = np.stack([each @ each.T for each in kinds])
        n, q = (self.freedom[known].min(axis=0) if known.any() else np.full(2, np.inf)).tolist()
        apart = np.where(np.isfinite(self.error), self.apart**2, np.nan)
        return JointErrors(moments, (n, q), apart, self.df)


@dataclass(frozen=True)
class Column:
    """What the board shows of each model on one node; lists are in the order of `models`.

    Attributes
    ----------
    value, low, high : list of float or None
        Score, and its 95 % interval.
    code : str
        One of `CODES` for each model.
    missing, n : list of int
        How many benchmarks below count, and how many of these have no score of the model.
    rank : list of int or None
        One more than the number of models with a higher score.
    rank_low, rank_high : list of int or None
        Between which ranks the model truly lies, with 95 %.
    group : list of str
        Letters of the groups of models that do not differ significantly: ``'ab'``, or ``'c-k'`` for all from c to k;
        two models differ if they share none. Empty without a score.
    reliability : dict
        ``value``, ``low``, ``high``, ``reason`` and ``is_bound``, see `brainscore_core.statistics.tests.Reliability`.
    """

    models: tuple[str, ...]
    value: list[float | None]
    low: list[float | None]
    high: list[float | None]
    code: str
    missing: list[int]
    n: list[int]
    rank: list[int | None]
    rank_low: list[int | None]
    rank_high: list[int | None]
    group: list[str]
    reliability: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Computed:
    """A node: what is shown of it, and what averages and comparisons need."""

    column: Column
    estimates: Estimates
    joint: JointErrors
    leaf: Leaf | None = None


@dataclass(frozen=True)
class Leaf:
    """A benchmark: what is known about each score, and what its records say about itself.

    Attributes
    ----------
    details : dict of str to list
        Each of `DETAILS`, for each model of the column; of a leaf that is kept, ``created`` and ``version`` alone.
    layers : list of dict or None
        Region -> ``layer``, ``origin`` and, if it was chosen, ``benchmark``, ``simulated``, ``runner_up``, ``margin``,
        ``margin_interval`` and ``separable``, as the records have it. Empty of a leaf that is kept, see
        `brainscore_web.leaderboard.data_files.Board`.
    facts : dict
        ``simulated``, ``version``, ``ceiling``, ``of_ceiling`` (``error``, ``low``, ``high``, ``over`` what these are,
        ``reason`` why there are none, ``how`` it was estimated), ``n_stimuli``, ``n_neuroids``, ``n_subjects``,
        ``fails`` (class -> number of models).
    problems : list of str
        Which records cannot be read, and why.
    """

    details: dict[str, list[Any]]
    layers: list[dict[str, Any] | None]
    facts: dict[str, Any]
    problems: list[str] = field(default_factory=list)


def leaf_of(records: Mapping[str, ScoreRecord | None], *, shows: str = "all") -> Computed:
    """Compute a benchmark from its records.

    Parameters
    ----------
    records : mapping of str to ScoreRecord or None
        Of each model; None: there is one that cannot be read.
    shows : {'all', 'score', 'nothing'}
        See `brainscore_web.leaderboard.catalogue.BenchmarkEntry`.

    Returns
    -------
    Computed
        Its estimates are for averages over benchmarks: influences whose stimuli and units have no names are left out.
    """
    models = tuple(sorted(records))
    of_models = [records[model] for model in models]
    versions = [each.benchmark_version for each in of_models if each is not None and each.score is not None]
    newest = max((each for each in versions if each is not None), default=None)
    counted = [
        each if shows != "nothing" and each is not None and each.benchmark_version == newest else None
        for each in of_models
    ]
    nothing = Estimate(float("nan"))
    alone = [nothing if each is None else each.estimate(of_same_benchmark=True) for each in counted]
    among = [
        one if each is None or None not in (each.stimulus_set, each.assembly) else each.estimate()
        for one, each in zip(alone, counted, strict=True)
    ]
    intervals = [
        each.interval() if record is None or record.interval is None or each.is_missing else record.interval
        for each, record in zip(alone, counted, strict=True)
    ]
    code = "".join("h" if shows == "nothing" else _code(each, newest) for each in of_models)
    comparison = Comparison(np.array([each.value for each in alone]), JointErrors.of_estimates(alone))
    column = _column(models, comparison, np.array(intervals).reshape(-1, 2), code)
    details: dict[str, list[Any]] = {name: [] for name in DETAILS}
    for each in of_models:
        for name, value in _details(each, newest, shows).items():
            details[name].append(value)
    shown = [None if each is None or shows != "all" else _layers(each) for each in of_models]
    leaf = Leaf(details, shown, _facts(of_models, counted, shows))
    return Computed(column, Estimates.of(among), comparison.joint, leaf)


def average_of(columns: Sequence[Column], estimates: Iterable[Estimates]) -> Computed:
    """Compute a node from those below it that count; estimates, which are large, are taken one after the other."""
    models = tuple(sorted({model for column in columns for model in column.models}))
    position = {model: place for place, model in enumerate(models)}
    n_models = len(models)
    missing, n_below = np.zeros(n_models, dtype=int), 0
    places_of = [np.array([position[model] for model in column.models], dtype=np.intp) for column in columns]
    for column, places in zip(columns, places_of, strict=True):
        below = max(column.n, default=0)
        lacking = np.full(n_models, below)
        lacking[places] = column.missing
        missing, n_below = missing + lacking, n_below + below
    whole = Estimates.mean_of(zip(places_of, estimates, strict=True), n_models)
    code = "".join("-" if lacks == n_below else "p" if lacks else "a" for lacks in missing.tolist())
    comparison = Comparison(whole.value, whole.joint())
    column = _column(models, comparison, whole.intervals(), code, (missing.tolist(), [n_below] * n_models))
    return Computed(column, whole, comparison.joint)


def _column(
    models: tuple[str, ...],
    comparison: Comparison,
    intervals: Floats,
    code: str,
    below: tuple[list[int], list[int]] | None = None,
) -> Column:
    scores = comparison.scores
    missing, n = below or ([int(each != "s") for each in code], [1] * len(models))
    ranks, reliability = comparison.rank_intervals(), comparison.reliability()
    ordered = np.sort(-scores[np.isfinite(scores)])
    rank = np.where(np.isfinite(scores), 1.0 + np.searchsorted(ordered, -scores, side="left"), np.nan)
    return Column(
        models,
        _floats(scores),
        _floats(intervals[:, 0]),
        _floats(intervals[:, 1]),
        code,
        missing,
        n,
        _integers(rank),
        _integers(ranks[:, 0]),
        _integers(ranks[:, 1]),
        letters(comparison.groups(exact=False), most=_MOST_LETTERS),
        {
            **{name: _float(getattr(reliability, name)) for name in ("value", "low", "high")},
            "reason": reliability.reason or None,
            "is_bound": reliability.is_bound,
        },
    )


def _code(record: ScoreRecord | None, newest: int | None) -> str:
    if record is None or record.status.startswith("skipped:"):
        return "q"
    if not record.is_scored:
        return "f"
    if record.score is None:
        return "n"
    return "s" if record.benchmark_version == newest else "q"


def _reason(record: ScoreRecord, newest: int | None) -> str | None:
    """Return why there is no score, or no error or interval of it."""
    if record.score is None:
        return record.message or record.status
    if record.benchmark_version != newest:
        return f"scored on version {record.benchmark_version} of the benchmark, which is now {newest}"
    return record.error_nan_reason or record.interval_nan_reason


def _details(record: ScoreRecord | None, newest: int | None, shows: str) -> dict[str, Any]:
    if record is None or shows == "nothing":
        return dict.fromkeys(DETAILS) | ({} if record is not None else {"reason": "its record cannot be read"})
    found: dict[str, Any] = {
        name: getattr(record, name) for name in DETAILS if name not in {"layers", "version", "reason", "error_over"}
    }
    found |= {
        "layers": "; ".join(f"{region}: {_text(layer)}" for region, layer in sorted(record.layers.items())) or None,
        "version": record.benchmark_version,
        "error_over": ", ".join(record.error_over) or None,
        "reason": _reason(record, newest),
        "message": record.message or None,
    }
    return found if shows == "all" else {name: None if name in _ONLY_WITH_ALL else found[name] for name in DETAILS}


def _layers(record: ScoreRecord) -> dict[str, Any] | None:
    origins = record.layer_origin
    found = {}
    for region, layer in sorted(record.layers.items()):
        origin = origins.get(region)
        about = origin if isinstance(origin, Mapping) else {"from": origin}
        how = about.get("from")
        found[region] = {
            "layer": _text(layer),
            "origin": None if how is None else _text(how),
            **_choice(about),
        }
    return found or None


def _choice(origin: Mapping[str, object]) -> dict[str, Any]:
    """Return what is shown of how a layer was chosen; a record may say anything, so that types are looked at."""
    found = {name: origin[name] for name, kind in _OF_CHOICE.items() if isinstance(origin.get(name), kind)}
    interval = origin.get("margin_interval")
    if isinstance(interval, list) and len(interval) == 2 and all(isinstance(end, float) for end in interval):
        found["margin_interval"] = interval
    return {} if any(not math.isfinite(each) for each in _numbers(found)) else found


def _numbers(choice: Mapping[str, Any]) -> list[float]:
    return [*choice.get("margin_interval", ()), choice.get("margin", 0.0)]


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _facts(
    records: Sequence[ScoreRecord | None],
    counted: Sequence[ScoreRecord | None],
    shows: str,
) -> dict[str, Any]:
    readable = [each for each in records if each is not None]
    scored = [each for each in counted if each is not None and each.score is not None]
    latest = max(scored, key=lambda each: (each.created, each.model), default=None)
    fails: dict[str, int] = {}
    for each in readable:
        kind, _, name = each.status.partition(":")
        if kind == "failed":
            fails[name] = fails.get(name, 0) + 1
    sizes = ("ceiling", "n_stimuli", "n_neuroids", "n_subjects")
    return {
        "simulated": any(each.simulated for each in readable),
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


def _float(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _floats(values: Floats) -> list[float | None]:
    return [each if math.isfinite(each) else None for each in values.tolist()]


def _integers(values: Floats) -> list[int | None]:
    return [int(each) if math.isfinite(each) else None for each in values.tolist()]
