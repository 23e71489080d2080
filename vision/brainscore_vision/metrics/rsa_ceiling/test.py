import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr
from scipy.stats import t as student_t

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric

# The published system's bounds for `published()`.
PUBLISHED = {"upper": 0.529004329004329, "lower": 0.13896103896103898}


def assembly(values, subjects):
    return assembly_of(values, subject=("neuroid", list(subjects)))


def published():
    values = np.concatenate([np.sin(np.arange(63).reshape(7, 9) * (s + 1.3)) for s in range(3)], axis=1)
    return assembly(values, np.repeat(["x", "y", "z"], 9))


def noisy(seed=0, n_subjects=4, n=12, noise=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 8))
    parts = [truth + noise * rng.normal(size=(n, 8)) for _ in range(n_subjects)]
    return truth, assembly(np.hstack(parts), np.repeat([f"subject{i}" for i in range(n_subjects)], 8))


def test_bounds_equal_the_published_ones():
    score = load_metric("rsa_ceiling", compat=True)(published())
    assert float(score) == pytest.approx(PUBLISHED["upper"], abs=1e-12)
    assert score.attrs["lower_bound_loo"] == pytest.approx(PUBLISHED["lower"], abs=1e-12)


def test_bounds_equal_the_definition():
    _, given = noisy()
    distances = [pdist(given.values[:, start : start + 8], "correlation") for start in range(0, 32, 8)]
    ranks = np.array([rankdata(each) for each in distances])
    upper = [spearmanr(each, ranks.mean(axis=0))[0] for each in distances]
    lower = [spearmanr(distances[i], np.delete(ranks, i, 0).mean(axis=0))[0] for i in range(4)]
    score = load_metric("rsa_ceiling")(given)
    np.testing.assert_allclose(score.attrs["raw"].values, [upper, lower], atol=1e-12)
    assert score.attrs["raw"].dims == ("bound", "subject")
    assert float(score) == score.attrs["upper_bound"] == pytest.approx(np.mean(upper))
    assert score.attrs["lower_bound"] == pytest.approx(np.mean(lower))
    influence = score.attrs["influence"]
    assert np.linalg.norm(influence.by_unit) == pytest.approx(np.std(upper, ddof=1) / 2)
    without = [float(load_metric("rsa_ceiling")(given.isel(presentation=np.arange(12) != i))) for i in range(12)]
    expected = np.mean(without) - without  # ranks of the other subjects, and of their means, change too
    assert np.corrcoef(influence.by_stimulus, expected)[0, 1] > 0.95
    assert 0.7 < np.linalg.norm(influence.by_stimulus) / np.linalg.norm(expected) < 1.05  # pairs count once
    assert score.attrs["error_over"] == ["stimulus", "subject"]
    assert (score.attrs["n_subjects"], score.attrs["n_stimuli"], score.attrs["quantity"]) == (
        4,
        12,
        "dissimilarity_correlation",
    )
    low = load_metric("rsa_ceiling", bound="lower")(given)
    assert float(low) == pytest.approx(np.mean(lower))
    assert low.attrs["estimator"] == "dissimilarities of each subject with their mean over subjects, lower bound"


def test_the_true_geometry_lies_between_the_bounds():
    between = []
    for seed in range(10):
        truth, given = noisy(seed, n_subjects=5, n=20)
        rdm = load_metric("rdm")
        parts = [given.isel(neuroid=range(start, start + 8)) for start in range(0, 40, 8)]
        score = np.mean([float(rdm(assembly(truth, ["m"] * 8), part)) for part in parts])
        ceiling = load_metric("rsa_ceiling")(given)
        assert score <= float(ceiling)
        between.append(score - ceiling.attrs["lower_bound"])
    assert np.mean(between) > 0


def test_accepts_precomputed_dissimilarities():
    _, given = noisy()
    squares = [squareform(pdist(given.values[:, start : start + 8], "correlation")) for start in range(0, 32, 8)]
    stack = DataAssembly(
        np.stack(squares, axis=2),
        coords={"stimulus_id": ("presentation", given["stimulus_id"].values), "subject": ("subject", list("abcd"))},
        dims=["presentation", "presentation_other", "subject"],
    )
    expected = load_metric("rsa_ceiling")(given)
    found = load_metric("rsa_ceiling")(stack)
    np.testing.assert_allclose(found.attrs["raw"].values, expected.attrs["raw"].values, atol=1e-12)


def test_the_similarity_function_can_be_replaced():
    _, given = noisy()
    pearson = load_metric("rsa_ceiling", similarity_func=lambda x, y: np.corrcoef(x, y)[0, 1])(given)
    published_call = load_metric("rsa_ceiling", similarity_func=spearmanr)(given)
    upper = published_call.attrs["raw"].sel(bound="upper").values
    assert published_call.attrs["error"] == pytest.approx(np.std(upper, ddof=1) / 2)
    margin = student_t(3).ppf(0.975) * published_call.attrs["error"]
    assert published_call.attrs["interval"] == pytest.approx(
        (float(upper.mean()) - margin, float(upper.mean()) + margin)
    )
    assert float(published_call) == pytest.approx(float(load_metric("rsa_ceiling", compat=True)(given)))
    assert float(pearson) != float(published_call)


def test_error_for_one_subject_suggests_internal_consistency():
    with pytest.raises(AssemblyError, match=r"at least two subjects.*internal_consistency"):
        load_metric("rsa_ceiling")(noisy(n_subjects=1)[1])
    with pytest.raises(AssemblyError, match="subject"):
        load_metric("rsa_ceiling")(noisy()[1].drop_vars("subject"))


def test_stimuli_with_a_constant_pattern_are_excluded_and_listed():
    _, given = noisy()
    values = given.values.copy()
    values[3, :8] = 1.0
    score = load_metric("rsa_ceiling")(given.copy(data=values))
    rest = load_metric("rsa_ceiling")(given.isel(presentation=[i for i in range(12) if i != 3]))
    assert score.attrs["undefined_stimuli"] == ["s03"]
    assert float(score) == pytest.approx(float(rest), abs=1e-12)


def test_neuroids_of_nan_are_excluded():
    _, given = noisy()
    values = given.values.copy()
    values[:, [0, 9]] = np.nan
    score = load_metric("rsa_ceiling")(given.copy(data=values))
    rest = load_metric("rsa_ceiling")(given.isel(neuroid=[i for i in range(32) if i not in {0, 9}]))
    assert float(score) == pytest.approx(float(rest), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_rejects_too_few_stimuli(n):
    with pytest.raises(AssemblyError, match="at least three"):
        load_metric("rsa_ceiling")(noisy(n=n)[1])
