"""A label selects exactly the entries whose value equals it, whatever pandas would match."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly


def make(values):
    coords = {"a": ("x", values), "position": ("x", np.arange(len(values)))}
    return DataAssembly(np.arange(len(values)), coords=coords, dims=["x"])


def select(assembly, label):
    try:
        return assembly.sel(a=label).values.tolist()
    except KeyError:
        return []


LABELS = [0, 1, 2, True, False, 1.0, 1.5, "1", "", "b", np.int64(1), np.float32(1.5), np.str_("b"), np.bool_(True)]
VALUES = {
    "int": [1, 2, 1, 0],
    "float": [1.0, 1.5, np.nan, 0.0],
    "bool": [True, False, True],
    "text": ["1", "b", "", "b"],
    "mixed": np.array([1, "1", "b", 2.0], dtype=object),
    "missing": np.array(["b", None, "1"], dtype=object),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_label_selects_equal_values(values):
    for label in LABELS:
        expected = [position for position, value in enumerate(np.asarray(values).tolist()) if value == label]
        assert select(make(values), label) == expected, repr(label)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=20), st.integers(-4, 4), st.integers(0, 3))
def test_two_levels_select_their_intersection(values, first, second):
    others = np.arange(len(values)) % 3
    coords = {"a": ("x", values), "b": ("x", others), "position": ("x", np.arange(len(values)))}
    assembly = DataAssembly(np.arange(len(values)), coords=coords, dims=["x"])
    expected = np.flatnonzero((np.array(values) == first) & (others == second)).tolist()
    if expected:
        assert assembly.sel(a=first, b=second).values.tolist() == expected
    else:
        with pytest.raises(KeyError):
            assembly.sel(a=first, b=second)


def test_large_numbers_are_not_rounded():
    assembly = make([2**53, 2**53 + 2])
    assert select(assembly, 2**53 + 2) == [1]
    assert select(assembly, 2**53 + 1) == []
    assert select(make([1e16, 0.5]), 10**16 + 1) == []


def test_dates_match_only_as_a_whole():
    assembly = make(pd.to_datetime(["2024-01-01", "2024-01-02"]).values)
    assert select(assembly, "2024-01") == []
    assert select(assembly, np.datetime64("2024-01-02")) == [1]
    assert select(assembly, pd.Timestamp("2024-01-01")) == [0]


def test_value_removed_by_an_earlier_selection_is_not_found():
    assembly = make(["b", "c", "b"]).isel(x=[0, 2])
    with pytest.raises(KeyError):
        assembly.sel(a="c")
