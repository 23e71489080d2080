import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.uncertainty.intervals import (
    HeldOut,
    bootstrap_interval,
    half_sample_interval,
    raw_interval,
)


def correlation(source, target):
    return Score(np.corrcoef(source.values[:, 0], target.values[:, 0])[0, 1])


class LinearFit:
    """Two folds of a linear fit; the mean over folds of the median correlation."""

    def held_out(self, source, target):
        x, y = source.values, target.values
        parts = []
        for test in (np.arange(0, len(x), 2), np.arange(1, len(x), 2)):
            train = np.setdiff1d(np.arange(len(x)), test)
            weights = np.linalg.lstsq(x[train], y[train], rcond=None)[0]
            parts.append(HeldOut(x[test] @ weights, y[test], source["stimulus_id"].values[test]))
        return parts

    def __call__(self, source, target):
        medians = [
            np.median([np.corrcoef(p, m)[0, 1] for p, m in zip(part.prediction.T, part.measurement.T, strict=True)])
            for part in self.held_out(source, target)
        ]
        return Score(np.mean(medians))


def simulated(seed, n=120, m=25):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    y = x @ rng.standard_normal((3, m)) + 2 * rng.standard_normal((n, m))
    return assembly_of(x), assembly_of(y)


def test_coverage_of_a_correlation():
    held = widths = 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((81, 1))
        y = 0.5 * x + np.sqrt(0.75) * rng.standard_normal((81, 1))
        score = bootstrap_interval(correlation, assembly_of(x), assembly_of(y), over=["presentation"], n_resamples=60)
        low, high = score.attrs["interval"]
        held += low <= 0.5 <= high
        widths += (high - low) / 60
    assert 50 <= held <= 60
    assert widths == pytest.approx(2 * 1.96 * 0.75 / 9, rel=0.15)  # the textbook's


def test_coverage_where_stimuli_and_neuroids_both_vary():
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.standard_normal((40, 1)) + 0.7 * rng.standard_normal((1, 40)) + rng.standard_normal((40, 40))
        score = half_sample_interval(
            lambda _, target: target.values.mean(), assembly_of(y), assembly_of(y), n_resamples=60, seed=seed
        )
        held += score.attrs["interval"][0] <= 0 <= score.attrs["interval"][1]
    assert 50 <= held <= 60


def test_held_out_predictions_agree_with_fitting_anew():
    source, target = simulated(0)
    metric = LinearFit()
    fast = bootstrap_interval(metric, source, target)
    slow = half_sample_interval(metric, source, target)
    assert fast.attrs["interval_method"] == "held-out predictions"
    assert slow.attrs["interval_method"] == "half samples"
    assert fast.attrs["error"] == pytest.approx(slow.attrs["error"], rel=0.3)


def test_held_out_interval_is_as_wide_as_scores_scatter():
    scores, errors = [], []
    for seed in range(60):
        score = bootstrap_interval(LinearFit(), *simulated(seed), n_resamples=100)
        scores.append(float(score))
        errors.append(score.attrs["error"])
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.35)


def test_a_metric_that_summarises_in_another_way_is_computed_anew():
    class Mean(LinearFit):
        def __call__(self, source, target):
            return Score(float(super().__call__(source, target)) + 0.1)

    score = bootstrap_interval(Mean(), *simulated(0), n_resamples=10)
    assert score.attrs["interval_method"] == "half samples"


def test_a_metric_that_cannot_say_what_it_predicts_is_computed_anew():
    class Replaced(LinearFit):
        def held_out(self, source, target):
            raise NotImplementedError("replaced")

        def __call__(self, source, target):
            return correlation(source, target)

    class Backwards(LinearFit):
        def held_out(self, source, target):
            return super().held_out(target, source)

    source, target = simulated(0)
    for metric in (Replaced(), Backwards()):
        assert bootstrap_interval(metric, source, target, n_resamples=5).attrs["interval_method"] == "half samples"


@pytest.mark.parametrize("identifier", ["pls", "ridge"])
def test_regression_metrics_offer_their_predictions(identifier):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 30))
    y = x[:, :5] @ rng.standard_normal((5, 12)) + 3 * rng.standard_normal((120, 12))
    metric = load_metric(identifier)
    score = bootstrap_interval(metric, assembly_of(x), assembly_of(y))
    assert score.attrs["interval_method"] == "held-out predictions"
    assert float(score) == float(metric(assembly_of(x), assembly_of(y)))
    low, high = score.attrs["interval"]
    assert low < float(score) < high


def test_no_stimulus_is_in_a_half_twice_and_the_model_keeps_its_neuroids():
    seen = []

    def look(source, target, repetitions):
        ids = target["stimulus_id"].values
        assert len(set(ids)) == len(ids) == 10
        assert list(source["stimulus_id"].values) == list(ids)
        assert set(repetitions["stimulus_id"].values) == set(ids)
        assert repetitions.sizes["presentation"] == 20
        assert source.sizes["neuroid"] == 6
        assert list(target["neuroid_id"].values) == list(repetitions["neuroid_id"].values)
        seen.append(target.sizes["neuroid"])
        return 0.0

    values = np.random.default_rng(0).normal(size=(20, 6))
    repetitions = assembly_of(np.tile(values, (2, 1))).copy()
    ids = [f"s{i:02d}" for i in range(20)] * 2
    repetitions = assembly_of(np.tile(values, (2, 1)), stimulus_id=("presentation", ids))

    def first_whole(*parts):
        return 0.0 if parts[1].sizes["presentation"] == 20 else look(*parts)

    half_sample_interval(first_whole, assembly_of(values), assembly_of(values), repetitions, n_resamples=5)
    assert seen == [3] * 5


def test_any_coordinate_of_the_target():
    values = np.random.default_rng(0).normal(size=(6, 40))
    subjects = ("neuroid", np.repeat(list("abcdefgh"), 5))
    counts = []

    def count(_, target):
        counts.append(len(np.unique(target["subject"].values)))
        return float(target.values.mean())

    score = half_sample_interval(
        count,
        assembly_of(values, subject=subjects),
        assembly_of(values, subject=subjects),
        over=["subject"],
        n_resamples=4,
    )
    assert counts == [8, 4, 4, 4, 4]
    assert score.attrs["error_over"] == ["subject"]


def test_seeded_and_the_score_is_not_changed():
    source, target = simulated(1)
    first, again, other = (
        bootstrap_interval(correlation, source, target, n_resamples=20, seed=seed) for seed in (0, 0, 1)
    )
    assert first.attrs == again.attrs
    assert first.attrs["interval"] != other.attrs["interval"]
    assert float(first) == float(correlation(source, target))


def test_too_few_and_absent():
    values = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(AssemblyError, match="only 3"):
        bootstrap_interval(correlation, assembly_of(values), assembly_of(values))
    with pytest.raises(AssemblyError, match="subject"):
        bootstrap_interval(correlation, assembly_of(values), assembly_of(values), over=["subject"])


def test_raw_interval():
    values = np.random.default_rng(0).normal(0.5, 0.1, size=(10, 50))
    raw = Score(values, coords={"split": range(10), "neuroid_id": ("neuroid", range(50))}, dims=["split", "neuroid"])
    low, high = raw_interval(raw)
    assert low < np.median(values, axis=1).mean() < high
    assert raw_interval(raw.isel(split=[0])) == raw_interval(raw.isel(split=0))
    with pytest.raises(ValueError, match="level"):
        raw_interval(raw, level=95)
