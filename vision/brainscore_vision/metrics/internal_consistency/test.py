import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr
from sklearn.model_selection import ShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import load_ceiling


def recording(n=50, repetitions=6, q=4, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, q)) + noise * rng.normal(size=(repetitions, n, q))


def assembly(trials, **extra):
    repetitions, n, q = trials.shape
    return NeuroidAssembly(
        trials.reshape(-1, q),
        coords={
            "stimulus_id": ("presentation", np.tile([f"s{i:02d}" for i in range(n)], repetitions)),
            "object_name": ("presentation", np.tile([f"o{i % 3}" for i in range(n)], repetitions)),
            "repetition": ("presentation", np.repeat(np.arange(repetitions), n)),
            "neuroid_id": ("neuroid", [f"n{i}" for i in range(q)]),
            "region": ("neuroid", ["IT"] * q),
            **extra,
        },
        dims=["presentation", "neuroid"],
    )


def test_by_hand():
    trials = recording()
    ceiling = load_ceiling("internal_consistency")(assembly(trials))
    raw = []
    for first, second in ShuffleSplit(10, train_size=0.5, random_state=1).split(np.zeros(6)):
        assert sorted([*first, *second]) == list(range(6))
        one, two = trials[first].mean(axis=0), trials[second].mean(axis=0)
        r = np.array([pearsonr(one[:, i], two[:, i])[0] for i in range(4)])
        raw.append(2 * r / (1 + r))
    np.testing.assert_allclose(ceiling.attrs["raw"].values, raw, atol=1e-12)
    medians = np.median(raw, axis=1)
    assert float(ceiling) == pytest.approx(medians.mean())
    assert ceiling.attrs["error"] == pytest.approx(medians.std() / np.sqrt(10))
    expected = {"n_stimuli": 50, "n_neuroids": 4, "n_repetitions": 6, "seed": 1}
    assert {name: ceiling.attrs[name] for name in expected} == expected
    assert isinstance(ceiling, Score)
    assert ceiling.attrs["raw"].dims == ("split", "neuroid")


@pytest.mark.parametrize("repetitions", [2, 3, 7])
def test_estimates_the_true_reliability(repetitions):
    ceiling = load_ceiling("internal_consistency")(assembly(recording(400, repetitions, 60, noise=2.0)))
    assert float(ceiling) == pytest.approx(1 / (1 + 4 / repetitions), abs=0.02)


def test_published_step_up_of_unequal_halves_is_there_on_request():
    given_trials = assembly(recording(repetitions=3, noise=2.0))
    exact = load_ceiling("internal_consistency")(given_trials)
    published = load_ceiling("internal_consistency", compat=True)(given_trials)
    assert float(published) < float(exact)
    even = assembly(recording(repetitions=4))
    same = [float(load_ceiling("internal_consistency", compat=compat)(even)) for compat in (False, True)]
    assert same[0] == same[1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_invariances(seed):
    trials = recording(seed=seed)
    rng = np.random.default_rng(seed)
    base = load_ceiling("internal_consistency")(assembly(trials))
    shuffled = assembly(trials * rng.uniform(0.1, 9, size=4) + rng.normal(size=4))
    shuffled = shuffled.isel(presentation=rng.permutation(300), neuroid=rng.permutation(4))
    again = load_ceiling("internal_consistency")(shuffled)
    np.testing.assert_allclose(again.attrs["raw"].values, base.attrs["raw"].values, atol=1e-9)
    assert again.attrs["raw"]["neuroid_id"].values.tolist() == ["n0", "n1", "n2", "n3"]


def test_noiseless_data_have_a_ceiling_of_one_and_noise_none():
    assert float(load_ceiling("internal_consistency")(assembly(recording(noise=0)))) == pytest.approx(1)
    noise = np.random.default_rng(0).normal(size=(6, 500, 30))
    assert abs(float(load_ceiling("internal_consistency")(assembly(noise)))) < 0.1


def test_seed_and_number_of_splits():
    trials = assembly(recording(repetitions=8, noise=3))
    other = load_ceiling("internal_consistency", splits=30, random_state=5)(trials)
    assert other.attrs["raw"].sizes["split"] == 30
    assert other.attrs["seed"] == 5
    assert float(other) != float(load_ceiling("internal_consistency")(trials))
    assert float(other) == float(load_ceiling("internal_consistency", splits=30, random_state=5)(trials))


def test_missing_presentations_and_time_bins():
    trials = recording()
    full = assembly(trials)
    partial = load_ceiling("internal_consistency")(full.isel(presentation=np.arange(2, 300)))
    assert float(partial) == pytest.approx(float(load_ceiling("internal_consistency")(full)), abs=0.05)
    coords = {name: ("presentation", full[name].values) for name in ("stimulus_id", "repetition")}
    coords |= {"neuroid_id": ("neuroid", full["neuroid_id"].values)}
    coords |= {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
    timed = NeuroidAssembly(full.values[:, :, None], coords=coords, dims=["presentation", "neuroid", "time_bin"])
    ceiling = load_ceiling("internal_consistency")
    assert float(ceiling(timed)) == float(ceiling(full))


def test_constant_and_empty_neuroids_are_left_out():
    trials = recording()
    trials[:, :, 1], trials[:, :, 2] = 5.0, np.nan
    ceiling = load_ceiling("internal_consistency")(assembly(trials))
    assert ceiling.attrs["neuroids_left_out"] == ["n1", "n2"]
    assert np.isfinite(float(ceiling))
    assert np.isnan(ceiling.attrs["raw"].values).sum() == 20


def test_faults_raise():
    ceiling = load_ceiling("internal_consistency")
    with pytest.raises(AssemblyError, match="two values of 'repetition'"):
        ceiling(assembly(recording(repetitions=1)))
    broken = recording()
    broken[0, 3, 1] = np.nan
    with pytest.raises(AssemblyError, match="'n1'"):
        ceiling(assembly(broken))
    doubled = assembly(recording())
    with pytest.raises(AssemblyError, match="more than once"):
        ceiling(doubled.isel(presentation=[0, *range(300)]))


def test_other_consistency_metric_and_aggregate():
    def agreement(half1, half2):
        assert half1["stimulus_id"].values.tolist() == half2["stimulus_id"].values.tolist()
        assert half1.sizes["presentation"] == 50
        r = [pearsonr(half1.values[:, i], half2.values[:, i])[0] for i in range(half1.sizes["neuroid"])]
        return Score(r, coords={"neuroid_id": ("neuroid", half1["neuroid_id"].values)}, dims=["neuroid"])

    trials = assembly(recording())
    default = load_ceiling("internal_consistency")(trials)
    custom = load_ceiling("internal_consistency", agreement)(trials)
    np.testing.assert_allclose(custom.attrs["raw"].values, default.attrs["raw"].values, atol=1e-12)
    largest = load_ceiling("internal_consistency", aggregate=lambda scores: scores.max("neuroid"))(trials)
    assert float(largest) == pytest.approx(default.attrs["raw"].values.max(axis=1).mean())
