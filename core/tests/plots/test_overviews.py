"""Profiles, scores against cost, scores over time and similarity draw the values that their functions return."""

import numpy as np
import pytest

from brainscore_core import plots
from brainscore_core.plots.overviews import front_of, record_over_time, standings
from brainscore_core.records.comparison import compare_on_average, compare_records
from brainscore_core.statistics.correlations import correlation_over_models

from .conftest import points_by_name, record, texts

PARENTS = {"a": "V1", "b": "V1", "c": "IT", "V1": "neural", "IT": "neural"}


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    return [
        record(
            f"m{model}",
            benchmark,
            score=float(rng.uniform()),
            duration_s=float(rng.uniform(1, 100)),
            created=f"2026-0{1 + rng.integers(9)}-01T00:00:00+00:00",
        )
        for model in range(12)
        for benchmark in "abc"
        if (model + ord(benchmark)) % 5
    ]


@pytest.mark.parametrize("missing", ["zero", "left out", "complete"])
def test_profile_shows_averages_and_the_best_and_median_model(many, missing):
    rows = {row.name: row for row in standings(many, "m1", parents=PARENTS, missing=missing)}
    models = sorted({each.model for each in many})
    for node, row in rows.items():
        expected = compare_on_average(many, models, node, PARENTS, missing=missing)
        values = np.array([score.value for score in expected.scores])
        assert row.score == values[models.index("m1")]
        assert (row.best, row.median) == (np.nanmax(values), np.nanmedian(values))
        np.testing.assert_array_equal(row.interval, expected.intervals[models.index("m1")])
    assert {"V1", "IT", "neural"} >= rows.keys()
    drawn = points_by_name(plots.profile(many, "m1", parents=PARENTS, missing=missing))
    assert {name.removeprefix("score:"): at[0][0] for name, at in drawn.items() if name.startswith("score:")} == {
        name: row.score for name, row in rows.items()
    }
    assert [x for x, _ in drawn["best"]] == [row.best for row in rows.values()]
    assert [row.name for row in standings(many, "m1")] == [
        e.name for e in compare_records(many, ["m1"]) if e.n_scored[0]
    ]


def test_no_model_dominates_the_pareto_front(many):
    entries = [each for each in many if each.benchmark == "a"]
    cost, score = ([getattr(each, name) for each in entries] for name in ("duration_s", "score"))
    beaten = [
        any(
            (c <= cost[i] and s >= score[i]) and (c, s) != (cost[i], score[i]) for c, s in zip(cost, score, strict=True)
        )
        for i in range(len(cost))
    ]
    front = front_of(cost, score)
    assert front.tolist() == [not each for each in beaten]
    drawn = points_by_name(plots.pareto(many, "a", costs="duration_s"))["front"]
    assert sorted(x for x, _ in drawn) == sorted(np.array(cost)[front])
    figure = plots.pareto(many, "a", costs={"m0": 5.0, "m1": 0})
    assert "n = 1 models; line: best for their cost" in " ".join(texts(figure)).replace("\N{NO-BREAK SPACE}", " ")


def test_best_score_so_far_only_rises(many):
    entries = [each for each in many if each.benchmark == "a"]
    times, values, is_best = record_over_time([each.created for each in entries], [each.score for each in entries])
    assert times == sorted(times)
    best = [values[place] > max(values[:place], default=-1) for place in range(len(values))]
    assert is_best.tolist() == best
    assert [y for _, y in points_by_name(plots.history(many, "a"))["best"]] == values[is_best].tolist()


def test_similarity_is_spearman_correlation_over_models(many):
    panel = plots.similarity(many).axes[0]
    of = {(each.benchmark, each.model): each.score for each in many}
    models = sorted({each.model for each in many})
    scores = [[of.get((benchmark, model), np.nan) for model in models] for benchmark in "abc"]
    expected = [[correlation_over_models(x, y, ranked=True).r for y in scores] for x in scores]
    np.testing.assert_allclose(np.asarray(panel.images[0].get_array()), expected, atol=1e-12)
