"""Groups of rows are reduced as pandas reduces them, also where they are worked through in blocks."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core.supported_data_standards.brainio._index import reduction
from brainscore_core.supported_data_standards.brainio._index.reduction import reduce_rows


@settings(deadline=None)  # the machine may be busy
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


def test_reduce_rows_in_blocks(monkeypatch):
    rows = np.random.default_rng(0).standard_normal((6, 5, 2))
    groups = np.array([0, 1, 0, 2, 2, 1])
    whole = reduce_rows(rows, groups, 3, "mean")
    monkeypatch.setattr(reduction, "_BLOCK_BYTES", 8 * 6 * 3)
    np.testing.assert_array_equal(reduce_rows(rows, groups, 3, "mean"), whole)
    np.testing.assert_allclose(whole[2], rows[3:5].mean(axis=0))
