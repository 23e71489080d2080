import sys

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric

TIMES = np.arange(70, 150, 10)


def data(n=90, p=30, classes=3, seed=0, spread=25.0):
    """Make responses (bins, images, neuroids): the object of each image appears at a different time."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    onset = rng.uniform(110 - spread, 110 + spread, size=n)
    ramp = 1 / (1 + np.exp(-(TIMES[:, None] - onset) / 8))
    objects = rng.normal(size=(classes, p))
    responses = ramp[:, :, None] * objects[labels] + 0.7 * rng.normal(size=(len(TIMES), n, p))
    return responses, labels, onset + 30, np.full(n, 1.0)


def assemblies(responses, labels, times, threshold, order=None):
    order = np.arange(len(labels)) if order is None else order
    ids = np.array([f"image{i:03d}" for i in range(len(labels))])
    names = np.array([f"object{i}" for i in labels])
    starts = TIMES[: len(responses)]
    bins = {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", starts + 10)}
    source = assembly_of(responses.transpose(1, 2, 0), stimulus_id=ids, image_label=names, **bins)
    columns = {"stimulus_id": ids, "image_label": names, "i1": threshold}
    coords = {name: ("presentation", values[order]) for name, values in columns.items()}
    return source, DataAssembly(times[order], coords=coords, dims=["presentation"])


def i1_by_hand(probabilities, truth):
    """Distinguish each image from the images of each other object, one at a time."""
    result = []
    n_objects = probabilities.shape[1]
    wrong = probabilities / (probabilities + probabilities[np.arange(len(truth)), truth][:, None])
    for image, own in enumerate(truth):
        dprimes = []
        for other in range(n_objects):
            reverse = [wrong[i, own] for i in range(len(truth)) if truth[i] == other]
            if other == own or not reverse:
                continue
            difference = norm.ppf(1 - wrong[image, other]) - norm.ppf(np.mean(reverse))
            dprimes.append(np.clip(difference, -5, 5))
        result.append(np.mean(dprimes))
    return np.array(result)


def test_score_matches_a_step_by_step_computation():
    responses, labels, times, threshold = data(n=40)
    times[::7] = np.nan
    score = load_metric("ost")(*assemblies(responses, labels, times, threshold))
    raw, unsolved = [], 0
    for train, test in ShuffleSplit(10, test_size=0.1, random_state=1).split(np.zeros(40)):
        last, found = np.full(len(test), np.nan), np.full(len(test), np.nan)
        best = np.full(len(test), -np.inf)
        for time, values in zip(TIMES, responses, strict=True):
            scaler = StandardScaler().fit(values[train])
            parts = [np.column_stack([scaler.transform(values[part]), np.ones(len(part))]) for part in (train, test)]
            decoder = LogisticRegression(C=1 / (0.463 * len(train)), fit_intercept=False, tol=1e-10, max_iter=10_000)
            accuracy = i1_by_hand(decoder.fit(parts[0], labels[train]).predict_proba(parts[1]), labels[test])
            for image, value in enumerate(accuracy):
                if not np.isnan(found[image]):
                    continue
                if value >= 1.0:
                    found[image] = time
                    if not np.isnan(last[image]):
                        part = (1.0 - best[image]) / (value - best[image])
                        found[image] = last[image] + part * (time - last[image])
                elif value > best[image]:
                    last[image], best[image] = time, value
        both = ~np.isnan(found) & ~np.isnan(times[test])
        raw.append(spearmanr(found[both], times[test][both])[0] if both.sum() > 1 else np.nan)
        unsolved += int(np.isnan(found).sum())
    np.testing.assert_allclose(score.attrs["raw"].values, raw, atol=1e-9)
    assert float(score) == pytest.approx(np.nanmean(raw))
    defined = np.array(raw)[~np.isnan(raw)]  # splits without a correlation do not reduce the error
    assert score.attrs["split_error"] == pytest.approx(np.std(defined, ddof=1) / np.sqrt(len(defined)))
    assert score.attrs["error_over"] == ["stimulus"]
    expected = {"n_stimuli": 40, "n_unsolved": unsolved, "n_undefined": int(np.isnan(raw).sum()), "seed": 1}
    assert {name: score.attrs[name] for name in expected} == expected
    assert score.attrs["quantity"] == "correlation"


def test_solving_images_in_the_same_order_scores_high():
    responses, labels, times, threshold = data(n=240, p=60)
    assert float(load_metric("ost")(*assemblies(responses, labels, times, threshold))) > 0.7
    shuffled = np.random.default_rng(0).permutation(times)
    assert abs(float(load_metric("ost")(*assemblies(responses, labels, shuffled, threshold)))) < 0.25


def test_brief_training_equals_the_published_one():
    # OSTCorrelation of brainscore_vision 2.4.2 (TensorFlow 2.16) on these data, with this code's initial weights for
    # seed 0 and objects numbered in alphabetical order.
    rng = np.random.default_rng(0)
    times = np.arange(70, 190, 10)
    labels = np.arange(240) % 6
    objects = rng.normal(size=(6, 60))
    onset = rng.uniform(90, 170, size=240)
    ramp = 1 / (1 + np.exp(-(times[:, None] - onset) / 10))
    responses = ramp[:, :, None] * objects[labels] + rng.normal(size=(240, 60)) + rng.normal(size=(12, 240, 60))
    solved = onset + 20 + 15 * rng.normal(size=240)
    solved[rng.random(240) < 0.1] = np.nan
    threshold = np.clip(rng.normal(1.5, 0.6, size=240), 0.3, 4)
    order = np.random.default_rng(5).permutation(240)
    ids = np.array([f"im{i:04d}" for i in range(240)])
    bins = {"time_bin_start": ("time_bin", times), "time_bin_end": ("time_bin", times + 10)}
    names = [f"obj{i}" for i in labels]
    source = assembly_of(responses.transpose(1, 2, 0), stimulus_id=ids, image_label=names, **bins)
    coords = {"stimulus_id": ("presentation", ids[order]), "i1": ("presentation", threshold[order])}
    target = DataAssembly(solved[order], coords=coords, dims=["presentation"])
    published = load_metric("ost", compat=True)(source, target)
    assert float(published) == pytest.approx(0.13994734929721403, abs=1e-9)
    assert published.attrs["n_unsolved"] == 197
    assert float(load_metric("ost")(source, target)) > 0.3


@pytest.mark.slow
def test_error_is_over_images():
    """Splits share their images: over data sets, the score varies more than the error over splits indicates."""
    scores = []
    for seed in range(25):
        responses, labels, times, threshold = data(seed=seed, n=120)
        times = times + 25 * np.random.default_rng(seed).normal(size=len(times))
        scores.append(load_metric("ost")(*assemblies(responses, labels, times, threshold)))
    spread = np.std([float(score) for score in scores], ddof=1)
    error, over_splits = (np.mean([score.attrs[name] for score in scores]) for name in ("error", "split_error"))
    assert error == pytest.approx(spread, rel=0.3)
    assert over_splits < 0.8 * spread


def test_static_models_and_unsolved_images_have_no_score():
    responses, labels, times, threshold = data(n=40)
    static = np.repeat(responses[-1:], 8, axis=0)
    score = load_metric("ost")(*assemblies(static, labels, times, threshold))
    assert np.isnan(float(score))
    assert score.attrs["n_undefined"] == 10
    nothing = load_metric("ost")(*assemblies(responses, labels, times * np.nan, threshold))
    assert np.isnan(float(nothing))
    assert np.isnan(nothing.attrs["error"])
    assert "fewer than two images" in nothing.attrs["error_nan_reason"]


def test_blocks_of_time_bins_give_equal_scores(monkeypatch):
    parts = data(n=40)
    metric = load_metric("ost")
    base = metric(*assemblies(*parts))
    monkeypatch.setattr(sys.modules[type(metric).__module__], "_BLOCK_BYTES", 1)
    np.testing.assert_allclose(metric(*assemblies(*parts)).attrs["raw"].values, base.attrs["raw"].values, atol=1e-9)
    one = metric(*assemblies(parts[0][-1:], *parts[1:]))
    assert np.isnan(float(one))


def test_rejects_missing_time_bins_images_and_thresholds():
    responses, labels, times, threshold = data(n=40)
    source, target = assemblies(responses, labels, times, threshold)
    metric = load_metric("ost")
    with pytest.raises(AssemblyError, match="several time bins"):
        metric(source.isel(time_bin=0, drop=True), target)
    with pytest.raises(AssemblyError, match="image039"):
        metric(source.isel(presentation=slice(39)), target)
    ids = {name: ("presentation", target[name].values) for name in ("stimulus_id", "image_label")}
    with pytest.raises(AssemblyError, match="'i1'"):
        metric(source, DataAssembly(times, coords=ids, dims=["presentation"]))
    with pytest.raises(AssemblyError, match="label_coord='object_name'"):
        load_metric("ost", label_coord="category")(source, target)
    responses[2, 3, 4] = np.nan
    with pytest.raises(AssemblyError, match="finite"):
        metric(*assemblies(responses, labels, times, threshold))
