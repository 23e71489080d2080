import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import assembly_of, trials_of
from brainscore_vision import load_metric


def simulated(seed, noise, n=30, q=15, n_repetitions=4):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 4)) @ rng.normal(size=(4, q))
    rotation = np.linalg.qr(rng.normal(size=(q, q)))[0]
    return truth[None] @ rotation, truth + noise * rng.normal(size=(n_repetitions, n, q))


def score_of(source, target, **kwargs):
    return load_metric("cka_noise_corrected", **kwargs)(trials_of(source), trials_of(target))


def test_score_without_noise_equals_cka():
    source, target = simulated(0, 0.0)
    other = target + source.mean(axis=2, keepdims=True)
    expected = load_metric("cka")(trials_of(source), trials_of(other[:1]))
    assert float(score_of(source, other)) == pytest.approx(float(expected), abs=1e-12)
    assert float(score_of(source, target)) == pytest.approx(1)


@pytest.mark.slow
def test_a_noisy_source_is_corrected_too():
    values = []
    for seed in range(40):
        source, target = simulated(seed, 3.0)
        noise = np.random.default_rng(100 + seed).normal(size=target.shape)
        values.append([float(score_of(source + k * noise, target)) for k in (0.0, 3.0)])
    assert np.mean(values, axis=0)[1] == pytest.approx(1, abs=3.5 * np.std(values, axis=0)[1] / np.sqrt(40) + 0.03)


def test_missing_presentations_are_allowed_within_halves():
    source, target = simulated(0, 0.1, n_repetitions=6)
    one, two = trials_of(source), trials_of(target)
    kept = [i for i in range(180) if i not in {3, 47, 130}]
    assert float(load_metric("cka_noise_corrected")(one, two.isel(presentation=kept))) == pytest.approx(1, abs=0.01)
    kept = [i for i in range(180) if i % 30 != 4 or i < 90]  # one stimulus occurs in half of the repetitions
    with pytest.raises(AssemblyError, match=r"no repetition in one of the halves.*s04"):
        load_metric("cka_noise_corrected")(one, two.isel(presentation=kept))


def test_numeric_stimulus_ids_match_their_strings():
    source, target = simulated(0, 0.5)
    one, two = trials_of(source), trials_of(target)
    numbers = assembly_of(source[0], stimulus_id=np.arange(30))
    texts = assembly_of(
        two.values, stimulus_id=np.tile(np.arange(30).astype(str), 4), repetition=two["repetition"].values
    )
    metric = load_metric("cka_noise_corrected")
    assert float(metric(numbers, texts)) == pytest.approx(float(metric(one, two)), abs=1e-12)


def test_an_absent_error_has_a_reason():
    source, target = simulated(0, 0.5)
    score = score_of(source, target[:, :, :1])
    assert np.isfinite(float(score))
    assert np.isnan(score.attrs["error"])
    assert "single neuroid" in score.attrs["error_nan_reason"]
    assert "undefined without some" in score_of(source[:, :4], target[:, :4]).attrs["error_nan_reason"]
    undefined = [score_of(source, np.random.default_rng(seed).normal(size=(4, 30, 15))) for seed in range(10)]
    undefined = [score for score in undefined if np.isnan(float(score))]
    assert undefined
    assert "undefined" in undefined[0].attrs["error_nan_reason"]


def test_rejects_unusable_repetitions_and_stimuli():
    source, target = simulated(0, 1.0)
    one, two = trials_of(source), trials_of(target)
    metric = load_metric("cka_noise_corrected")
    with pytest.raises(AssemblyError, match=r"at least 2.*found 1"):
        metric(one, two.isel(presentation=range(30)))
    with pytest.raises(AssemblyError, match="'s29'"):
        metric(one.isel(presentation=range(29)), two)
    with pytest.raises(AssemblyError, match="1 further presentation of a stimulus"):
        metric(one, two.isel(presentation=[0, *range(120)]))
    with pytest.raises(AssemblyError, match="3 stimuli"):
        metric(trials_of(source[:, :3]), trials_of(target[:, :3]))
