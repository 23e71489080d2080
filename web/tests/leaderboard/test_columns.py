"""Test columns and averages against core's averages, comparisons and errors, computed model by model."""

import dataclasses

import numpy as np
import pytest

from brainscore_core.statistics.averages import average_tree, with_bounds
from brainscore_core.statistics.joint_errors import JointErrors
from brainscore_core.statistics.model_scores import MeanOfScores
from brainscore_web.leaderboard.columns import DETAILS, column_of_average, column_of_records
from brainscore_web.leaderboard.made_up import MadeUp

MADE = MadeUp.of("30x14", seed=7)
RECORDS = list(MADE.records())
RECORDS_OF = {
    entry.identifier: {each.model: each for each in RECORDS if each.benchmark == entry.identifier}
    for entry in MADE.catalogue.benchmarks
}
BENCHMARKS = list(RECORDS_OF)


def close(first, second, tolerance=1e-12):
    first, second = (np.array([np.nan if x is None else x for x in each], dtype=float) for each in (first, second))
    assert np.array_equal(np.isnan(first), np.isnan(second))
    return np.nanmax(np.abs(first - second), initial=0) <= tolerance


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        *((change, "zero") for change in ("none", "names", "errors", "influences")),
        ("none", "left out"),
        ("errors", "complete"),
    ],
)
def test_averages_equal_core(change, missing):
    """Compare with `average_tree`: nested nodes of benchmarks with and without information on joint errors."""
    changed = {
        "none": {},
        "names": {"stimulus_set": None},
        "errors": {"error": None, "influence": None},
        "influences": {"influence": None},
    }[change]
    of = {
        benchmark: {
            model: dataclasses.replace(each, **changed)
            if number == 1 and model > "m" and each.score is not None
            else each
            for model, each in RECORDS_OF[benchmark].items()
        }
        for number, benchmark in enumerate(BENCHMARKS[:6])
    }
    computed = {name: column_of_records(of[name]) for name in of}
    names = list(of)
    parents = {names[0]: "one", names[1]: "one", names[2]: "two", names[3]: "two", names[4]: "top"}
    parents |= {names[5]: "top", "one": "top", "two": "top"}
    parts = {name: (each.column.models, each.scores) for name, each in computed.items()}
    parts["one"] = _average([parts[names[0]], parts[names[1]]])
    parts["two"] = _average([parts[names[2]], parts[names[3]]])
    models, scores = _average([parts[name] for name in (names[4], "one", "two", names[5])])
    comparison, is_complete = scores.comparison(), scores.missing == 0
    by_rule = {
        "zero": scores.value,
        "left out": scores.of_present,
        "complete": np.where(is_complete, scores.value, np.nan),
    }
    top = column_of_average(models, dataclasses.replace(scores, value=by_rule[missing]), comparison)
    bounded = {
        name: dict(zip(of[name], with_bounds([each.estimate() for each in of[name].values()]), strict=True))
        for name in names
    }
    wanted = []
    for model in top.models:
        own = {name: bounded[name][model] for name in names if model in bounded[name]}
        wanted.append(average_tree(own, parents, missing=missing)["top"])
    assert close(top.value, [each.value for each in wanted])
    assert close(scores.error, [each.error for each in wanted])
    assert close(top.low, [each.interval()[0] for each in wanted])
    assert top.bounded == "".join("01"[each.is_bound] for each in wanted)
    assert ("1" in top.bounded) == (change != "none")
    with np.errstate(invalid="ignore"):
        expected = JointErrors.of_estimates(wanted).pair_errors[is_complete][:, is_complete]
        assert np.allclose(comparison.joint.pair_errors, expected, rtol=1e-12, atol=1e-12, equal_nan=True)
    assert {"a", "p"} <= set(top.code)
    assert max(top.n) == 6
    for at, each in enumerate(wanted):
        assert top.missing[at] == each.n_missing
        assert [top.code[at] == "a"] * 3 == [of[at] is not None for of in (top.low, top.rank, top.rank_low)]
        assert bool(top.group[at]) == (top.code[at] == "a") == each.is_compared


def test_model_without_any_score_has_no_average():
    of = {
        model: dataclasses.replace(each, score=None, message="no") for model, each in RECORDS_OF[BENCHMARKS[0]].items()
    }
    only = sorted(of)[:3]
    others = {model: each for model, each in RECORDS_OF[BENCHMARKS[1]].items() if model not in only}
    computed = [column_of_records(each) for each in (others, of)]
    models, scores = _average([(each.column.models, each.scores) for each in computed])
    column = column_of_average(models, scores, scores.comparison())
    for model, value, code, missing in zip(column.models, column.value, column.code, column.missing, strict=True):
        if model in only:
            assert (value, code, missing) == (None, "-", 2)
        elif value is not None:
            assert (code, missing) == ("p", 1)
    assert set(only) < set(column.models)


def _average(parts):
    """Average parts, given as (models, scores), as a build does."""
    every = sorted({model for models, _ in parts for model in models})
    mean = MeanOfScores(len(every))
    for models, scores in parts:
        mean.add(np.array([every.index(model) for model in models]), scores)
    return tuple(every[place] for place in mean.places.tolist()), mean.result()


def test_rank_counts_better_models_and_ties_share_it():
    records = {}
    for model, score in {"a": 0.5, "b": 0.7, "c": 0.5, "d": 0.1}.items():
        records[model] = dataclasses.replace(RECORDS[0], model=model, score=score, error=None, influence=None)
    column = column_of_records(records).column
    assert column.rank == [2, 1, 2, 4]
    assert column.rank_low == [1] * 4
    assert column.rank_high == [4] * 4  # without errors, models cannot be distinguished
    assert column.low == [None] * 4


def test_each_record_has_a_code_and_a_reason():
    base = next(each for each in RECORDS if each.score is not None)
    of = {
        "scored": base,
        "newer": dataclasses.replace(base, benchmark_version=9, created="2026-03-01T23:30:00-05:00"),
        "none": dataclasses.replace(base, score=None, message="gives no labels"),
        "failed": dataclasses.replace(base, score=None, status="failed:ValueError", message="no"),
        "left": dataclasses.replace(base, score=None, status="skipped:private data"),
        "broken": None,
    }
    computed = column_of_records({model: each and dataclasses.replace(each, model=model) for model, each in of.items()})
    leaf, column = computed.leaf, computed.column
    told = dict(zip(column.models, zip(column.code, leaf.details["reason"], strict=True), strict=True))
    assert "".join(told[model][0] for model in of) == "svnfqq"
    version = base.benchmark_version
    assert told["newer"][1] == f"scored on version 9 of the benchmark; the current version is {version}"
    assert column.unranked == {"newer": (base.score, "version 9")}
    assert column.waiting == {"newer": (9, base.score, "2026-03-02T04:30:00+00:00")}
    assert told["none"][1] == "gives no labels"
    assert told["left"][1] == "skipped:private data"
    assert told["broken"][1] == "its record cannot be read"
    assert leaf.facts["fails"] == {"ValueError": 1}
    assert leaf.facts["version"] == version
    assert leaf.facts["rollout"] == [
        {"version": 9, "n": 1, "counts": False},
        {"version": version, "n": 1, "counts": True},
    ]


def test_hidden_values_are_not_in_the_column():
    records = RECORDS_OF[BENCHMARKS[0]]
    whole, score, nothing = (column_of_records(records, shows=shows) for shows in ("all", "score", "nothing"))
    assert score.column == whole.column
    assert any(value is not None for value in whole.leaf.details["raw"])
    assert not any(
        value is not None for name in ("raw", "layers", "message", "n_stimuli") for value in score.leaf.details[name]
    )
    assert score.leaf.facts["ceiling"] is None
    assert set(nothing.column.code) == {"h"}
    assert not any(value is not None for value in nothing.column.value)
    assert not any(value is not None for name in DETAILS for value in nothing.leaf.details[name])


def test_scored_models_have_letters():
    """A model has letters if it has a score; the best model has the first letter."""
    column = column_of_records(RECORDS_OF[BENCHMARKS[2]]).column
    assert [bool(group) for group in column.group] == [value is not None for value in column.value]
    best = max((value, place) for place, value in enumerate(column.value) if value is not None)[1]
    assert column.group[best].startswith("a")
