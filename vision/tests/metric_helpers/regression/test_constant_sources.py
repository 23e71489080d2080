"""A constant source predicts nothing, whatever the rounding errors."""

import numpy as np
import pytest

from brainscore_core.testing.synthetic import make_neuroid_assembly
from brainscore_vision import load_metric

VALUES = {"zeros": 0.0, "ones": 1.0, "thirds": 1 / 3, "large": 1e6 + 0.1}


@pytest.fixture(scope="module")
def target():
    """Responses whose means are about 0, so that rounding errors are relatively large."""
    responses = make_neuroid_assembly(60, 20, noise=0.5, seed=1)
    return responses - responses.mean("presentation")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("metric", ["ridge", "pls", "linear_predictivity", "neuron_to_neuron", "ridgecv"])
@pytest.mark.parametrize("suffix", ["", "_split"])
def test_a_constant_source_has_no_score(target, metric, suffix, value):
    pattern = VALUES[value] * np.random.default_rng(0).random(40)
    source = make_neuroid_assembly(60, 40, seed=1)
    source = source.copy(data=np.tile(pattern, (60, 1)))
    if suffix:
        parts = {"source_train": source[:40], "source_test": source[40:]}
        score = load_metric(metric + suffix)(**parts, target_train=target[:40], target_test=target[40:])
    else:
        score = load_metric(metric)(source, target)
    assert np.isnan(float(score))
    assert np.isnan(score.attrs["raw"].values).all()
    assert np.isnan([score.attrs["error"], score.attrs["stimulus_error"]]).all()
    assert "undefined" in score.attrs["error_nan_reason"]
