"""Comparisons of several models by their records."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import DataNotHereError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.comparison import averages_of, compare_on_average, compare_records, counting_version
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import Influence


def record(model, benchmark="b", **values):
    empty = ScoreRecord.without_score("scored", model=model, benchmark=benchmark, source_revision=None)
    return dataclasses.replace(empty, **{"benchmark_version": 1, **values})


def record_of(influence, model, benchmark, value, **attrs):
    score = attach_influence(Score(value), influence)
    score.attrs.update(attrs)
    return ScoreRecord.of_score(score, model=model, benchmark=benchmark, benchmark_version=1)


def influences(seed, n_models=2, of_stimuli=1.0):
    """Return influences for models that differ in which stimuli they find difficult."""
    rng = np.random.default_rng(seed)
    hard = of_stimuli * rng.standard_normal((n_models, 150, 1))
    return [Influence.of_mean(each + rng.standard_normal((150, 20)), np.arange(150), np.arange(20)) for each in hard]


def test_models_keep_their_order_and_are_ranked():
    found = compare_records([record("x", score=0.1, error=0.01), record("y", score=0.9, error=0.01)], ["x", "z", "y"])[
        0
    ]
    assert found.models == ("x", "z", "y")
    assert found.order == [2, 0, 1]
    assert found.ranks == ["2", "", "1"]
    assert found.letters == ["b", "", "a"]
    assert [each.reason for each in found.scores] == ["", "not scored", ""]


def test_interval_of_the_record_takes_precedence():
    records = [
        record("x", score=0.1, error=0.01, interval=(0.05, 0.2)),
        record("y", score=0.9, error=0.01, error_df=4.0),
    ]
    found = compare_records(records, ["x", "y"])[0]
    assert found.intervals[0] == (0.05, 0.2)
    assert found.intervals[1] == pytest.approx((0.9 - 0.02776, 0.9 + 0.02776), abs=1e-5)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"score": 0.5, "benchmark_version": 1}, "version 1, not 2"),
        ({"status": "failed:ValueError"}, "failed"),
        ({"message": "it has no such region"}, "not applicable"),
    ],
)
def test_incomparable_record_has_a_reason(values, reason):
    others = [record(name, score=0.1, error=0.01, benchmark_version=2) for name in "xz"]
    found = compare_records([*others, record("y", **values)], ["x", "y", "z"])[0]
    assert found.scores[1].reason == reason
    assert np.isnan(found.comparison.differences[0, 1])


def test_average_includes_the_covariance_of_shared_stimuli():
    """Both benchmarks have the same stimuli, so their effect on a difference of models does not average out."""
    errors = {}
    for name, sets in (("same", ("S", "S")), ("other", ("S", "T"))):
        records = []
        for benchmark, stimulus_set in zip("bc", sets, strict=True):
            for model, influence in zip("xy", influences(0), strict=True):
                attrs = {"stimulus_set": stimulus_set, "assembly": benchmark}
                records.append(record_of(influence, model, benchmark, 0.5, **attrs))
        compared = compare_records(records, ["x", "y"])
        average = averages_of(compared, records)[0]
        assert average.name == "average of 2"
        assert average.benchmarks == ("b", "c")
        errors[name] = average.comparison.joint.pair_errors[0, 1] / compared[0].comparison.joint.pair_errors[0, 1]
    assert errors["same"] == pytest.approx(1, abs=0.05)
    assert errors["other"] == pytest.approx(np.sqrt(0.5), abs=0.07)


def test_unnamed_stimuli_count_as_possibly_shared():
    records = [
        record_of(influence, model, benchmark, 0.5)
        for benchmark in "bc"
        for model, influence in zip("xy", influences(0), strict=True)
    ]
    average = averages_of(compare_records(records, ["x", "y"]), records)[0]
    assert not average.comparison.joint.is_matched[0, 1]
    assert average.scores[0].is_bound
    assert average.scores[0].error == pytest.approx(records[0].error)  # not divided by the root of 2


def test_records_of_other_models_bound_a_missing_error():
    records = [
        *(record("x", benchmark, score=0.5, error=error) for benchmark, error in (("A", None), ("B", 0.02))),
        *(record("y", benchmark, score=0.4, error=0.01) for benchmark in "AB"),
        *(record(f"other{n}", "A", score=0.4, error=n / 100, error_df=float(n)) for n in range(1, 5)),
        record("newer", "A", score=0.4, error=0.9, benchmark_version=2),
        record("other1", "C", score=0.4, error=0.9),
    ]
    compared = compare_records(records, ["x", "y"])
    assert [each.name for each in compared] == ["A", "B"]
    assert (compared[0].scores[0].error, compared[0].scores[0].df, compared[0].scores[0].is_bound) == (0.04, 4.0, True)
    assert not np.isnan(compared[0].intervals[0]).any()
    for average in (averages_of(compared, records)[0], compare_on_average(records, ["x", "y"], "V1", PARENTS)):
        assert (average.scores[0].error, average.scores[0].is_bound) == (pytest.approx(0.03), True)


def test_single_model_has_rank_one():
    found = compare_records([record("x", score=0.1, error=0.01)], ["x"])[0]
    assert (found.ranks, found.letters) == (["1"], ["a"])
    nothing = compare_records([record("x", status="failed:ValueError")], ["x"])[0]
    assert (nothing.ranks, nothing.letters) == ([""], [""])


def test_single_benchmark_has_no_average():
    records = [record(model, score=0.5, error=0.1) for model in "xy"]
    assert averages_of(compare_records(records, ["x", "y"]), records) == []


PARENTS = {"A": "V1", "B": "V1", "C": "IT", "D": "IT", "V1": "neural", "IT": "neural"}


def test_average_over_a_tree_matches_the_leaderboard():
    """A missing score counts as 0; a benchmark without any score is in no average."""
    records = [
        *(record("x", benchmark, score=value, error=0.01) for benchmark, value in (("A", 0.2), ("B", 0.4), ("C", 0.8))),
        record("y", "A", score=0.6, error=0.03),
        record("y", "B", status="failed:ValueError"),
        record("x", "D", status="failed:ValueError"),
    ]
    found = compare_on_average(records, ["x", "y", "z"], "neural", PARENTS)
    assert found.benchmarks == ("A", "B", "C")
    assert found.scores[0].value == pytest.approx(((0.2 + 0.4) / 2 + 0.8) / 2)
    assert found.scores[1].value == pytest.approx(0.6 / 2 / 2)
    assert np.isnan(found.scores[1].error)
    assert found.scores[1].reason == "no score of B, C"
    assert (found.n_scored, found.ranks, found.letters) == ((3, 1, 0), ["1", "", ""], ["a", "", ""])
    assert compare_on_average(records, ["y"], "V1", PARENTS, missing="left out").scores[0].value == pytest.approx(0.6)
    assert compare_on_average(records, ["x"], "IT", PARENTS).benchmarks == ("C",)
    with pytest.raises(DataNotHereError, match="No benchmark below 'V2'"):
        compare_on_average(records, ["x"], "V2", PARENTS)


def test_simulated_benchmarks_are_averaged_only_among_themselves():
    simulated = [record("x", "A", score=0.9, error=0.01, simulated=True)]
    real = [record("x", "C", score=0.3, error=0.01)]
    found = compare_on_average(simulated + real, ["x"], "neural", PARENTS)
    assert (found.benchmarks, found.are_simulated, found.scores[0].value) == (("C",), False, 0.3)
    alone = compare_on_average(simulated, ["x"], "neural", PARENTS)
    assert (alone.benchmarks, alone.are_simulated, alone.scores[0].value) == (("A",), True, 0.9)


def test_version_of_few_models_is_in_no_average():
    records = [
        record("x", "A", score=0.9, error=0.01),
        record("y", "A", score=0.5, error=0.01, benchmark_version=2),
        record("x", "C", score=0.4, error=0.01),
    ]
    found = compare_on_average(records, ["x", "y"], "neural", PARENTS)
    assert found.scores[0].value == pytest.approx(0.65)
    assert found.n_scored == (2, 0)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([{1}, {1}, {2}], 1),  # one rescored model
        ([{1}] + [{1, 2}] * 9, 2),
        ([{1}] * 2 + [{1, 2}] * 9, 1),  # 82 %
        ([{1}, {2}], 1),
        ([{1}] * 4 + [{2}] * 6, 2),  # no version has 90 %, so the most frequent one counts
        ([{1}] * 4 + [{2}] * 3 + [{3}] * 4, 1),
        ([{None}, {None}, {1}], None),
        ([{None}] + [{7}] * 9, 7),
        ([set(), set(), {3}], 3),  # models without a score do not count
        ([], None),
    ],
)
def test_counting_version_of_examples(versions, expected):
    assert counting_version(versions) == expected


ADOPTED = st.lists(st.sampled_from([{1}, {1, 2}]), min_size=1, max_size=60)


@given(ADOPTED, st.randoms(use_true_random=False))
def test_new_version_counts_only_from_ninety_percent_on(versions, rng):
    """Models are rescored one after the other while their earlier records stay, as on a branch."""
    order = [place for place, own in enumerate(versions) if 2 not in own]
    rng.shuffle(order)
    share = (len(versions) - len(order)) / len(versions)
    for place in order:
        assert counting_version(versions) == (2 if round(10 * share, 9) >= 9 else 1)
        versions = [own | {2} if at == place else own for at, own in enumerate(versions)]
        share = sum(2 in own for own in versions) / len(versions)
    assert counting_version(versions) == 2


@given(st.lists(st.sets(st.integers(1, 4), max_size=3), max_size=30))
def test_counting_version_is_the_newest_that_ninety_percent_have(versions):
    found, n = counting_version(versions), sum(bool(own) for own in versions)
    numbers = {version: sum(version in own for own in versions) for version in range(1, 5)}
    newer = [version for version in numbers if found is not None and version > found]
    assert (found is None) == (n == 0)
    assert all(10 * numbers[version] < 9 * n for version in newer)
    if found is not None and 10 * numbers[found] < 9 * n:
        assert numbers[found] == max(numbers.values())
    assert counting_version(reversed(versions)) == found
