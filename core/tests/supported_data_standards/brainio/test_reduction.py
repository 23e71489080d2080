"""Groups of rows are reduced as in pandas, also if they are processed in blocks."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.supported_data_standards.brainio import _selection
from brainscore_core.supported_data_standards.brainio._selection import reduce_rows


@given(
    st.lists(st.tuples(st.integers(0, 3), st.one_of(st.just(np.nan), st.floats(-9, 9))), min_size=1, max_size=25),
    st.sampled_from(["mean", "sum", "min", "max", "std"]),
)
def test_reduce_rows_agrees_with_pandas(rows, how):
    table = pd.DataFrame(rows, columns=["group", "value"])
    _, groups = np.unique(table["group"].to_numpy(), return_inverse=True)
    actual = reduce_rows(table["value"].to_numpy(dtype=float), groups, groups.max() + 1, how)
    options = {"ddof": 0} if how == "std" else {}
    expected = getattr(table.groupby("group")["value"], how)(**options)
    np.testing.assert_allclose(actual, expected.to_numpy(), atol=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy warns about groups without values
@pytest.mark.parametrize("block_bytes", [1, 8 * 7 * 4, 8 * 1000])
@pytest.mark.parametrize("how", ["mean", "max", "count", "var"])
def test_block_size_does_not_change_the_result(monkeypatch, block_bytes, how):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 5, 9)).astype(np.float32)[:, :, 2:6]  # not contiguous, as a selection of time bins
    rows[rng.random(rows.shape) < 0.1] = np.nan
    groups = np.repeat([2, 0, 1, 3], [40, 1, 12, 7])  # one group larger than most blocks
    groups = groups[rng.permutation(60)]
    expected = np.stack(
        [
            getattr(np, "nan" + how)(rows[groups == g].astype(float), axis=0)
            if how != "count"
            else (~np.isnan(rows[groups == g])).sum(axis=0)
            for g in range(4)
        ]
    )
    monkeypatch.setattr(_selection, "_BLOCK_BYTES", block_bytes)
    np.testing.assert_allclose(reduce_rows(rows, groups, 4, how), expected, rtol=1e-6)


def test_rows_are_read_once_and_in_blocks(monkeypatch):
    monkeypatch.setattr(_selection, "_BLOCK_BYTES", 8 * 10 * 6)
    taken = []

    class Watched(np.ndarray):
        def __getitem__(self, key):
            part = super().__getitem__(key)
            if isinstance(key, tuple) and isinstance(key[0], np.ndarray):
                taken.append((key[0], part.shape))
            return part

    rows = np.arange(40 * 6.0).reshape(40, 6).view(Watched)
    reduced = reduce_rows(rows, np.repeat(np.arange(10), 4), 10, "mean")
    np.testing.assert_array_equal(np.concatenate([members for members, _ in taken]), np.arange(40))
    assert max(shape[0] for _, shape in taken) == 8  # two groups of four fill a block of ten rows
    np.testing.assert_array_equal(reduced, np.asarray(rows).reshape(10, 4, 6).mean(axis=1))
