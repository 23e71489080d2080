"""Sketches approximate the variances and covariances of the influences they were made from."""

import base64

import numpy as np
import pytest

from brainscore_core.errors import CorruptFileError
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.sketch import WIDTH, InfluenceSketch


def influence(seed, n=400, q=60, *, first_stimulus=0, first_unit=0):
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal(q) + 3 * rng.standard_normal((n, q))
    stimuli, units = np.arange(first_stimulus, first_stimulus + n), np.arange(first_unit, first_unit + q)
    return Influence.of_mean(table, stimuli, units)


def sketch(of, *, stimuli="set", units="assembly"):
    return InfluenceSketch.of(of, stimuli=stimuli, units=units)


def test_sketch_variance_scatters_as_stated_around_the_exact_one():
    ratios = []
    for seed in range(40):
        whole = influence(seed)
        ratios.append(sketch(whole, stimuli=f"set {seed}", units=f"assembly {seed}").variance / whole.variance)
    assert np.mean(ratios) == pytest.approx(1, abs=0.03)
    assert np.std(ratios) < 1.5 * np.sqrt(2 / WIDTH)


def test_sums_and_differences_match_influences_by_name():
    first, second = influence(0), influence(1, first_stimulus=200, first_unit=30)  # half of both is shared
    sketches = sketch(first), sketch(second)
    for exact, found in (
        (first + second, sketches[0] + sketches[1]),
        (first - second, sketches[0] - sketches[1]),
        (2 * first - 0.5 * second, 2 * sketches[0] - 0.5 * sketches[1]),
    ):
        assert found.variance == pytest.approx(exact.variance, rel=0.2)
    of_sum = (sketches[0] + sketches[1]).variance
    assert of_sum == pytest.approx(sum(each.variance for each in sketches) + 2 * sketches[0].covariance(sketches[1]))


def test_compact_and_full_influences_have_the_same_sketch():
    rng = np.random.default_rng(0)
    kept, of_units = np.array([2, 7, 9]), rng.standard_normal(12)
    sparse = Influence(rng.standard_normal((50, 3)), np.arange(50), np.arange(12), "neuroid", kept, of_units)
    cells = np.repeat(of_units[None] / 50, 50, axis=0)
    cells[:, kept] += sparse.cells
    full = Influence(cells, np.arange(50), np.arange(12))
    np.testing.assert_allclose(sketch(sparse).buckets, sketch(full).buckets, atol=1e-12)


def test_sketches_match_cells_too():
    """Two models share most noise of cells; without matching cells, the error would be 1.4 times one model's."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((2, 300, 80))
    shared = rng.standard_normal((300, 80))
    models = [Influence.of_mean(shared + 0.2 * each, np.arange(300), np.arange(80)) for each in noise]
    found = sketch(models[0]) - sketch(models[1])
    assert found.error == pytest.approx((models[0] - models[1]).error, rel=0.1)
    assert found.error < 0.5 * sketch(models[0]).error


def test_equal_names_in_different_sets_are_not_matched():
    whole = influence(0)
    here, elsewhere = sketch(whole), sketch(whole, stimuli="another set", units="another assembly")
    assert here.covariance(here) == pytest.approx(here.variance)
    assert abs(here.covariance(elsewhere)) < 0.2 * here.variance
    of_same_stimuli = sketch(whole, units="another assembly")
    assert here.covariance(of_same_stimuli) == pytest.approx(whole.components[0], rel=0.3)


def test_difference_of_sketches_keeps_the_degrees_of_freedom():
    """Two models differ only in their agreement with each of five units; the effects of the many stimuli cancel."""
    rng = np.random.default_rng(0)
    common = 3 * rng.standard_normal((400, 1)) + rng.standard_normal((400, 5))
    models = [Influence.of_mean(common + 0.05 * rng.standard_normal(5), np.arange(400), np.arange(5)) for _ in range(2)]
    sketches = [InfluenceSketch.from_text(sketch(each).to_text()) for each in models]
    assert all(each.degrees_of_freedom > 10 for each in models)
    exact = (models[0] - models[1]).degrees_of_freedom
    assert exact < 6
    assert (sketches[0] - sketches[1]).degrees_of_freedom == pytest.approx(exact, rel=0.2)
    assert sketches[0].freedom == (399, 4)


def test_sketch_without_stored_freedom_has_infinite_freedom():
    content = base64.b64decode(sketch(influence(0)).to_text())[:-8]
    read = InfluenceSketch.from_text(base64.b64encode(content).decode())
    assert read.freedom == (np.inf, np.inf)
    assert read.degrees_of_freedom == np.inf
    with pytest.raises(CorruptFileError, match="not finite"):
        InfluenceSketch.from_text(base64.b64encode(content + np.array([9, np.nan], "<f4").tobytes()).decode())


def test_sketch_survives_a_round_trip_through_text():
    whole = sketch(influence(0))
    text = whole.to_text()
    assert len(text) == 4124
    read = InfluenceSketch.from_text(text)
    np.testing.assert_allclose(read.buckets, whole.buckets, atol=np.abs(whole.buckets).max() / 200)
    assert read.error == pytest.approx(whole.error, rel=0.005)
    assert read.to_text() == text


def test_sketch_is_the_same_on_every_machine():
    """Records from other machines and releases must match, so digests must not change."""
    one = InfluenceSketch.of(
        Influence(np.array([[1.0]]), np.array(["s1"]), np.array(["n1"])), stimuli="set", units="assembly"
    )
    assert [int(np.flatnonzero(row)[0]) * int(row.sum()) for row in one.buckets] == [58, 651, 709]


@pytest.mark.parametrize("text", ["", "!", "AAAA", base64.b64encode(b"\xff" * (12 + 3 * WIDTH)).decode()])
def test_rejects_malformed_text(text):
    with pytest.raises(CorruptFileError, match="Score the pair again"):
        InfluenceSketch.from_text(text)
