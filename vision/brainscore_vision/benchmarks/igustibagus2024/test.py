import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_benchmark, load_model, load_stimulus_set
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.test_helper import StandardizedTests
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings, shuffled

from .neural import load_domain_transfer, without_shared_backgrounds
from .readout import ALPHAS, DOMAINS, Igustibagus2024Readout, domains_of, outputs_of, splits_of

OBJECTS = np.array(["apple", "bear", "bird", "car", "chair", "dog", "elephant", "face", "plane", "zebra"])
N_HVM, N_OTHERS = 50, 20  # images of HvM, and of each other domain
N_SITES = 32  # every eighth is noise


@pytest.fixture(scope="module")
def stimuli():
    return draw()


def draw():
    """Return images of 13 domains and one style that is not compared; silhouettes have backgrounds of photographs."""
    n_images = [N_HVM if domain == "hvm" else N_OTHERS for domain in DOMAINS] + [N_OTHERS]
    domains = [*DOMAINS.values(), ("Textures", "nan")]
    source, style = (np.repeat([each[part] or "original" for each in domains], n_images) for part in (0, 1))
    number = np.concatenate([np.arange(n) for n in n_images])
    columns = {
        "object_label": OBJECTS[number % 10],
        "stimulus_source": source,
        "object_style": style,
        "background_id": np.where(source == "Silhouette", number + 1, 0),
    }
    return draw_stimuli("Igustibagus2024", len(number), columns=columns, size_px=16)


@pytest.fixture(scope="module")
def truth(stimuli, module_stand_ins):
    return stand_in(module_stand_ins, stimuli)


def stand_in(stand_ins, stimuli=None):
    """Make recordings in which Oleo saw each image 8 times and Pico 5 times; return the signal."""
    stimuli = draw() if stimuli is None else stimuli
    animals = np.repeat(["Oleo", "Pico"], N_SITES // 2)
    assembly, signal = recordings(
        stimuli,
        n_neuroids=N_SITES,
        n_repetitions=8,
        noise=1.0,
        neuroid_coords={"animal": animals, "region": "IT"},
        time_bins=[(70, 170), (170, 270)],
    )
    rng = np.random.default_rng(0)
    assembly.values[:, ::8] = rng.normal(size=assembly.values[:, ::8].shape)
    assembly.values[np.ix_(assembly["repetition"].values >= 5, animals == "Pico")] = np.nan
    assembly["time_bin_id"] = "time_bin", [0, 1]
    stand_ins.data("Igustibagus2024", assembly, nans_expected=True)
    return signal[:, :, 0]


def test_only_reliable_sites_and_compared_images_are_loaded(truth):
    assembly = load_domain_transfer(average_repetitions=True)
    assert assembly.sizes == {"presentation": N_HVM + 11 * N_OTHERS, "neuroid": N_SITES - N_SITES // 8}
    assert set(assembly["object_style"].values) == {style or "original" for _, style in DOMAINS.values()} - {"skeleton"}
    assert set(assembly.stimulus_set["stimulus_id"]) == set(assembly["stimulus_id"].values)


def test_brain_reaches_its_ceiling_and_shuffled_does_not(truth):
    benchmark = load_benchmark("Igustibagus2024-ridge")
    assert (benchmark.version, benchmark.parent, benchmark.timebins) == (2, "IT", [(70, 170)])
    score = benchmark(PrecomputedFeatures(truth, visual_degrees=8))
    low, high = score.attrs["interval"]
    assert low <= 1 <= high
    assert high - low < 0.1
    assert float(score.ceiling) == pytest.approx((8 / 9 + 5 / 6) / 2, abs=0.03)  # the median is between two monkeys
    assert abs(float(benchmark(PrecomputedFeatures(shuffled(truth), visual_degrees=8)))) < 0.15


def test_training_and_test_share_no_backgrounds(truth):
    assembly = load_domain_transfer(average_repetitions=True)
    backgrounds = assembly["background_id"].values
    everything = np.arange(len(backgrounds))
    test = everything[::7]
    train, same = without_shared_backgrounds(np.setdiff1d(everything, test), test, assembly)
    assert np.array_equal(same, test)
    assert set(backgrounds[train]) & set(backgrounds[test]) == {0}
    assert (backgrounds[train] == 0).sum() == (backgrounds == 0).sum() - (backgrounds[test] == 0).sum()


def features_of(stimuli, values):
    return PrecomputedFeatures(assembly_of(values, stimulus_id=stimuli["stimulus_id"]), 8)


def test_objects_are_decoded_only_where_features_have_them(stimuli, truth):
    rng = np.random.default_rng(0)
    objects = (stimuli["object_label"].to_numpy()[:, None] == OBJECTS).astype(float)
    noisy = np.hstack([objects, rng.normal(size=(len(stimuli), 20))])
    abstract = Igustibagus2024Readout(n_splits=20)(features_of(stimuli, noisy))
    assert (abstract.attrs["raw"].attrs["raw"].dims, float(abstract)) == (
        ("domain", "split"),
        pytest.approx(1, abs=0.05),
    )
    only_photographs = noisy * (stimuli["object_style"].to_numpy() == "original")[:, None]
    literal = Igustibagus2024Readout(n_splits=20)(features_of(stimuli, only_photographs))
    of_domain = literal.attrs["raw"].attrs["raw"].mean("split")
    assert float(of_domain.sel(domain="hvm")) > 0.9
    assert float(of_domain.sel(domain="sketch")) < 0.6
    nothing = features_of(stimuli, rng.normal(size=(len(stimuli), 30)))
    assert float(Igustibagus2024Readout(n_splits=20)(nothing)) == pytest.approx(0.5, abs=0.05)
    again = Igustibagus2024Readout(n_splits=20)(nothing)
    assert float(again) == float(Igustibagus2024Readout(n_splits=20)(nothing))
    assert float(again) != float(Igustibagus2024Readout(n_splits=20, seed=1)(nothing))


def test_splits_are_balanced_and_keep_backgrounds_apart(stimuli):
    labels, backgrounds = stimuli["object_label"].to_numpy().astype(str), stimuli["background_id"].to_numpy()
    rows = domains_of(stimuli)
    for train, tests in splits_of(stimuli, labels, 5, np.random.default_rng(0)):
        assert np.unique(labels[tests["hvm"]], return_counts=True)[1].tolist() == [3] * 10
        assert sorted([*train, *tests["hvm"]]) == rows["hvm"].tolist()
        for domain in ("convex_hull", "outline", "skeleton", "silhouette"):
            assert len(tests[domain])
            assert not set(backgrounds[tests[domain]]) & set(backgrounds[train])


def test_classifier_matches_scikit_learn(stimuli):
    rng = np.random.default_rng(0)
    labels = stimuli["object_label"].to_numpy().astype(str)
    train = np.arange(N_HVM)
    for n_features in (20, 80):
        features = rng.normal(size=(len(stimuli), n_features))
        expected = make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=ALPHAS)).fit(features[train], labels[train])
        classes, outputs = outputs_of(features, labels, train)
        assert classes.tolist() == expected.classes_.tolist()
        np.testing.assert_allclose(outputs, expected.decision_function(features), atol=1e-8)


@pytest.mark.slow
def test_pixels_score_between_chance_and_the_brain(truth):
    assert 0.15 < float(load_benchmark("Igustibagus2024-ridge")(load_model("pixels"))) < 0.8
    assert float(Igustibagus2024Readout(n_splits=1)(load_model("pixels"))) == pytest.approx(0.5, abs=0.1)


@pytest.mark.memory_intense
@pytest.mark.private_access
@pytest.mark.slow
def test_published_numbers():
    assembly = load_domain_transfer(average_repetitions=True)
    assert assembly.sizes == {"presentation": 780, "neuroid": 110}
    StandardizedTests().self_regression_test(
        "Igustibagus2024-ridge", visual_degrees=8, expected=pytest.approx(1, abs=0.005)
    )
    images = load_stimulus_set("Igustibagus2024")
    chance = features_of(images, np.random.default_rng(0).random((len(images), 300)))
    assert float(load_benchmark("Igustibagus2024.IT_readout-accuracy")(chance)) == pytest.approx(0.5, abs=0.02)
