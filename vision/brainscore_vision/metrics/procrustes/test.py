import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metrics.procrustes.metric import procrustes_influences


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 6))
    return x, x @ rng.normal(size=(6, 10)) + 2 * rng.normal(size=(30, 10))


def test_score_equals_the_kernel_in_any_order(pair):
    x, y = pair
    order = np.random.default_rng(1).permutation(30)
    score = load_metric("procrustes")(
        assembly_of(x).isel(presentation=order), assembly_of(y).transpose("neuroid", "presentation")
    )
    expected, _ = procrustes_influences(x, y)
    assert float(score) == pytest.approx(expected, abs=1e-12)
    assert score.attrs["angle"] == pytest.approx(np.arccos(expected))
    assert 0 < score.attrs["error"] < 0.1
    low, high = score.attrs["interval"]
    assert 0 < low < expected < high < 1
    assert {name: score.attrs[name] for name in ("n_stimuli", "n_neuroids", "quantity")} == {
        "n_stimuli": 30,
        "n_neuroids": 10,
        "quantity": "share",
    }


def test_angle_scale_transforms_score_and_error(pair):
    one, two = (assembly_of(side) for side in pair)
    cosine, angle = (load_metric("procrustes", scale=scale)(one, two) for scale in ("cosine", "angle"))
    assert float(angle) == pytest.approx(1 - 2 * np.arccos(float(cosine)) / np.pi)
    step = 1e-6
    slope = (np.arccos(float(cosine)) - np.arccos(float(cosine) + step)) * 2 / np.pi / step
    assert angle.attrs["error"] == pytest.approx(slope * cosine.attrs["error"], rel=1e-4)
    with pytest.raises(ValueError, match="cosine, angle"):
        load_metric("procrustes", scale="degrees")


@pytest.mark.parametrize("scale", ["cosine", "angle"])
def test_a_rotated_copy_scores_one_without_an_error(pair, scale):
    x, _ = pair
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0]
    score = load_metric("procrustes", scale=scale)(assembly_of(x), assembly_of(-2 * x @ rotation + 1))
    assert float(score) == pytest.approx(1, abs=1e-7)
    error = score.attrs["error"]
    assert np.isnan(error) or error < 1e-6


def test_an_undefined_score_has_a_reason(pair):
    score = load_metric("procrustes")(assembly_of(np.ones((30, 2))), assembly_of(pair[1]))
    assert np.isnan(float(score))
    assert "undefined" in score.attrs["error_nan_reason"]
    with pytest.raises(AssemblyError, match="two stimuli"):
        load_metric("procrustes")(assembly_of(pair[0][:1]), assembly_of(pair[1][:1]))
