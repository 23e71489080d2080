import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, sem

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric


def property_of(values, subjects=None):
    values = np.asarray(values, dtype=float)
    names = [f"p{i}" for i in range(len(values))] if subjects is None else subjects
    coords = {"subject": ("subject", names), "age": ("subject", np.arange(len(values)))}
    return PropertyAssembly(values, coords=coords, dims=["subject"])


def model(seed, mean, n_levels=12, n_each=60, lapse=0.05, shares=None):
    """Answers to a two-alternative task; the correct one becomes more likely with x."""
    rng = np.random.default_rng(seed)
    x = np.repeat(np.linspace(5, 75, n_levels), n_each)
    expected = norm.cdf(0.06 * (x - mean)) * (0.5 - lapse) + 0.5 if shares is None else np.repeat(shares, n_each)
    right = rng.random(len(x)) < expected
    label = np.where(rng.random(len(x)) < 0.5, "left", "right")
    left = (label == "left") == right
    values = np.column_stack([np.where(left, 0.8, 0.2), np.where(left, 0.2, 0.8)])
    return answers_of(values, x=x, image_label=label, choice=("choice", ["left", "right"]))


def people(seed, n):
    return np.random.default_rng(seed).uniform(20, 60, n).round(3)


def threshold(**kwargs):
    return load_metric("threshold", independent_variable="x", **kwargs)


def elevation(**kwargs):
    return load_metric(
        "threshold_elevation", independent_variable="x", baseline_condition="b", test_condition="t", **kwargs
    )


def test_scores_of_thresholds_match_hand_computed_values():
    target = property_of([10.0, 20.0, 40.0, 20.0])
    score = threshold()(10.0, target)
    assert score.raw.values.tolist() == [1, 0.5, 0.25, 0.5]
    assert float(score) == pytest.approx(0.5625)  # as published
    assert score.attrs["error"] == pytest.approx(sem([1, 0.5, 0.25, 0.5]))
    assert threshold(compat=True)(10.0, target).attrs["error"] == pytest.approx(np.std([1, 0.5, 0.25, 0.5]))
    assert float(score.raw.sel(subject="p2")) == 0.25
    assert (score.attrs["quantity"], score.attrs["n_subjects"], score.attrs["threshold"]) == ("share", 4, 10.0)
    assert float(elevation()(3.0, property_of([3.0, 2.0, 1.5, 5.0]))) == pytest.approx(0.525)  # as published
    assert float(elevation()(3.0, [3.0, 2.0, 1.5, 5.0])) == pytest.approx(0.525)
    assert float(threshold()(np.float64(90.0), [10.0])) == 0


def test_error_includes_the_models_stimuli():
    """The threshold is fitted again, from all starts, without every twentieth trial in order of stimulus strength."""
    answers, target = model(0, 30.0), people(0, 6)
    left_out = [
        threshold().read_threshold(answers[np.flatnonzero(np.arange(720) % 20 != group)])[0] for group in range(20)
    ]
    means = np.array([np.maximum(1 - np.abs(each - target) / target, 0).mean() for each in left_out])
    score = threshold()(answers, property_of(target))
    assert score.attrs["error"] == pytest.approx(np.hypot(sem(score.raw.values), np.sqrt(19 * means.var())), rel=1e-4)
    assert score.attrs["error_over"] == ["stimulus", "subject"]
    low, high = score.attrs["interval"]
    assert low < float(score) < high


def test_jackknife_leaves_out_all_presentations_of_a_stimulus():
    once = model(0, 30.0, n_each=20)
    ids = np.array([f"s{number:04d}" for number in range(240)])
    named = once.assign_coords(stimulus_id=("presentation", ids))
    thrice = named[np.repeat(np.arange(240), 3)]
    errors = [threshold()(each, [30.0, 40.0]).attrs["error"] for each in (named, thrice)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-4)
    assert threshold()(thrice.drop_vars("stimulus_id"), [30.0, 40.0]).attrs["error"] < errors[0]


def test_error_of_an_elevation_includes_both_conditions():
    score = elevation()({"b": model(0, 30.0), "t": model(1, 40.0)}, property_of([1.1, 1.4, 2.0]))
    exact = elevation()(score.attrs["elevation"], property_of([1.1, 1.4, 2.0]))
    assert float(exact) == float(score)
    assert score.attrs["error"] > exact.attrs["error"] == pytest.approx(sem(score.raw.values))
    assert exact.attrs["error_over"] == ["subject"]


def test_compute_threshold_returns_the_threshold_or_fit_fail():
    metric = threshold(threshold_accuracy=0.75)
    answers = model(0, 30)
    expected = metric(answers, [30.0]).attrs["threshold"]
    assert metric.compute_threshold(answers, "x") == expected
    renamed = answers.rename(x="strength")
    assert metric.compute_threshold(renamed, "strength") == expected
    with pytest.raises(AssemblyError, match="'x'"):
        metric.compute_threshold(renamed, "x")
    assert metric(answers, [30.0]).attrs["threshold"] == expected  # still uses x
    assert metric.compute_threshold(model(0, 30, shares=np.full(12, 0.5)), "x") == "fit_fail"


def test_elevation_reads_both_thresholds_at_the_same_accuracy():
    baseline, accuracy = threshold().read_threshold(model(0, 30.0))
    test, _ = threshold(threshold_accuracy=accuracy).read_threshold(model(1, 40.0))
    score = elevation()({"b": model(0, 30.0), "t": model(1, 40.0)}, [1.0])
    assert score.attrs["elevation"] == pytest.approx(test / baseline)


def test_ceiling_leaves_out_each_person_once():
    values = people(0, 6)
    ceiling = threshold().ceiling(property_of(values))
    expected = [float(threshold()(value, np.delete(values, i).tolist())) for i, value in enumerate(values)]
    np.testing.assert_allclose(ceiling.raw.values, expected)
    assert float(ceiling) == pytest.approx(np.mean(expected))
    assert ceiling.attrs["error"] > 0
    assert float(threshold().ceiling({"baseline_assembly": property_of(values)})) == float(ceiling)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), unit=st.floats(0.01, 100))
def test_score_does_not_depend_on_order_of_people_or_unit(seed, unit):
    values, order = people(seed, 5), np.random.default_rng(seed).permutation(5)
    names = np.array([f"p{i}" for i in range(5)])
    assert float(threshold()(30.0 * unit, values[order] * unit)) == pytest.approx(float(threshold()(30.0, values)))
    assert float(threshold().ceiling(values[order] * unit)) == pytest.approx(float(threshold().ceiling(values)))
    other = people(seed + 1, 5)
    target = {"baseline_assembly": property_of(values), "condition_assembly": property_of(other)}
    moved = {**target, "condition_assembly": property_of(other[order], names[order])}
    assert float(elevation()(1.2, moved)) == pytest.approx(float(elevation()(1.2, target)))


def test_models_without_a_threshold_score_zero_with_a_reason():
    chance = model(0, 1000.0)
    score = threshold()(chance, [30.0])
    assert float(score) == 0
    assert np.isnan(score.attrs["error"])
    assert score.attrs["error_nan_reason"] == "the model has no threshold"
    assert "below the required 0.600" in score.attrs["failure"]
    text = chance.assign_coords(x=("presentation", ["weak"] * 720))
    assert float(threshold()(text, [30.0])) == 0  # values that are not needed are not read
    worse = model(0, None, shares=[0.95, 0.95, *[0.6] * 10])
    assert "worse for good" in threshold()(worse, [30.0]).attrs["failure"]
    assert "variance" in threshold()(model(0, None, shares=[0.7] * 12), [30.0]).attrs["failure"]
    assert "not within" in threshold(threshold_accuracy=0.99)(model(0, 30.0), [30.0]).attrs["failure"]
    score = elevation()({"b": model(0, 30.0), "t": chance}, [1.5])
    assert float(score) == 0
    assert np.isnan(score.attrs["error"])
    assert score.attrs["error_nan_reason"] == "the model has no threshold"
    assert "accuracy" in score.attrs["failure"]
    one = model(0, 30.0)
    one = one.isel(presentation=one["x"].values == 75)
    assert "one level" in threshold()(one, [30.0]).attrs["failure"]


def test_rejects_unusable_thresholds_and_answers():
    with pytest.raises(AssemblyError, match="1 of 2 human thresholds"):
        threshold()(10.0, [10.0, np.nan])
    with pytest.raises(AssemblyError, match="1 of 2 human thresholds"):
        threshold()(10.0, property_of([10.0, 0.0]))
    with pytest.raises(AssemblyError, match="two subjects"):
        threshold().ceiling([10.0])
    with pytest.raises(AssemblyError, match="'y'"):
        load_metric("threshold", independent_variable="y")(model(0, 30.0), [30.0])
    with pytest.raises(AssemblyError, match="finite numbers"):
        threshold()(model(0, 30.0).assign_coords(x=("presentation", ["weak"] * 720)), [30.0])
    with pytest.raises(AssemblyError, match="text 'fast'; expected an assembly"):
        threshold()("fast", [30.0])
    with pytest.raises(AssemblyError, match=r"\['t'\] missing"):
        elevation()({"b": model(0, 30.0)}, [1.5])
    with pytest.raises(AssemblyError, match="condition_assembly"):
        elevation()(1.5, {"baseline_assembly": property_of([1.0])})
    with pytest.raises(AssemblyError, match="baseline_assembly"):
        threshold()(1.5, {"condition_assembly": property_of([1.0])})
    with pytest.raises(AssemblyError, match="subject"):
        elevation()(1.5, {"baseline_assembly": property_of([1.0]), "condition_assembly": property_of([1.0], ["q"])})
    with pytest.raises(ValueError, match="between 0 and 1"):
        threshold(threshold_accuracy=75)
    with pytest.raises(ValueError, match="between 0 and 1"):
        elevation(threshold_accuracy="steepest")
