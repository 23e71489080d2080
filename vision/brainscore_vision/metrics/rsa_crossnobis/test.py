import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import tail_freedom
from brainscore_core.testing.synthetic import trials_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.geometry.rdm import squared_distances, upper_triangle
from brainscore_vision.metric_helpers.arrays.geometry.whitened import unbiased_distances

COMPARISONS = ["cosine", "pearson", "whitened_cosine", "whitened_pearson"]


def simulated(seed, noise, n=20, p=15, n_repetitions=6):
    """Make three-dimensional patterns for a model, and a rotated, noisy version for a brain."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p))
    rotation = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return truth[None] @ rotation, truth + noise * rng.normal(size=(n_repetitions, n, p))


def test_uncorrected_score_equals_the_definition():
    source, target = simulated(0, 1.0)
    score = load_metric("rsa_crossnobis", correct_norm=False)(trials_of(source), trials_of(target))
    model, data = upper_triangle(squared_distances(source[0])), upper_triangle(unbiased_distances(target))
    expected = model @ data / np.linalg.norm(model) / np.linalg.norm(data)
    assert float(score) == score.attrs["uncorrected"] == pytest.approx(expected)
    pearson = load_metric("rsa_crossnobis", comparison="pearson", correct_norm=False)
    assert float(pearson(trials_of(source), trials_of(target))) == pytest.approx(np.corrcoef(model, data)[0, 1])


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_the_true_geometry_without_noise_scores_one(comparison):
    source, target = simulated(0, 0.0)
    score = load_metric("rsa_crossnobis", comparison=comparison)(trials_of(source), trials_of(target))
    assert float(score) == pytest.approx(1)
    assert score.attrs["uncorrected"] == pytest.approx(1)


@pytest.mark.slow
def test_noise_does_not_lower_the_corrected_score():
    """On simulated data, `rdm` and the uncorrected score fall with noise; the corrected one stays at 1 on average."""
    rdm, crossnobis = load_metric("rdm"), load_metric("rsa_crossnobis")
    means = {}
    for noise in (0.5, 2.0, 4.0):
        scores = []
        for seed in range(30):
            source, target = simulated(seed, noise)
            score = crossnobis(trials_of(source), trials_of(target))
            plain = rdm(trials_of(source), trials_of(target.mean(axis=0, keepdims=True)))
            scores.append([float(score), score.attrs["uncorrected"], float(plain)])
        spread = np.std(scores, axis=0)[0] / np.sqrt(30)
        means[noise] = np.mean(scores, axis=0)
        assert means[noise][0] == pytest.approx(1, abs=3.5 * spread + 0.01)
    assert means[0.5][2] > means[2.0][2] + 0.03 > means[4.0][2] + 0.1
    assert means[4.0][1] < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["diagonal", "shrinkage"])
def test_weights_help_if_neuroids_differ_in_noise(noise):
    errors = {"none": [], noise: []}
    for seed in range(25):
        rng = np.random.default_rng(seed)
        source, target = simulated(seed, 0.0)
        target = target + rng.normal(size=target.shape) * np.where(np.arange(15) < 5, 12.0, 0.5)
        for kind, found in errors.items():
            score = load_metric("rsa_crossnobis", noise=kind)(trials_of(source), trials_of(target))
            found.append(score.attrs["uncorrected"])
    assert np.mean(errors[noise]) > np.mean(errors["none"])


def test_attributes_describe_the_score():
    source, target = simulated(0, 1.0)
    score = load_metric("rsa_crossnobis", noise="shrinkage")(trials_of(source), trials_of(target))
    assert score.attrs["raw"].sizes == {"split": 10}
    expected = {
        "n_stimuli": 20,
        "n_neuroids": 15,
        "n_repetitions": 6,
        "noise": "shrinkage",
        "comparison": "cosine",
        "quantity": "dissimilarity_correlation",
        "seed": 0,
    }
    assert {name: score.attrs[name] for name in expected} == expected
    assert 0 <= score.attrs["shrinkage"] <= 1


def test_divisions_of_many_repetitions_are_seeded():
    source, target = simulated(0, 1.0, n_repetitions=9)
    one, two, other = (
        load_metric("rsa_crossnobis", seed=seed)(trials_of(source), trials_of(target)) for seed in (0, 0, 1)
    )
    assert one.attrs["raw"].sizes == {"split": 20}
    assert float(one) == float(two) != float(other)


def test_some_missing_presentations_are_allowed():
    source, target = simulated(0, 0.2, n_repetitions=8)
    kept = [i for i in range(160) if i not in {3, 47, 130}]
    score = load_metric("rsa_crossnobis")(trials_of(source), trials_of(target).isel(presentation=kept))
    assert float(score) == pytest.approx(1, abs=0.02)
    kept = [i for i in range(160) if i % 20 != 4 or i < 60]  # one stimulus has only three repetitions
    with pytest.raises(AssemblyError, match="correct_norm=False"):
        load_metric("rsa_crossnobis")(trials_of(source), trials_of(target).isel(presentation=kept))
    assert float(
        load_metric("rsa_crossnobis", correct_norm=False)(trials_of(source), trials_of(target).isel(presentation=kept))
    ) == pytest.approx(1, abs=0.02)


def test_rejects_unusable_repetitions_stimuli_and_options():
    source, target = simulated(0, 1.0)
    one, two = trials_of(source), trials_of(target)
    with pytest.raises(AssemblyError, match=r"at least 4.*found 3.*correct_norm=False"):
        load_metric("rsa_crossnobis")(one, two.isel(presentation=range(60)))
    with pytest.raises(AssemblyError, match="found 1"):
        load_metric("rsa_crossnobis", correct_norm=False)(one, two.isel(presentation=range(20)))
    with pytest.raises(AssemblyError, match="'s19'"):
        load_metric("rsa_crossnobis")(one.isel(presentation=range(19)), two)
    with pytest.raises(AssemblyError, match="1 further presentation of a stimulus"):
        load_metric("rsa_crossnobis")(one, two.isel(presentation=[0, *range(120)]))
    few = np.flatnonzero(np.isin(two["stimulus_id"].values, ["s00", "s01"]))
    with pytest.raises(AssemblyError, match="2 stimuli"):
        load_metric("rsa_crossnobis")(one.isel(presentation=[0, 1]), two.isel(presentation=few))
    with pytest.raises(AssemblyError, match="singular"):
        load_metric("rsa_crossnobis", noise="diagonal")(one, trials_of(np.repeat(target[:1], 4, axis=0)))
    with pytest.raises(ValueError, match="whitened_cosine"):
        load_metric("rsa_crossnobis", comparison="cosin")
    with pytest.raises(ValueError, match="shrinkage"):
        load_metric("rsa_crossnobis", noise="shrink")


def test_pure_noise_can_be_undefined():
    rng = np.random.default_rng(1)
    source = rng.normal(size=(1, 20, 15))
    values = [
        float(
            load_metric("rsa_crossnobis", comparison="pearson")(
                trials_of(source), trials_of(rng.normal(size=(6, 20, 15)))
            )
        )
        for _ in range(10)
    ]
    assert np.isnan(values).any()


def test_one_neuroid_has_a_score():
    source, target = simulated(0, 0.01, p=1)
    assert float(load_metric("rsa_crossnobis")(trials_of(source), trials_of(target))) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("correct_norm", [True, False])
def test_influences_equal_leaving_out_stimuli_and_neuroids(comparison, correct_norm):
    source, target = simulated(0, 1.0, n=9, p=6, n_repetitions=4)
    metric = load_metric("rsa_crossnobis", comparison=comparison, correct_norm=correct_norm)
    score = metric(trials_of(source), trials_of(target))
    influence = score.attrs["influence"]
    assert influence.interval_freedom == tail_freedom(influence.by_unit, 1 / 3) < tail_freedom(influence.by_unit)
    assert score.attrs["interval"] == influence.interval(float(score), scale="fisher")
    for axis, influences in ((1, influence.by_stimulus), (2, influence.by_unit)):
        sides = [(np.delete(source, i, 1) if axis == 1 else source, np.delete(target, i, axis))
                 for i in range(target.shape[axis])]  # fmt: skip
        without = np.array([float(metric(*map(trials_of, pair))) for pair in sides])
        expected = without.mean() - without
        factor = np.linalg.norm(influences) / np.linalg.norm(expected)
        np.testing.assert_allclose(influences, factor * expected, atol=1e-10)
        assert axis == 1 or factor == pytest.approx(np.sqrt(5 / 6))


def test_weights_that_mix_neuroids_leave_no_error():
    source, target = simulated(0, 1.0)
    score = load_metric("rsa_crossnobis", noise="shrinkage")(trials_of(source), trials_of(target))
    record = ScoreRecord.of_score(score, model="m", benchmark="b")
    assert record.error is None
    assert "mix neuroids" in record.error_nan_reason
    assert load_metric("rsa_crossnobis", noise="diagonal")(trials_of(source), trials_of(target)).attrs["error"] > 0
