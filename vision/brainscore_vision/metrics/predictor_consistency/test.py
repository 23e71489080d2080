import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_ceiling
from brainscore_vision.metrics.predictor_consistency.ceiling import SplitHalfPredictorConsistency


def measured(counts, seed=0, n_neuroids=7, noise=1.2):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(len(counts), n_neuroids))
    stimulus = np.repeat(np.arange(len(counts)), counts)
    values = signal[stimulus] + noise * rng.normal(size=(len(stimulus), n_neuroids))
    repetition = np.concatenate([np.arange(count) for count in counts])
    return assembly_of(values, stimulus_id=[f"s{number:03d}" for number in stimulus], repetition=repetition)


@pytest.mark.parametrize("counts", [[3] * 400, [2, 3, 5, 9] * 100])
def test_unequal_halves_give_the_true_reliability(counts):
    truth = 1 / (1 + 1.2**2 * np.mean(1 / np.array(counts)))
    given = measured(counts, n_neuroids=60)
    assert float(load_ceiling("predictor_consistency")(given)) == pytest.approx(truth, abs=0.01)
    published = float(load_ceiling("predictor_consistency", compat=True)(given))
    assert published < truth - (0.01 if len(set(counts)) == 1 else 0.002)


def test_ceiling_has_an_interval_and_describes_itself():
    score = SplitHalfPredictorConsistency(n_splits=4, seed=3)(measured([4] * 30))
    assert score.raw.dims == ("split", "neuroid")
    assert score.raw.shape == (4, 7)
    low, high = score.attrs["interval"]
    assert low < float(score) < high
    assert score.attrs["seed"] == 3
    assert score.attrs["quantity"] == "reliability"
    assert score.attrs["estimator"].startswith("split halves of the repetitions of each stimulus")


def test_an_undefined_published_ceiling_has_no_error():
    score = load_ceiling("predictor_consistency", compat=True)(measured([4] * 8))
    assert np.isnan(score.attrs["error"])
    assert score.attrs["error_nan_reason"] == "fewer than 10 stimuli"
    assert np.isfinite(float(load_ceiling("predictor_consistency")(measured([4] * 8))))


def test_stimuli_shown_once_lower_the_reliability():
    """Scores use the means of all stimuli, and half of these are as noisy as one repetition."""
    counts = np.array([4] * 200 + [1] * 200)
    given = measured(counts, n_neuroids=60)
    score = load_ceiling("predictor_consistency")(given)
    assert float(score) == pytest.approx(1 / (1 + 1.2**2 * np.mean(1 / counts)), abs=0.015)
    assert float(score) == pytest.approx(float(load_ceiling("noise_ceiling")(given)), abs=0.015)
    assert score.attrs["n_stimuli"] == len(score.attrs["influence"].stimuli) == 400
    assert (score.attrs["influence"].by_stimulus[200:] == score.attrs["influence"].by_stimulus[-1]).all()


def test_published_ceiling_excludes_stimuli_shown_once():
    ceiling = load_ceiling("predictor_consistency", compat=True)
    given = measured([4] * 20 + [1] * 5)
    assert float(ceiling(given)) == float(ceiling(given.isel(presentation=np.arange(80))))


def test_rejects_too_few_repeated_stimuli():
    with pytest.raises(AssemblyError, match="at least 3"):
        load_ceiling("predictor_consistency")(measured([4, 4, 1, 1]))
