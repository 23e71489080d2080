import numpy as np
import pytest
from scipy.stats import norm

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric
from brainscore_vision.metrics.i1i2 import metric as plugin

# The published system's results for `experiment()`: score and ceiling, each with its deviation over repetitions.
PUBLISHED = {
    "I1": (0.7239331453503832, 0.024730431034198308, 0.8402161044902905, 0.04972094204481958),
    "I2n": (0.7143025035122867, 0.041994333662640326, 0.7929236434935969, 0.06313773942522277),
    "I1n": (0.6993362565380987, 0.029834917788706727, 0.850279398603333, 0.07664390160461027),
    "I2": (0.750094913185426, 0.03641422337511491, 0.7719149163336961, 0.06386493204486199),
    "O1": (0.865760275796909, 0.024549005087985798, 0.9210451875467701, 0.059255734122564685),
    "O2": (0.8953508214940725, 0.02013596269354323, 0.9270794420327468, 0.0378900211170527),
}


def experiment(seed=0, n_images=12, n_objects=4, n_trials=4000):
    rng = np.random.default_rng(seed)
    objects = np.array([f"obj{i:02d}" for i in range(n_objects)])
    truth = np.arange(n_images) % n_objects
    image = rng.integers(n_images, size=n_trials)
    distractor = (truth[image] + rng.integers(1, n_objects, size=n_trials)) % n_objects
    logits = rng.normal(size=(n_images, n_objects))
    logits[np.arange(n_images), truth] += 1.5
    right = 1 / (1 + np.exp(logits[image, distractor] - logits[image, truth[image]]))
    chosen = np.where(rng.random(n_trials) < right, truth[image], distractor)
    model = np.exp(logits + 0.7 * rng.normal(size=logits.shape))
    ids = np.array([f"im{i:04d}" for i in range(n_images)])
    order = rng.permutation(n_images)
    source = probabilities(model[order] / model[order].sum(axis=1, keepdims=True), ids[order], objects)
    return source, trials(objects[chosen], ids[image], objects[truth[image]], objects[distractor])


def probabilities(values, ids, objects):
    return answers_of(values, stimulus_id=ids, position=np.arange(len(ids)), choice=("choice", objects))


def trials(chosen, ids, truth, distractor):
    return answers_of(chosen, stimulus_id=ids, truth=truth, sample_obj=truth, dist_obj=distractor)


@pytest.mark.parametrize("name", PUBLISHED)
def test_scores_and_ceilings_agree_with_the_published_system(name):
    source, target = experiment()
    metric = getattr(plugin, name)(compat=True)
    score, ceiling = metric(source, target), metric.ceiling(target)
    found = float(score), score.attrs["error"], float(ceiling), ceiling.attrs["error"]
    np.testing.assert_allclose(found, PUBLISHED[name], rtol=1e-10)


def test_registered_metrics_describe_their_scores():
    source, target = experiment()
    for identifier, name in [("i1", "I1"), ("i2n", "I2n")]:
        score = load_metric(identifier)(source, target)
        assert float(score) == pytest.approx(PUBLISHED[name][0], rel=1e-10)
        notes = {key: score.attrs[key] for key in ("n_stimuli", "n_objects", "n_trials", "seed", "quantity")}
        assert notes == {"n_stimuli": 12, "n_objects": 4, "n_trials": 4000, "seed": 0, "quantity": "correlation"}
        assert score.raw.dims == ("split",)
        assert score.raw["split"].values.tolist() == [0, 1]
        assert load_metric(identifier).ceiling(target).attrs["quantity"] == "reliability"


def test_scores_match_hand_computed_values():
    """Two objects, four images, equal answers in both halves; each rate is a fraction of eight trials."""
    rates = {"a1": 2 / 8, "a2": 4 / 8, "b1": 1 / 8, "b2": 3 / 8}  # how often the other object is chosen
    ids, chosen, truth, other = [], [], [], []
    for image, rate in rates.items():
        sample, distractor = image[0], "b" if image[0] == "a" else "a"
        for trial in range(8):
            ids.append(image)
            chosen.append(distractor if trial < 8 * rate else sample)
            truth.append(sample)
            other.append(distractor)
    target = trials(*(np.tile(column, 200) for column in (chosen, ids, truth, other)))
    model = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6]])
    source = probabilities(model, list(rates), ["a", "b"])
    z = norm.ppf
    people = np.array([z(3 / 4) - z(1 / 4), z(1 / 2) - z(1 / 4), z(7 / 8) - z(3 / 8), z(5 / 8) - z(3 / 8)])
    own = np.array([z(0.9) - z(0.3), z(0.7) - z(0.3), z(0.8) - z(0.2), z(0.6) - z(0.2)])
    expected = np.corrcoef(own, people)[0, 1]
    assert float(plugin.I1()(source, target)) == pytest.approx(expected, abs=0.02)
    assert float(plugin.I2()(source, target)) == pytest.approx(expected, abs=0.02)
    center = np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1]]) / 2
    expected = np.corrcoef(center @ own, center @ people)[0, 1]
    assert float(plugin.I2n()(source, target)) == pytest.approx(expected, abs=0.02)


def test_halves_are_seeded_and_repetitions_extend_them():
    source, target = experiment()
    assert float(load_metric("i2n", seed=1)(source, target)) != float(load_metric("i2n")(source, target))
    metric = load_metric("i2n", repetitions=5)
    assert metric.ceiling(target).raw.sizes == {"split": 5}
    np.testing.assert_array_equal(metric(source, target).raw.values, metric(source, target).raw.values)
    # The first repetitions do not depend on how many follow.
    np.testing.assert_array_equal(metric(source, target).raw.values[:2], load_metric("i2n")(source, target).raw.values)


def test_ceiled_score_is_normalised_for_each_half():
    source, target = experiment()
    metric = load_metric("i2n")
    score, ceiling = metric(source, target), metric.ceiling(target)
    ceiled = metric.ceil_score(score, ceiling)
    expected = score.raw.values / np.sqrt(ceiling.raw.values)
    assert float(ceiled) == pytest.approx(expected.mean())
    published = load_metric("i2n", compat=True)
    parts = published(source, target), published.ceiling(target)
    assert published.ceil_score(*parts).attrs["error"] == pytest.approx(expected.std())
    assert ceiled.attrs["raw"] is score
    assert ceiled.attrs["ceiling"] is ceiling
    assert float(metric.aggregate(score.raw)) == pytest.approx(score.raw.values.mean())


def test_error_of_the_ceiled_score_is_the_jackknife_over_images():
    """Each image is left out by a metric that gets none of its trials; I2n does not mix images of different objects."""
    source, target = experiment(n_images=24, n_trials=12_000)
    metric = load_metric("i2n")
    ceiled = metric.ceil_score(metric(source, target), metric.ceiling(target))
    parts = metric(source, target).raw.attrs["left_out"], metric.ceiling(target).raw.attrs["left_out"]
    left_out = (parts[0].values / np.sqrt(parts[1].values)).mean(axis=0)
    assert left_out.shape == (24,)
    assert ceiled.attrs["error"] == pytest.approx(np.sqrt(23 * left_out.var()))
    low, high = ceiled.attrs["interval"]
    assert low < float(ceiled) < high
    assert ceiled.attrs["error_over"] == ["stimulus"]


def test_scores_without_left_out_values_have_no_error():
    source, target = experiment()
    metric = load_metric("i2n")
    score, ceiling = metric(source, target), metric.ceiling(target)
    del score.attrs["raw"].attrs["left_out"]
    ceiled = metric.ceil_score(score, ceiling)
    assert np.isnan(ceiled.attrs["error"])
    assert "do not say" in ceiled.attrs["error_nan_reason"]


def test_the_true_model_reaches_the_ceiling():
    rng = np.random.default_rng(0)
    objects, n = np.array(["a", "b", "c"]), 60
    truth = np.arange(n) % 3
    logits = rng.normal(size=(n, 3))
    logits[np.arange(n), truth] += 1
    image = rng.integers(n, size=20_000)
    distractor = (truth[image] + rng.integers(1, 3, size=len(image))) % 3
    right = 1 / (1 + np.exp(logits[image, distractor] - logits[image, truth[image]]))
    chosen = np.where(rng.random(len(image)) < right, truth[image], distractor)
    ids = np.array([f"i{i}" for i in range(n)])
    target = trials(objects[chosen], ids[image], objects[truth[image]], objects[distractor])
    metric = load_metric("i2n", repetitions=10)
    ceiled = metric.ceil_score(metric(probabilities(np.exp(logits), ids, objects), target), metric.ceiling(target))
    assert float(ceiled) == pytest.approx(1, abs=0.03)


def test_add_source_meta_writes_the_truth_of_each_image():
    source, target = experiment()
    before = source.copy(deep=True)
    shown = dict(zip(target["stimulus_id"].values, target["truth"].values, strict=True))
    metric = load_metric("i2n")
    assert metric.add_source_meta(source, target) is None
    assert source["truth"].values.tolist() == [shown[image] for image in source["stimulus_id"].values]
    assert source.sel(choice="obj01").identical(before.assign_coords(truth=source["truth"]).sel(choice="obj01"))
    np.testing.assert_array_equal(metric(source, target), metric(before, target))
    few = target.isel(presentation=np.flatnonzero(target["stimulus_id"].values != "im0003"))
    with pytest.raises(AssemblyError, match="1 of 12 images of the model are not in any trial, such as 'im0003'"):
        metric.add_source_meta(before, few)
    assert "truth" not in before.coords


def test_halves_without_trials_need_skipna():
    _, target = experiment(n_trials=160)
    with pytest.raises(AssemblyError, match="skipna=True"):
        load_metric("i2n").ceiling(target)
    assert -1 <= float(load_metric("i2n").ceiling(target, skipna=True)) <= 1


def test_rejects_unusable_probabilities_and_trials():
    source, target = experiment()
    metric = load_metric("i2n")
    with pytest.raises(AssemblyError, match="'im0000'"):
        metric(source, target.isel(presentation=target["stimulus_id"].values != "im0000"))
    with pytest.raises(AssemblyError, match=r"same choice.*'obj03'"):
        metric(source.isel(choice=slice(3)), target)
    broken = source.copy(deep=True)
    broken.values[2, 1] = np.nan
    with pytest.raises(AssemblyError, match="1 of 48 probabilities"):
        metric(broken, target)
    broken.values[2] = 0
    with pytest.raises(AssemblyError, match="both 0"):
        metric(broken, target)
    with pytest.raises(AssemblyError, match="probabilities"):
        metric(target, target)
    with pytest.raises(AssemblyError, match="each trial"):
        metric.ceiling(source)
    columns = {name: target[name].values.copy() for name in ("stimulus_id", "truth", "dist_obj")}
    columns["truth"][0] = next(name for name in source["choice"].values if name != columns["truth"][0])
    double = trials(target.values, columns["stimulus_id"], columns["truth"], columns["dist_obj"])
    with pytest.raises(AssemblyError, match="more than one true object"):
        metric(source, double)
    with pytest.raises(AssemblyError, match="'sample_obj'"):
        metric.ceiling(answers_of(target.values, stimulus_id=columns["stimulus_id"]))
    with pytest.raises(ValueError, match="at least once"):
        load_metric("i1", repetitions=0)
