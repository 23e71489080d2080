"""Test storing the errors of differences in two bytes each."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest

from brainscore_core.records.comparison import compare_records
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.joint_errors import RESOLUTION, JointErrors
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.pairs import (
    BLOCK,
    FREEDOMS,
    decode,
    encode,
    n_blocks,
    tile_file,
    tile_names,
    tiles,
)
from brainscore_web.leaderboard.site import build, read_data
from brainscore_web.leaderboard.sources import FolderSource


def codes_in(file: dict) -> dict[int, np.ndarray]:
    """Return the codes of each node of a tile, of shape (BLOCK, BLOCK)."""
    content = zlib.decompress(base64.b64decode(file["codes"]))
    return dict(zip(file["nodes"], np.frombuffer(content, "<u2").reshape(-1, BLOCK, BLOCK), strict=True))


def joint_errors(n_models: int = 7, n_stimuli: int = 40, n_units: int = 9, scale: float = 0.1) -> JointErrors:
    rng = np.random.default_rng(3)
    common = rng.standard_normal((n_stimuli, 1)) + rng.standard_normal(n_units)
    return of_tables(common + scale * rng.standard_normal((n_models, n_stimuli, n_units)))


def of_tables(tables: np.ndarray) -> JointErrors:
    names = [np.arange(size) for size in tables.shape[1:]]
    return JointErrors.of_influences([Influence.of_mean(table, *names) for table in tables])


@pytest.mark.parametrize("scale", [1e-3, 0.1, 3.0])
def test_decoded_errors_are_within_one_percent(scale: float) -> None:
    joint = joint_errors(scale=scale)
    errors, freedom, is_matched = decode(encode(joint))
    pairs = np.triu_indices(7, 1)
    np.testing.assert_allclose(errors[pairs], joint.pair_errors[pairs], rtol=0.007)
    assert (errors.diagonal() == 0).all()
    assert (freedom[pairs] <= joint.pair_freedom[pairs]).all()
    assert (freedom[pairs] > 0.6 * joint.pair_freedom[pairs]).all()
    assert is_matched.all()
    np.testing.assert_array_equal(encode(joint), encode(joint).T)


def test_unknown_errors_stay_unknown() -> None:
    moments = np.zeros((3, 3, 3))
    moments[0] = [[4e-4, 1e-4, 0], [1e-4, 4e-4, 0], [0, 0, 0]]
    joint = JointErrors(moments, (30.0, np.inf), np.array([0.0, 1e-4, np.nan]), np.array([30.0, 5.0, np.inf]))
    codes = encode(joint)
    errors, freedom, is_matched = decode(codes)
    assert np.isnan(errors[2, :2]).all()
    assert np.isnan(freedom[2, :2]).all()
    assert (codes[2, :2] == 0).all()
    assert errors[0, 1] == pytest.approx(joint.pair_errors[0, 1], rel=0.007)
    assert not is_matched[0, 1]
    assert not is_matched[0, 2]


def test_codes_of_copies_and_of_models_without_a_score() -> None:
    table = np.random.default_rng(0).standard_normal((1, 30, 5))
    joint = of_tables(np.concatenate([table, table]))
    errors, _, _ = decode(encode(joint))
    assert errors[0, 1] == pytest.approx(RESOLUTION * np.sqrt(2) * joint.errors[0], rel=0.02)
    (tile,) = tiles(np.array([[0, 5], [5, 0]], dtype=np.uint16), np.array([1, 3]), 5)
    assert np.argwhere(tile).tolist() == [[1, 3], [3, 1]]


@pytest.mark.parametrize(("error", "kept"), [(1e-9, 1e-5), (1e3, 10.0)])
def test_extreme_errors_are_clipped(error: float, kept: float) -> None:
    moments = np.zeros((3, 2, 2))
    moments[0] = np.diag([error**2 / 2] * 2)
    errors, freedom, _ = decode(encode(JointErrors.of_moments(moments, (np.inf, np.inf))))
    assert errors[0, 1] == pytest.approx(kept)
    assert freedom[0, 1] == FREEDOMS[-1]


@pytest.mark.parametrize("n_models", [1, 16, 17, 40])
def test_each_pair_is_in_the_tile_of_its_blocks(n_models: int) -> None:
    codes = encode(joint_errors(n_models))
    split = tiles(codes, np.arange(n_models), n_models)
    names = tile_names(n_models)
    of = {
        name: codes_in(tile_file([3, 7], np.stack([tile, 0 * tile]))) for name, tile in zip(names, split, strict=True)
    }
    assert len(names) == n_blocks(n_models) * (n_blocks(n_models) + 1) // 2
    for first in range(n_models):
        for second in range(first, n_models):
            tile = of[f"{first // BLOCK}-{second // BLOCK}"]
            assert set(tile) == {3}  # nodes without codes are omitted
            assert tile[3][first % BLOCK, second % BLOCK] == codes[first, second] != 0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Build a site of a few models; return the made-up records and the folder of records and site."""
    folder = tmp_path_factory.mktemp("pairs")
    few = MadeUp.of("7x8", seed=5)
    (folder / "records").mkdir()
    few.write(folder / "records")
    build(FolderSource(folder / "records"), few.catalogue, folder / "site")
    return few, folder


def test_pair_files_equal_the_errors_of_records(made) -> None:
    few, folder = made
    board = read_data(folder / "site/data/board.js")
    names = board["models"]["id"]
    codes = codes_in(read_data(folder / "site/data/pairs/0-0.js"))
    n_compared = 0
    records = list(few.records())
    for compared in compare_records(records, names):
        node = board["nodes"]["id"].index(compared.name)
        if few.catalogue.benchmark[compared.name].shows != "all":
            continue
        for first in range(7):
            others = (first + 1 + np.arange(3)) % 7
            errors, freedom, is_matched = decode(codes[node][first, others])
            expected = compared.comparison.joint.pair_errors[first, others]
            np.testing.assert_allclose(errors, expected, rtol=0.007)
            known = np.isfinite(expected)
            assert (freedom[known] <= compared.comparison.joint.pair_freedom[first, others][known]).all()
            np.testing.assert_array_equal(is_matched[known], compared.comparison.joint.is_matched[first, others][known])
            n_compared += int(known.sum())
    assert n_compared > 60
    averages = [node for node in codes if not board["nodes"]["leaf"][node]]
    assert {"average", "neural"} <= {board["nodes"]["id"][node] for node in averages}
