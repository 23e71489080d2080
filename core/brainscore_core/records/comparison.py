"""Compare models by their records: on each benchmark, and on average over benchmarks with a score of each.

On each benchmark, scores of one version count, see `counting_version`. Simulated benchmarks are averaged separately.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import DataNotHereError
from brainscore_core.statistics.averages import Estimate, average_tree, combined, with_bounds
from brainscore_core.statistics.joint_errors import JointErrors
from brainscore_core.statistics.tests import Comparison

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord
    from brainscore_core.statistics.averages import Missing
    from brainscore_core.statistics.influence import Interval

__all__ = ["ComparedModels", "averages_of", "compare_on_average", "compare_records", "compare_tree", "counting_version"]


@dataclass(frozen=True)
class ComparedModels:
    """Several models on one benchmark, or on average over some.

    Attributes
    ----------
    name
        The benchmark, or the kind of average.
    scores
        NaN with its reason if a model has none; an average with missing scores is not compared.
    intervals : tuple of (float, float)
        The record's if it states one; NaN if there is none.
    are_simulated
    benchmarks
        Benchmarks in the average, or the benchmark itself.
    n_scored
        Number of these with a score, for each model.
    """

    name: str
    models: tuple[str, ...]
    scores: tuple[Estimate, ...]
    intervals: tuple[Interval, ...]
    comparison: Comparison
    are_simulated: bool
    benchmarks: tuple[str, ...]
    n_scored: tuple[int, ...]

    @property
    def order(self) -> list[int]:
        """Positions of the models, best first; those with an incomplete average, then those without a score last."""
        values = [-np.inf if score.is_missing else score.value for score in self.scores]
        return sorted(range(len(values)), key=lambda place: (not self.scores[place].is_compared, -values[place], place))

    @property
    def ranks(self) -> list[str]:
        """Interval of each rank, such as ``'1'`` or ``'2-4'``; empty if not compared."""
        intervals = self.comparison.rank_intervals()
        texts = [f"{low:.0f}" if low == high else f"{low:.0f}-{high:.0f}" for low, high in intervals]
        return ["" if np.isnan(ends).any() else text for ends, text in zip(intervals, texts, strict=True)]

    @property
    def letters(self) -> list[str]:
        """Letters of each model, see `Comparison.letters`; empty if not compared."""
        return self.comparison.letters()


def counting_version(versions: Iterable[Collection[int | None]]) -> int | None:
    """Return which version of a benchmark counts; scores of different versions cannot be compared.

    The newest version that at least 90 % of the models have a score of: one rescored model does not change the ranks of
    the others. If no version reaches that, as new records replaced old ones, it is the one that most models have; of
    these, the oldest.

    Parameters
    ----------
    versions
        For each model, the versions that it has a score of; models without any do not count. A version of None, not
        stated, precedes all others.

    Examples
    --------
    >>> counting_version([{1}] * 8 + [{1, 2}] * 2), counting_version([{1}] + [{1, 2}] * 9)
    (1, 2)
    """
    of_models = [set(own) for own in versions if own]
    numbers = Counter(version for own in of_models for version in own)
    ordered = sorted(numbers, key=lambda version: -1 if version is None else version)
    for version in reversed(ordered):
        if 10 * numbers[version] >= 9 * len(of_models):  # exact, as in the browser
            return version
    return max(ordered, key=numbers.__getitem__, default=None)


def compare_records(records: Iterable[ScoreRecord], models: Sequence[str]) -> list[ComparedModels]:
    """Compare models on every benchmark with a record of one of them, sorted by benchmark.

    Records of other models only bound missing errors, see `brainscore_core.statistics.averages.bound_errors`.
    """
    by_benchmark: dict[str, dict[str, ScoreRecord]] = {}
    for record in records:
        by_benchmark.setdefault(record.benchmark, {})[record.model] = record
    comparisons = []
    for benchmark in sorted(by_benchmark):
        of_models = [by_benchmark[benchmark].pop(model, None) for model in models]
        if not any(of_models):
            continue
        version = counting_version(
            [entry.benchmark_version] for entry in of_models if entry is not None and entry.score is not None
        )
        others = [
            Estimate(entry.score, entry.error, df=float("inf") if entry.error_df is None else entry.error_df)
            for entry in by_benchmark[benchmark].values()
            if entry.benchmark_version == version and entry.score is not None and entry.error is not None
        ]
        scores = with_bounds([*(_estimate(entry, version) for entry in of_models), *others])[: len(models)]
        intervals = [
            entry.interval() if record is None or record.interval is None or entry.is_missing else record.interval
            for entry, record in zip(scores, of_models, strict=True)
        ]
        are_simulated = any(entry.simulated for entry in of_models if entry is not None)
        comparisons.append(_compared(benchmark, models, scores, intervals, are_simulated, (benchmark,)))
    return comparisons


def _estimate(record: ScoreRecord | None, version: int | None) -> Estimate:
    if record is None:
        return Estimate(float("nan"), reason="not scored")
    if record.score is None:
        return Estimate(float("nan"), reason="not applicable" if record.is_scored else record.status.partition(":")[0])
    if record.benchmark_version != version:
        return Estimate(float("nan"), reason=f"version {record.benchmark_version}, not {version}")
    return record.estimate(of_same_benchmark=True)


def averages_of(compared: Sequence[ComparedModels], records: Iterable[ScoreRecord]) -> list[ComparedModels]:
    """Compare the plain means of models over benchmarks: measured ones, and simulated ones.

    Only benchmarks on which every model has a score count; fewer than two give no average. `compared` is from
    `compare_records`. Errors of scores that name no stimuli and units add up to an upper bound.
    """
    by_pair = {(record.benchmark, record.model): record for record in records}
    averages = []
    for are_simulated in (False, True):
        complete = [
            entry
            for entry in compared
            if entry.are_simulated == are_simulated and not any(score.is_missing for score in entry.scores)
        ]
        if len(complete) < 2:
            continue
        names, models = [entry.name for entry in complete], complete[0].models
        weights = dict.fromkeys(names, 1 / len(names))
        scores = [
            combined({entry.name: _of_average(entry, place, by_pair) for entry in complete}, weights)
            for place in range(len(models))
        ]
        label = f"average of {len(names)}{' SIMULATED' if are_simulated else ''}"
        intervals = [entry.interval() for entry in scores]
        averages.append(_compared(label, models, scores, intervals, are_simulated, tuple(names)))
    return averages


def compare_on_average(
    records: Iterable[ScoreRecord],
    models: Sequence[str],
    node: str,
    parents: Mapping[str, str],
    *,
    missing: Missing = "zero",
) -> ComparedModels:
    """Compare the averages of models over all benchmarks below a node of a tree, as the leaderboard does.

    Benchmarks without any score do not count, nor simulated ones unless all are.

    `records` has at most one of a model and a benchmark; `parents` and `missing` are those of `average_tree`.

    Raises
    ------
    DataNotHereError
        If no benchmark below the node has a score.
    """
    all_records = list(records)
    scored = {
        entry.benchmark for entry in all_records if entry.score is not None and node in _path(entry.benchmark, parents)
    }
    simulated = {record.benchmark for record in all_records if record.simulated}
    leaves = sorted(scored - simulated or scored)
    if not leaves:
        raise DataNotHereError(f"No benchmark below {node!r} has a score, so there is no average to compare.")
    by_pair = {(record.benchmark, record.model): record for record in all_records}
    of_leaves = compare_records((record for record in all_records if record.benchmark in leaves), models)
    tree = {name: parents[name] for leaf in leaves for name in (leaf, *_path(leaf, parents)) if name in parents}
    scores, counts = [], []
    for place in range(len(models)):
        scored_leaves = [entry for entry in of_leaves if not entry.scores[place].is_missing]
        estimates = {entry.name: _of_average(entry, place, by_pair) for entry in scored_leaves}
        scores.append(average_tree(estimates, tree, missing=missing)[node])
        counts.append(len(scored_leaves))
    intervals = [entry.interval() for entry in scores]
    average = _compared(node, models, scores, intervals, set(leaves) <= simulated, tuple(leaves))
    return dataclasses.replace(average, n_scored=tuple(counts))


def compare_tree(
    records: Sequence[ScoreRecord],
    models: Sequence[str],
    parents: Mapping[str, str],
    *,
    missing: Missing = "zero",
) -> list[ComparedModels]:
    """Compare models on each inner node of a tree with a scored benchmark below, see `compare_on_average`."""
    compared = []
    for node in dict.fromkeys(parents.values()):
        with contextlib.suppress(DataNotHereError):
            compared.append(compare_on_average(records, models, node, parents, missing=missing))
    return compared


def _of_average(compared: ComparedModels, place: int, records: Mapping[tuple[str, str], ScoreRecord]) -> Estimate:
    """Return a score as part of an average; an error that others' bound is in no record."""
    score = compared.scores[place]
    return score if score.is_bound else records[compared.name, compared.models[place]].estimate()


def _path(name: str, parents: Mapping[str, str]) -> list[str]:
    """Return the ancestors of a name, nearest first; each node of a circle once."""
    path: list[str] = []
    while (above := parents.get(name)) is not None and above not in path:
        path.append(above)
        name = above
    return path


def _compared(
    name: str,
    models: Sequence[str],
    scores: Sequence[Estimate],
    intervals: Sequence[Interval],
    are_simulated: bool,
    benchmarks: tuple[str, ...],
) -> ComparedModels:
    values = np.array([score.value if score.is_compared else np.nan for score in scores])
    comparison = Comparison(values, JointErrors.of_estimates(scores))
    counts = tuple(0 if score.is_missing else len(benchmarks) for score in scores)
    return ComparedModels(
        name, tuple(models), tuple(scores), tuple(intervals), comparison, are_simulated, benchmarks, counts
    )
