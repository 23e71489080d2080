import numpy as np
import pytest

from brainscore_core.benchmarks import explained_variance_ratio
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.uncertainty.ceiled import bootstrap_ceiled, ceiled_interval


def score_of(values, ids=None):
    ids = list(range(values.shape[1])) if ids is None else ids
    score = Score(np.median(values, axis=1).mean())
    score.attrs["raw"] = Score(
        values,
        coords={
            "split": ("split", range(len(values))),
            "neuroid_id": ("neuroid", ids),
            "region": ("neuroid", ["V1"] * len(ids)),
        },
        dims=["split", "neuroid"],
    )
    return score


def test_interval_of_constants_is_a_point():
    low, high = ceiled_interval(score_of(np.full((4, 9), 0.6)), score_of(np.full((5, 9), 0.9)))
    assert low == pytest.approx(0.4)
    assert high == pytest.approx(0.4)


def test_interval_covers_as_often_as_it_says():
    # Independent draws with a known median; the splits share nothing here, so this is the case that theory covers.
    rng = np.random.default_rng(0)
    covered = 0
    for repeat in range(100):
        r = 0.6 + 0.1 * rng.standard_normal((1, 60)) + 0.05 * rng.standard_normal((10, 60))
        low, high = ceiled_interval(score_of(r), Score(1.0), n_resamples=200, seed=repeat)
        covered += low <= 0.36 <= high
    assert 88 <= covered <= 100


def test_uncertain_ceiling_widens_the_interval():
    rng = np.random.default_rng(1)
    raw = score_of(np.full((10, 50), 0.7) + 0.001 * rng.standard_normal((10, 50)))
    ceiling = score_of(np.clip(0.8 + 0.1 * rng.standard_normal((10, 50)), 0.1, 1))
    narrow = ceiled_interval(raw, Score(float(ceiling)))
    wide = ceiled_interval(raw, ceiling)
    assert wide[1] - wide[0] > 5 * (narrow[1] - narrow[0])


def test_shared_neuroids_move_score_and_ceiling_together():
    # r squared equals the ceiling in every neuroid: the ratio is 1 in every resample although both vary widely ...
    reliability = np.linspace(0.3, 0.9, 31)[None]
    raw, ceiling = score_of(np.sqrt(reliability)), score_of(reliability)
    low, high = ceiled_interval(raw, ceiling)
    assert low == pytest.approx(1)
    assert high == pytest.approx(1)
    # ... also if the ceiling lists its neuroids in another order.
    backwards = score_of(reliability[:, ::-1], ids=list(range(31))[::-1])
    assert ceiled_interval(raw, backwards) == pytest.approx((1, 1))


def test_no_interval_where_the_metric_summarises_in_another_way():
    values = np.random.default_rng(0).random((5, 11)) ** 3
    score = score_of(values)
    mean = Score(values.mean())
    mean.attrs["raw"] = score.attrs["raw"]
    assert ceiled_interval(mean, Score(1.0)) is None
    assert ceiled_interval(Score(0.5), Score(1.0)) is None


def test_seeded_and_nan_tolerant():
    values = np.random.default_rng(0).random((5, 11))
    values[:, 3] = np.nan
    first, second = (bootstrap_ceiled(values, None, explained_variance_ratio, n_resamples=50, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert np.isfinite(first).all()


def test_ceiling_without_splits_is_one_split():
    reliability = np.linspace(0.3, 0.9, 31)
    ceiling, bare = score_of(reliability[None]), Score(np.median(reliability))
    bare.attrs["raw"] = ceiling.attrs["raw"].isel(split=0, drop=True)
    assert bare.attrs["raw"].dims == ("neuroid",)
    raw = score_of(np.sqrt(reliability)[None])
    assert ceiled_interval(raw, bare) == ceiled_interval(raw, ceiling) == pytest.approx((1, 1))
