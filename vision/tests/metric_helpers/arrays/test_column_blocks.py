import itertools
import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_vision.metric_helpers.arrays import column_blocks
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks, is_mapped, release_pages, stack_rows


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK_BYTES", 8 * 6 * 4)  # four columns of six stimuli


def matrix(n=6, p=11):
    return np.arange(n * p, dtype=float).reshape(n, p)


def stream(array, widths):
    edges = np.cumsum([0, *widths])
    parts = [array[:, first:last] for first, last in itertools.pairwise(edges)]
    return ColumnBlocks(lambda: iter(parts), array.shape)


@pytest.mark.parametrize("widths", [[11], [1] * 11, [4, 4, 3], [5, 6], [0, 10, 1]])
def test_blocks_of_any_width_give_the_matrix_in_small_blocks(widths):
    blocks = stream(matrix(), widths)
    for _ in range(2):  # every pass creates a new iterator
        np.testing.assert_array_equal(blocks.to_array(), matrix())
    assert max(block.shape[1] for block in blocks) <= 4
    assert (blocks.shape, blocks.ndim, len(blocks)) == ((6, 11), 2, 6)


@settings(max_examples=50)
@given(data=st.data())
def test_views_equal_those_of_the_matrix(data):
    array = matrix()
    rows = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=8))
    again = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=5))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=11, max_size=11)))
    columns = data.draw(st.lists(st.integers(0, 10), max_size=5))
    blocks = stream(array, [3, 8])
    np.testing.assert_array_equal(blocks.rows(rows).rows(again).to_array(), array[rows][again])
    np.testing.assert_array_equal(blocks.keep(mask).rows(rows).to_array(), array[:, mask][rows])
    np.testing.assert_array_equal(blocks.rows(rows).keep(mask).to_array(), array[rows][:, mask])
    np.testing.assert_array_equal(blocks.rows(rows).columns(columns), array[rows][:, columns])


def test_views_of_rows_have_the_same_blocks():
    blocks = ColumnBlocks.of(matrix())
    assert [block.shape[1] for block in blocks] == [4, 4, 3]
    assert [block.shape[1] for block in blocks.rows([2])] == [4, 4, 3]


def test_centring_does_not_change_the_source_and_widens_the_type():
    array = matrix().astype(np.float32)
    before = array.copy()
    parts = list(ColumnBlocks.of(array).centred())
    np.testing.assert_allclose(np.concatenate(parts, axis=1), before - before.mean(axis=0, dtype=float))
    assert parts[0].dtype == np.float64
    np.testing.assert_array_equal(array, before)


def test_stack_rows_joins_sources_with_different_blocks():
    array = matrix()
    stacked = stack_rows(stream(array[:2], [5, 6]), array[2:3], stream(array[3:], [1, 2, 8]))
    np.testing.assert_array_equal(stacked.to_array(), array)
    with pytest.raises(ValueError, match=r"with \[3, 11\] columns"):
        stack_rows(array, array[:, :3])


def test_a_memory_map_is_sliced_without_reading_it(tmp_path):
    np.save(tmp_path / "features.npy", matrix())
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    assert np.shares_memory(next(iter(ColumnBlocks.of(mapped))), mapped)
    np.testing.assert_array_equal(ColumnBlocks.of(mapped).to_array(), matrix())


def test_rejects_an_exhausted_iterator():
    once = iter([matrix()])
    blocks = ColumnBlocks(lambda: once, (6, 11))
    blocks.to_array()
    with pytest.raises(ValueError, match=r"0 columns in total, but the shape states 11.*must return a new one"):
        blocks.to_array()


def test_rejects_blocks_of_another_height():
    with pytest.raises(ValueError, match=r"shape \(5, 11\); expected \(6, any width\)"):
        ColumnBlocks(lambda: [matrix(5)], (6, 11)).to_array()


def test_a_check_sees_every_block():
    seen = []
    np.testing.assert_array_equal(ColumnBlocks.of(matrix()).checked(seen.append).to_array(), matrix())
    np.testing.assert_array_equal(np.concatenate(seen, axis=1), matrix())


def test_rejects_implicit_conversion_and_wrong_masks():
    blocks = ColumnBlocks.of(matrix())
    with pytest.raises(TypeError, match="to_array"):
        np.asarray(blocks)
    with pytest.raises(ValueError, match=r"shape \(3,\); expected \(11,\)"):
        blocks.keep([True] * 3)
    with pytest.raises(ValueError, match="n_stimuli, n_columns"):
        ColumnBlocks.of(np.arange(3))


# --- memory maps -----------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    values = np.random.default_rng(0).standard_normal((500, 40_000), dtype=np.float32)  # 80 MB
    np.save(tmp_path / "values.npy", values)
    return tmp_path / "values.npy"


def resident_kib(array):
    """Return the KiB of a memory map that are resident in this process."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    start = f"{array.__array_interface__['data'][0] // mmap.PAGESIZE * mmap.PAGESIZE:x}-"
    for line in lines:
        if line.startswith(start):
            return next(int(each.split()[1]) for each in lines if each.startswith("Rss:"))
    raise AssertionError("not mapped")


def test_is_mapped_recognises_views_of_a_memory_map(saved):
    mapped = np.load(saved, mmap_mode="r")
    for array in (mapped, mapped[3:], np.asarray(mapped)[:, 2:], mapped.reshape(-1), mapped.T):
        assert is_mapped(array)
    assert not is_mapped(np.array(mapped[:2]))
    assert not is_mapped([1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's account of the memory")
def test_pages_of_a_memory_map_are_released_and_readable_again(saved, monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK_BYTES", 2**22)
    monkeypatch.setattr(column_blocks, "_MAPPED_BYTES", 2**24)
    monkeypatch.setattr(column_blocks, "_PIECE_BYTES", 2**23)
    mapped = np.load(saved, mmap_mode="r")
    total, most = 0.0, 0
    for block in ColumnBlocks.of(np.asarray(mapped)):
        total += block.sum(dtype=float)
        most = max(most, resident_kib(mapped))
    assert total == pytest.approx(np.load(saved).sum(dtype=float))
    mapped.sum()
    assert resident_kib(mapped) > 70_000
    assert most < 50_000
    release_pages(np.asarray(mapped))
    assert resident_kib(mapped) == 0
    np.testing.assert_array_equal(mapped, np.load(saved))


def test_release_pages_keeps_changes_of_writable_maps(saved):
    for mode in ("c", "r+"):
        mapped = np.load(saved, mmap_mode=mode)
        mapped[0, 0] = 7
        release_pages(mapped)
        assert mapped[0, 0] == 7
    release_pages(np.zeros(3))
