import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_ceiling


def assembly(values, stimulus, repetition=None):
    ids = [f"s{number:03d}" for number in stimulus]
    neuroids = [f"n{number:02d}" for number in range(values.shape[1])]
    return assembly_of(values, stimulus_id=ids, repetition=repetition, neuroid_id=("neuroid", neuroids))


def measured(counts, noise, seed=0, n_neuroids=20):
    """Make repetitions with noise around a signal of variance 1 over stimuli."""
    rng = np.random.default_rng(seed)
    stimulus = np.repeat(np.arange(len(counts)), counts)
    repetition = np.concatenate([np.arange(count) for count in counts])
    signal = rng.standard_normal((len(counts), n_neuroids))
    return assembly(signal[stimulus] + noise * rng.standard_normal((len(stimulus), n_neuroids)), stimulus, repetition)


def test_ceiling_agrees_with_internal_consistency():
    given = measured([8] * 300, noise=2)
    score, halves = load_ceiling("noise_ceiling")(given), load_ceiling("internal_consistency")(given)
    assert float(score) == pytest.approx(float(halves), abs=0.02)
    assert score.attrs["design"] == "crossed"
    assert score.attrs["quantity"] == "reliability"
    assert score.attrs["estimator"] == "variance between and within stimuli"


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[4] * 100, [1, 2, 3, 6] * 25])
def test_interval_has_nominal_coverage(counts):
    truth = 1 / (1 + 1.5**2 * np.mean(1 / np.array(counts)))
    held = 0
    for seed in range(40):
        score = load_ceiling("noise_ceiling")(measured(counts, noise=1.5, seed=seed))
        low, high = score.attrs["interval"]
        held += low <= truth <= high
    assert held >= 35
    assert score.attrs["error_over"] == ["stimulus", "neuroid"]
    assert len(score.attrs["influence"].units) == 20


def test_n_averaged_sets_the_number_of_repetitions():
    given = measured([6] * 50, noise=2)
    one, six, default = (load_ceiling("noise_ceiling", n_averaged=n)(given) for n in (1, 6, None))
    assert float(six) == pytest.approx(float(default))
    np.testing.assert_allclose(six.raw.values, 6 * one.raw.values / (1 + 5 * one.raw.values))
    np.testing.assert_allclose(one.raw.values, one.attrs["ncsnr"].values ** 2 / (one.attrs["ncsnr"].values ** 2 + 1))


def test_design_is_recognised_in_any_order():
    given = measured([2, 3, 4, 5] * 5, noise=1)
    order = np.random.default_rng(0).permutation(given.sizes["presentation"])
    bare = assembly(given.values, np.repeat(np.arange(20), [2, 3, 4, 5] * 5))
    for each, design in ((given, "incomplete"), (bare, "nested")):
        expected = load_ceiling("noise_ceiling")(each)
        assert expected.attrs["design"] == design
        assert float(load_ceiling("noise_ceiling")(each.isel(presentation=order))) == pytest.approx(float(expected))


def drifting(lost, seed, n=40, n_repetitions=6, n_neuroids=60):
    """Return responses with drift as large as their noise, with a reliability of .8 without lost presentations; and the
    true one."""
    rng = np.random.default_rng(seed)
    stimulus, repetition = np.divmod(np.arange(n * n_repetitions), n_repetitions)
    signal, noise = rng.standard_normal((n, n_neuroids)), np.sqrt(n_repetitions / 4)
    values = signal[stimulus] + noise * rng.standard_normal((len(stimulus), n_neuroids))
    values += noise * rng.standard_normal((n_repetitions, n_neuroids))[repetition]
    kept = np.sort(rng.permutation(len(stimulus))[round(lost * len(stimulus)) :])
    kept = np.sort(np.append(kept, np.flatnonzero(~np.isin(stimulus, stimulus[kept]))))
    means = np.array([values[kept][stimulus[kept] == number].mean(axis=0) for number in range(n)])
    truth = np.median([np.corrcoef(*pair)[0, 1] ** 2 for pair in zip(signal.T, means.T, strict=True)])
    return assembly(values[kept], stimulus[kept], repetition[kept]), truth


def test_drift_is_not_noise_despite_a_lost_presentation():
    whole, _ = drifting(0, seed=0)
    lost = load_ceiling("noise_ceiling")(drifting(1 / 240, seed=0)[0])
    assert lost.attrs["design"] == "incomplete"
    assert float(lost) == pytest.approx(float(load_ceiling("noise_ceiling")(whole)), abs=0.01)
    assert float(lost) == pytest.approx(0.8, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0.01, 0.03, 0.1, 0.2, 0.3])
def test_ceiling_is_the_true_squared_correlation_despite_losses(lost):
    pairs = [drifting(lost, seed, n=100) for seed in range(10)]
    ceilings = [float(load_ceiling("noise_ceiling")(given)) for given, _ in pairs]
    assert np.mean(ceilings) == pytest.approx(np.mean([truth for _, truth in pairs]), abs=0.02)


@pytest.mark.parametrize("counts", [[1, 1, 1], [5]])
def test_rejects_single_repetitions_or_stimuli(counts):
    with pytest.raises(AssemblyError, match="single repetitions"):
        load_ceiling("noise_ceiling")(measured(counts, noise=1))


def test_ceiling_does_not_depend_on_a_large_mean():
    given = measured([4] * 50, noise=1)
    assert float(load_ceiling("noise_ceiling")(given + 1e7)) == pytest.approx(
        float(load_ceiling("noise_ceiling")(given))
    )


def test_rejects_n_averaged_of_zero():
    with pytest.raises(ValueError, match="n_averaged"):
        load_ceiling("noise_ceiling", n_averaged=0)
