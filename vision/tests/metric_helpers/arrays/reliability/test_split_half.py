import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr

from brainscore_vision.metric_helpers.arrays.reliability.split_half import (
    spearman_brown,
    split_half_correlations,
    step_up,
)


def test_spearman_brown_matches_hand_computed_values():
    assert spearman_brown(0.5) == pytest.approx(2 / 3)
    assert spearman_brown(0.2, 5) == pytest.approx(5 / 9)
    assert spearman_brown(1.0) == 1.0


@settings(max_examples=200)
@given(single=st.floats(0.001, 0.999), first=st.integers(1, 20), second=st.integers(1, 20))
def test_step_up_recovers_the_reliability_of_all_repetitions(single, first, second):
    # The reliabilities of parts of these sizes if one repetition has reliability `single`.
    halves = [spearman_brown(single, size) for size in (first, second)]
    whole = spearman_brown(single, first + second)
    assert step_up(np.sqrt(halves[0] * halves[1]), first, second) == pytest.approx(float(whole), rel=1e-6)


@given(r=st.floats(-0.9, 1), size=st.integers(1, 10))
def test_step_up_of_equal_halves_equals_spearman_brown(r, size):
    assert step_up(r, size, size) == pytest.approx(2 * r / (1 + r), abs=1e-12)
    assert np.sign(step_up(r, size, size + 1)) == np.sign(r) or abs(r) < 1e-300


def test_step_up_is_continuous_for_large_samples():
    r = np.linspace(-0.5, 1, 20)
    np.testing.assert_allclose(step_up(r, 10_000, 10_001), step_up(r, 10_000, 10_000), atol=1e-3)


def test_missing_presentations_are_excluded_from_their_half():
    rng = np.random.default_rng(0)
    responses = rng.normal(size=(4, 10, 2)) + 2 * rng.normal(size=(10, 2))
    present = np.ones((4, 10), dtype=bool)
    present[0, :3] = False
    present[:2, 9] = False  # never in the first half
    halves = np.array([[True, True, False, False]])
    broken = np.where(present[..., None], responses, np.nan)
    one, two = np.nanmean(broken[:2, :9], axis=0), np.nanmean(broken[2:, :9], axis=0)
    expected = [pearsonr(one[:, i], two[:, i])[0] for i in range(2)]
    np.testing.assert_allclose(split_half_correlations(broken, halves, present)[0], expected, atol=1e-12)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(2, 6), st.integers(3, 12), st.integers(1, 4)),
    splits=st.integers(1, 4),
)
def test_any_halves_equal_scipy(seed, shape, splits):
    rng = np.random.default_rng(seed)
    responses = rng.normal(size=shape) + rng.normal(size=shape[1:])
    halves = np.array([rng.permutation(np.arange(shape[0]) < rng.integers(1, shape[0])) for _ in range(splits)])
    expected = [
        [pearsonr(responses[half, :, i].mean(axis=0), responses[~half, :, i].mean(axis=0))[0] for i in range(shape[2])]
        for half in halves
    ]
    np.testing.assert_allclose(split_half_correlations(responses, halves), expected, atol=1e-10)


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-9])
def test_halves_of_very_different_size_keep_their_precision(small):
    rng = np.random.default_rng(0)
    responses = rng.normal(size=(4, 30, 2))
    responses[2:] *= small
    halves = np.array([[True, True, False, False], [False, False, True, True]])
    result = split_half_correlations(responses, halves)
    one, two = responses[:2].mean(axis=0), responses[2:].mean(axis=0)
    expected = [pearsonr(one[:, i], two[:, i])[0] for i in range(2)]
    np.testing.assert_allclose(result, [expected, expected], atol=1e-8)


def test_constant_halves_are_undefined():
    rng = np.random.default_rng(0)
    responses = rng.normal(size=(4, 30, 3))
    responses[:2, :, 1] = 0.1
    responses[2:, :, 2] = 1e6
    result = split_half_correlations(responses, [[True, True, False, False], [True, False, True, False]])
    assert np.isnan(result).tolist() == [[False, True, True], [False, False, False]]


def test_splits_in_blocks_give_equal_correlations(monkeypatch):
    from brainscore_vision.metric_helpers.arrays.reliability import split_half

    rng = np.random.default_rng(0)
    responses, halves = rng.normal(size=(6, 20, 3)), np.array([rng.permutation(6) < 3 for _ in range(7)])
    whole = split_half_correlations(responses, halves)
    monkeypatch.setattr(split_half, "_BLOCK_VALUES", 130)
    np.testing.assert_allclose(split_half_correlations(responses, halves), whole, atol=1e-13)
    assert split_half_correlations(responses, halves[:0]).shape == (0, 3)
    assert np.isnan(split_half_correlations(responses[:, :0], halves)).all()
