import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.supported_data_standards.brainio import _coordinates
from brainscore_core.supported_data_standards.brainio._coordinates import make_level, make_levels

TEXTS = st.lists(st.text(alphabet="ab äß中😀", max_size=5), min_size=1, max_size=12)


def decode(level):
    """Return the values that a level encodes; missing ones are None."""
    return [None if code < 0 else level.uniques[code] for code in level.codes]


@given(TEXTS, st.booleans())
def test_text_survives_encoding(texts, hashed):
    values = np.array(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_coordinates, "_FEWEST_HASHED", 0 if hashed else 10**9)
        level = make_level(values)
    assert decode(level) == texts
    assert level.uniques.tolist() == sorted(set(texts))
    assert level.dtype == values.dtype


@given(TEXTS)
def test_texts_with_equal_hashes_stay_distinct(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_coordinates, "_FEWEST_HASHED", 0)
        patch.setattr(_coordinates, "_FACTORS", np.zeros_like(_coordinates._FACTORS))  # all sums are equal
        assert decode(make_level(np.array(texts))) == texts


def test_text_may_have_foreign_byte_order_strides_or_width():
    values = np.array(["b", "a", "ccc"] * 400)
    for given_values in (values.astype(">U3"), values[::-1][::-1], np.char.add(values, "x" * 70)):
        assert decode(make_level(given_values)) == given_values.tolist()


@given(st.lists(st.one_of(st.integers(-3, 3), st.none(), st.text("ab", max_size=2)), min_size=1, max_size=9))
def test_objects_survive_encoding(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    assert decode(make_level(array)) == values


@given(st.lists(st.floats(), min_size=1, max_size=9))
def test_levels_of_numbers_match_pandas(values):
    level = make_level(np.array(values))
    expected = pd.MultiIndex.from_arrays([np.array(values)])
    pd.testing.assert_index_equal(level.uniques, expected.levels[0], check_names=False)
    assert level.codes.tolist() == expected.codes[0].tolist()


def test_times_among_objects_are_recognised():
    level = make_level(np.array([pd.Timestamp("2021-01-01"), None, pd.Timestamp("2020-01-01")], dtype=object))
    assert level.dtype.kind == "M"
    assert level.codes.tolist() == [1, -1, 0]


def test_values_that_cannot_be_sorted_keep_their_order():
    assert decode(make_level(np.array(["b", 1, "a"], dtype=object))) == ["b", 1, "a"]


def test_levels_made_together_equal_levels_made_one_by_one():
    rng = np.random.default_rng(0)
    stimuli = rng.integers(40, size=20_000)
    texts = np.array([f"stimulus_{number:03}" for number in rng.permutation(40)])
    coordinates = {
        "stimulus_id": texts[stimuli],
        "object": texts.astype(object)[stimuli],
        "category": np.array(["a", "bb", "c", "d"])[stimuli % 4],
        "size": rng.normal(size=40)[stimuli],
        "missing": np.where(stimuli % 3 == 0, np.nan, stimuli),
        "absent": np.array(["x", None] * 20, dtype=object)[stimuli],
        "mixed": np.array([1, "1"] * 20, dtype=object)[stimuli],
        "almost": np.where(np.arange(20_000) == 12_345, "other", texts[stimuli]),
        "shown": stimuli % 2 == 0,
        "repetition": np.arange(20_000) % 7,
        "brief": np.array([0.5, -0.0, 0.0, 2.0] * 10, dtype=np.float16)[stimuli],
    }
    for name, level in make_levels(coordinates).items():
        alone = make_level(coordinates[name])
        np.testing.assert_array_equal(level.codes, alone.codes)
        assert level.uniques.equals(alone.uniques)
        assert (level.uniques.dtype, level.dtype) == (alone.uniques.dtype, alone.dtype)
