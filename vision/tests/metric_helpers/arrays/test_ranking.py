import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from brainscore_vision.metric_helpers.arrays import correlation as ranking
from brainscore_vision.metric_helpers.arrays.correlation import Ranking, sort_order

N = 40_000  # enough for sorting by leading bits
RNG = np.random.default_rng(0)
LISTS = {
    "distances": 1 - 0.3 * np.tanh(RNG.normal(size=N)),
    "equal numbers": RNG.integers(0, 50, size=N) / 7,
    "signs": RNG.normal(size=N),
    "zeros of both signs": np.where(RNG.random(N) < 0.5, 0.0, -0.0) + RNG.integers(-1, 2, size=N),
    "hardly different": 1 + RNG.random(N) * 1e-13,
    "nearly all alike to 40 bits": np.where(RNG.random(N) < 0.01, RNG.random(N), 0.5 + RNG.random(N) * 1e-15),
    "all sizes": RNG.normal(size=N) * 10.0 ** RNG.integers(-300, 300, size=N),
    "infinite": np.where(RNG.random(N) < 0.1, np.inf, RNG.normal(size=N)),
    "constant": np.full(N, 0.3),
}


@pytest.fixture(params=["by counting", "by packed keys"])
def way(request, monkeypatch):
    if request.param == "by packed keys":
        monkeypatch.setattr(ranking, "_RADIX", 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", LISTS)
def test_ranks_equal_scipy(name):
    values = LISTS[name]
    before = values.copy()
    np.testing.assert_array_equal(Ranking.of(values).ranks(), rankdata(values))
    np.testing.assert_array_equal(values, before)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", LISTS)
def test_sort_order_is_a_sorting_permutation(name):
    order = sort_order(LISTS[name])
    assert (np.bincount(order) == 1).all()
    np.testing.assert_array_equal(LISTS[name][order], np.sort(LISTS[name]))


@pytest.mark.usefixtures("way")
def test_order_within_equal_leading_bits_is_repaired(monkeypatch):
    """Each key belongs to two numbers in the wrong order, so only the repair can distinguish them."""
    values = np.concatenate([np.linspace(0, 1, N // 2), np.linspace(0, 1, N // 2)])
    values[: N // 2] = np.nextafter(values[: N // 2], 2)
    monkeypatch.setattr(ranking, "_REPAIRABLE", 0)
    np.testing.assert_array_equal(Ranking.of(values).ranks(), rankdata(values))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_ranks_of_short_lists(n):
    np.testing.assert_array_equal(Ranking.of(np.arange(n)[::-1]).ranks(), np.arange(n, 0, -1))


@settings(max_examples=50)
@given(values=st.lists(st.integers(-3, 3), min_size=1, max_size=12), seed=st.integers(0, 999))
def test_weighted_ranks_equal_those_of_repeated_numbers(values, seed):
    counts = np.random.default_rng(seed).integers(0, 4, size=len(values))
    weighted = Ranking.of(values).weighted_ranks(counts.astype(float))
    repeated = np.repeat(np.asarray(values), counts)
    np.testing.assert_array_equal(np.repeat(weighted, counts), rankdata(repeated) if len(repeated) else [])


def test_tolerance_makes_rounded_numbers_equal():
    values = np.array([3.0, 1 + 3e-16, 1.0, 1 - 1e-16, 2.0, 1 + 1e-9])
    assert Ranking.of(values, tolerance=1e-12).ranks().tolist() == [6, 2, 2, 2, 5, 4]
    assert Ranking.of(-values, tolerance=1e-12).ranks().tolist() == [1, 5, 5, 5, 2, 3]
    assert Ranking.of(values).ranks().tolist() == rankdata(values).tolist()
    assert Ranking.of([np.inf, 1.0, 2.0], tolerance=1e-12).ranks().tolist() == [3, 1, 2]
    assert Ranking.of([], tolerance=1e-12).ranks().tolist() == []


@given(st.lists(st.integers(-5, 5), min_size=1), st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_noise_below_the_tolerance_does_not_change_ranks(numbers, seed, scale):
    exact = np.array([5, *numbers], dtype=float)
    noise = np.random.default_rng(seed).uniform(-1, 1, size=len(exact)) * 1e-14
    assert Ranking.of((exact + noise) * scale, tolerance=1e-12).ranks().tolist() == rankdata(exact).tolist()
