"""Averages of scores agree with formulas and with simulated repetitions of the experiment."""

import dataclasses

import numpy as np
import pytest

from brainscore_core.errors import ConfigurationError, ContractError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence, mean_over_units
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.averages import (
    Estimate,
    average_tree,
    bound_errors,
    combined,
    with_bounds,
)
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.joint_errors import JointErrors
from brainscore_core.statistics.sketch import InfluenceSketch

PARENTS = {"a": "V1", "b": "V1", "c": "IT", "d": "IT", "V1": "neural", "IT": "neural", "neural": "all", "e": "all"}


def estimates(**values):
    return {name: Estimate(value, 0.1) for name, value in values.items()}


def test_node_is_the_mean_of_its_children():
    tree = average_tree(estimates(a=0.2, b=0.4, c=0.6, d=0.8, e=0.1), PARENTS)
    expected = {"V1": 0.3, "IT": 0.7, "neural": 0.5, "all": 0.3}
    assert {node: each.value for node, each in tree.items()} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        # c and d are missing, so IT is missing too and counts as 0 in its parent, as on brain-score.org.
        ("zero", {"V1": 0.3, "IT": None, "neural": 0.15, "all": 0.125}),
        ("left out", {"V1": 0.3, "IT": None, "neural": 0.3, "all": 0.2}),
        ("complete", {"V1": 0.3, "IT": None, "neural": None, "all": None}),
    ],
)
def test_missing_scores_follow_the_argument(missing, expected):
    scores = {**estimates(a=0.2, b=0.4, c=float("nan"), e=0.1)}  # d is absent altogether
    tree = average_tree(scores, PARENTS, missing=missing)
    assert {node: None if each.is_missing else pytest.approx(each.value) for node, each in tree.items()} == expected
    assert tree["IT"].reason == "no score of c, d"


@pytest.mark.parametrize("missing", ["zero", "left out"])
def test_incomplete_average_has_a_value_but_no_interval(missing):
    tree = average_tree(estimates(a=0.2, b=0.4, c=0.6, e=0.1), PARENTS, missing=missing)
    assert (tree["V1"].n_missing, tree["V1"].is_compared) == (0, True)
    for node in ("IT", "neural", "all"):
        assert np.isfinite(tree[node].value)
        assert np.isnan((tree[node].error, *tree[node].interval())).all()
        assert (tree[node].reason, tree[node].n_missing, tree[node].is_compared) == ("no score of d", 1, False)


def test_errors_without_influences_are_bounded():
    mean = combined(estimates(a=0.2, b=0.4), {"a": 0.5, "b": 0.5})
    assert (mean.error, mean.is_bound) == (pytest.approx(0.1), True)
    assert not combined(estimates(a=0.2), {"a": 1.0}).is_bound


def test_influences_of_shared_stimuli_add_up():
    """For two benchmarks on the same stimuli, averaging halves the variance over neuroids but not that over stimuli."""
    rng = np.random.default_rng(0)
    of_stimuli = rng.standard_normal((200, 1))
    tables = [of_stimuli + rng.standard_normal(50) for _ in range(2)]
    whole = [Influence.of_mean(table, np.arange(200), np.arange(50)) for table in tables]
    same = [each.within(units=f"{place}/") for place, each in enumerate(whole)]
    other = [each.within(units=f"{place}/", stimuli=f"{place}/") for place, each in enumerate(whole)]
    for kind in (same, other):
        exact = [Estimate(0.5, each.error, influence=each) for each in kind]
        sketched = [
            dataclasses.replace(each, influence=InfluenceSketch.of(each.influence, stimuli="", units=""))
            for each in exact
        ]
        by_hand = np.sqrt((np.var(of_stimuli, ddof=1) / 200) + sum(each.components[1] for each in whole) / 4)
        if kind is other:
            by_hand = np.sqrt(sum(each.variance for each in whole)) / 2
        means = [combined(dict(zip("ab", each, strict=True)), {"a": 0.5, "b": 0.5}) for each in (exact, sketched)]
        assert means[0].error == pytest.approx(by_hand, rel=0.01)
        assert means[1].error == pytest.approx(by_hand, rel=0.1)
        assert not means[0].is_bound


def test_records_give_the_same_average_as_scores(tmp_path):
    rng = np.random.default_rng(0)
    common = rng.standard_normal((120, 1))
    scores, records = {}, {}
    for name in "ab":
        influence = Influence.of_mean(common + rng.standard_normal((120, 40)), np.arange(120), np.arange(40))
        score = attach_influence(Score(0.5), influence)
        score.attrs.update(stimulus_set="Objects", assembly="Recordings")
        scores[name] = Estimate(0.5, influence.error, df=influence.degrees_of_freedom, influence=influence)
        record = ScoreRecord.of_score(score, model="m", benchmark=name)
        records[name] = ScoreRecord.read(record.write(tmp_path / f"{name}.json")).estimate()
        assert records[name].error == pytest.approx(scores[name].error)
        assert records[name].influence.error == pytest.approx(scores[name].error)
        assert records[name].df == pytest.approx(scores[name].df)
    weights = {"a": 0.5, "b": 0.5}
    assert combined(records, weights).error == pytest.approx(combined(scores, weights).error, rel=0.06)
    gaps = [JointErrors.of_estimates([of["a"], of["b"]]).pair_errors[0, 1] for of in (records, scores)]
    assert gaps[0] == pytest.approx(gaps[1], rel=0.15)


def test_records_without_data_names_match_only_within_a_benchmark():
    influence = Influence.of_mean(np.random.default_rng(0).standard_normal((30, 5)), np.arange(30), np.arange(5))
    record = ScoreRecord.of_score(attach_influence(Score(0.5), influence), model="m", benchmark="b")
    assert record.estimate().influence is None
    assert record.estimate(of_same_benchmark=True).influence is not None


def test_average_has_no_error_if_a_score_has_none():
    scores = {"a": Estimate(0.2, 0.1), "b": Estimate(0.4, reason="a single neuroid")}
    average = average_tree(scores, {"a": "V1", "b": "V1"})["V1"]
    assert average.value == pytest.approx(0.3)
    assert np.isnan(average.error)
    assert average.reason == "1 of 2 scores have no error (b: a single neuroid)"


def test_missing_error_is_bounded_by_other_models():
    stated = [Estimate(0.5, 0.02, df=9.0), Estimate(0.3, 0.05, df=4.0), Estimate(0.4, 0.03)]
    lacking = Estimate(0.6, reason="a single neuroid")
    bounded = with_bounds([lacking, *stated, Estimate(float("nan"), 9.0)])
    assert (bounded[0].error, bounded[0].df, bounded[0].is_bound) == (0.05, 4.0, True)
    assert bounded[1:4] == stated
    assert not bounded[4].is_bound
    assert with_bounds([lacking, *stated[:2]])[0] == lacking  # two errors are too few to bound a third
    average = average_tree({"a": bounded[0], "b": Estimate(0.4, 0.01)}, {"a": "V1", "b": "V1"})["V1"]
    assert (average.error, average.is_bound) == (pytest.approx(0.03), True)


@pytest.mark.parametrize("n_others", [3, 20])
@pytest.mark.parametrize("n_benchmarks", [1, 5])
@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize("larger", [1.0, 1.5])
def test_intervals_with_bounded_errors_cover_the_truth(n_others, n_benchmarks, rho, larger):
    """True errors vary between models (log-normal, sigma .35), and the missing error may be larger than the others."""
    rng, n = np.random.default_rng(0), 500
    true = 0.03 * np.exp(0.35 * rng.standard_normal((n, n_benchmarks, 1 + n_others)))
    true[:, 0, 0] *= larger
    stated = true * np.sqrt(rng.chisquare(20, true.shape) / 20)
    stated[:, 0, 0] = np.nan
    noise = np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1 - rho) * rng.standard_normal((n, n_benchmarks))
    held = 0
    for errors, values in zip(stated, noise * true[..., 0], strict=True):
        bounds = [bound_errors(np.zeros(1 + n_others), of, np.full(1 + n_others, 20.0)) for of in errors]
        scores = {
            str(at): Estimate(value, bound[0][0], df=20.0)
            for at, (value, bound) in enumerate(zip(values, bounds, strict=True))
        }
        low, high = combined(scores, dict.fromkeys(scores, 1 / n_benchmarks)).interval()
        held += low <= 0 <= high
    assert held / n > (0.93 if larger == 1 or n_others == 20 else 0.87)


def test_interval_uses_the_t_quantile_of_few_subjects():
    few = combined({"a": Estimate(0.5, 0.1, df=4.0), "b": Estimate(0.5, 0.1, df=4.0)}, {"a": 0.5, "b": 0.5})
    assert few.df == pytest.approx(4)
    assert few.interval() == pytest.approx((0.5 - 2.776 * 0.1, 0.5 + 2.776 * 0.1), abs=1e-4)
    many = combined({"a": Estimate(0.5, 0.1, df=4.0), "b": Estimate(0.5, 0.1)}, {"a": 0.5, "b": 0.5})
    assert many.df == pytest.approx(16)


def test_rejects_impossible_trees():
    with pytest.raises(ConfigurationError, match="circle: a > b > a"):
        average_tree({}, {"b": "a", "a": "b"})
    with pytest.raises(ConfigurationError, match="'V1' has scores below it"):
        average_tree(estimates(V1=0.1), PARENTS)


def test_mean_over_subjects_equals_the_mean_of_their_table():
    table = np.random.default_rng(0).standard_normal((40, 6)) + np.arange(6)
    stimuli = np.arange(40)
    scores = {
        f"s{place}": attach_influence(
            Score(column.mean()), Influence.of_mean(column[:, None], stimuli, np.array(["x"]))
        )
        for place, column in enumerate(table.T)
    }
    mean = mean_over_units(scores)
    expected = Influence.of_mean(table, stimuli, np.array(list(scores)), "subject")
    assert float(mean) == pytest.approx(table.mean())
    assert mean.attrs["error"] == pytest.approx(expected.error)
    assert mean.attrs["interval"] == pytest.approx(expected.interval(table.mean()))
    assert mean.attrs["error_over"] == ["stimulus", "subject"]
    assert mean.raw.sel(subject="s3") == pytest.approx(table[:, 3].mean())


def test_stimuli_of_different_sets_are_never_shared():
    """The error over stimuli averages out if each subject saw a different set."""
    rng = np.random.default_rng(0)
    column = rng.standard_normal((40, 1))
    errors = {}
    for kind in ("one set", "own sets"):
        scores = {}
        for place in range(4):
            influence = Influence.of_mean(column, np.arange(40), np.array(["x"]))
            score = scores[f"s{place}"] = attach_influence(Score(0.5), influence)
            score.attrs["stimulus_set"] = "Objects" if kind == "one set" else f"Objects {place}"
        errors[kind] = mean_over_units(scores).attrs["stimulus_error"]
    assert errors["own sets"] == pytest.approx(errors["one set"] / 2)


def test_mean_over_subjects_needs_influences():
    with pytest.raises(ContractError, match="subject 's0' has no influences of stimuli"):
        mean_over_units({"s0": Score(0.5)})


def test_interval_over_shared_stimuli_covers_the_truth():
    """For two benchmarks on the same stimuli but other neuroids, 95 % intervals contain the true mean."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        of_stimuli = rng.standard_normal((60, 1))
        scores = {}
        for name in "ab":
            table = of_stimuli + rng.standard_normal(20) + rng.standard_normal((60, 20))
            influence = Influence.of_mean(table, np.arange(60), np.arange(20)).within(units=name)
            scores[name] = Estimate(table.mean(), influence.error, df=influence.degrees_of_freedom, influence=influence)
        low, high = combined(scores, {"a": 0.5, "b": 0.5}).interval()
        held += low <= 0 <= high
    assert 0.92 <= held / 300 <= 0.98
