import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Ridge as ScikitRidge
from sklearn.model_selection import StratifiedShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.metric_helpers import temporal
from brainscore_vision.metric_helpers.regression import metrics
from brainscore_vision.metric_helpers.regression import on_assemblies as over_time
from brainscore_vision.metric_helpers.regression.estimators import PLS, PearsonR, Ridge
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression

FEW = {"splits": 2, "train_size": 0.8}
BOTH = [metrics.SpanTimeCrossRegressedCorrelation, metrics.PerTimeCrossRegressedCorrelation]


def timed(values, prefix, seed=0):
    """Label values of shape (bins, stimuli, neuroids)."""
    bins, n, q = values.shape
    names = [f"{prefix}{i:02d}" for i in np.random.default_rng(seed).permutation(q)]
    return assembly_of(
        values.transpose(1, 2, 0),
        stimulus_id=[f"s{i:03d}" for i in range(n)],
        object_name=[f"o{i % 3}" for i in range(n)],
        neuroid_id=("neuroid", names),
        time_bin_start=("time_bin", 70 + 10 * np.arange(bins)),
        time_bin_end=("time_bin", 80 + 10 * np.arange(bins)),
    )


def data(n=40, p=8, q=3, bins=4, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(bins, n, p))
    return x, x @ rng.normal(size=(p, q)) + noise * rng.normal(size=(bins, n, q)) + 2


def pair(**kwargs):
    x, y = data(**kwargs)
    return timed(x, "u"), timed(y, "n")


def make(kind, estimator=None, **kwargs):
    return kind(XarrayRegression(estimator or Ridge(1.0)), XarrayCorrelation(PearsonR()), {"compat": True, **kwargs})


def splits_of(n):
    return StratifiedShuffleSplit(10, train_size=0.9, random_state=1).split(
        np.zeros(n), [f"o{i % 3}" for i in range(n)]
    )


@pytest.mark.parametrize(
    ("estimator", "oracle"),
    [(Ridge(0.5), ScikitRidge(0.5)), (PLS(4), PLSRegression(4, scale=False)), (None, ScikitRidge(1.0))],
)
def test_span_time_equals_scikit_learn(estimator, oracle):
    x, y = data()
    source, target = timed(x, "u"), timed(y, "n")
    score = make(metrics.SpanTimeCrossRegressedCorrelation, estimator)(source, target)
    raw = np.empty((10, 4, 3))
    for split, (train, test) in enumerate(splits_of(40)):
        oracle.fit(np.concatenate(x[:, train]), np.concatenate(y[:, train]))
        for time in range(4):
            predicted = oracle.predict(x[time, test])
            raw[split, time] = [pearsonr(predicted[:, i], y[time, test, i])[0] for i in range(3)]
    raw = raw[:, :, np.argsort(target["neuroid_id"].values)]
    np.testing.assert_allclose(score.attrs["raw"].values, raw, atol=1e-8)
    medians = np.median(raw, axis=2)
    np.testing.assert_allclose(score.values, medians.mean(axis=0), atol=1e-8)
    np.testing.assert_allclose(score.attrs["split_error"].values, medians.std(axis=0, ddof=1) / np.sqrt(10), atol=1e-8)
    assert (score.attrs["error"].values > 0).all()
    assert score.dims == ("time_bin",)
    assert score.attrs["raw"].dims == ("split", "time_bin", "neuroid")
    assert score.attrs["raw"]["neuroid_id"].values.tolist() == sorted(target["neuroid_id"].values)
    assert score["time_bin_start"].values.tolist() == [70, 80, 90, 100]
    expected = {"n_stimuli": 40, "n_neuroids": 3, "seed": 1, "stratified_by": "object_name", "quantity": "correlation"}
    assert {name: score.attrs[name] for name in expected} == expected


@pytest.mark.parametrize("estimator", [Ridge(0.5), PLS(4)])
def test_per_time_equals_the_plain_metric_in_every_bin(estimator):
    source, target = pair(p=20, n=45)
    score = make(metrics.PerTimeCrossRegressedCorrelation, estimator)(source, target)
    plain = make(metrics.CrossRegressedCorrelation, estimator)
    for time in range(4):
        one = plain(source.isel(time_bin=time, drop=True), target.isel(time_bin=time, drop=True))
        assert score.values[time] == pytest.approx(float(one), abs=1e-12)
        np.testing.assert_allclose(score.attrs["raw"].values[:, time], one.attrs["raw"].values, atol=1e-12)
        for error in ("error", "split_error"):
            assert score.attrs[error].values[time] == pytest.approx(one.attrs[error])
        np.testing.assert_allclose(score.attrs["interval"].values[time], one.attrs["interval"])


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("with_time", [True, False])
def test_a_single_time_bin_equals_the_plain_metric(kind, with_time):
    source, target = pair(bins=1)
    plain = make(metrics.CrossRegressedCorrelation)(source, target)
    if not with_time:
        source, target = source.isel(time_bin=0, drop=True), target.isel(time_bin=0, drop=True)
    score = make(kind)(source, target)
    assert score.ndim == 0
    assert float(score) == float(plain)
    assert score.attrs["error"] == plain.attrs["error"]


def test_equal_bins_have_equal_scores_and_the_weights_of_one():
    x, y = data(bins=1)
    source, target = timed(np.repeat(x, 3, axis=0), "u"), timed(np.repeat(y, 3, axis=0), "n")
    per_bin = make(metrics.PerTimeCrossRegressedCorrelation)(source, target)
    assert np.ptp(per_bin.values) == pytest.approx(0, abs=1e-12)
    # Three copies of every observation with three times the penalty equal one copy with the penalty.
    spanned = make(metrics.SpanTimeCrossRegressedCorrelation, Ridge(3.0))(source, target)
    np.testing.assert_allclose(spanned.attrs["raw"].values, per_bin.attrs["raw"].values, atol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("n", "p", "q", "bins"), [(40, 8, 3, 4), (30, 1, 2, 3), (15, 30, 20, 5)])
def test_kernels_equal_separate_fits_of_each_split(kind, n, p, q, bins):
    source, target = pair(n=n, p=p, q=q, bins=bins)
    own = make(kind, Ridge(0.7), **FEW)(source, target)
    theirs = make(kind, ScikitRidge(0.7), **FEW)(source, target)
    np.testing.assert_allclose(theirs.attrs["raw"].values, own.attrs["raw"].values, atol=1e-9)
    np.testing.assert_allclose(theirs.values, own.values, atol=1e-9)
    np.testing.assert_allclose(theirs.attrs["split_error"].values, own.attrs["split_error"].values, atol=1e-9)
    assert theirs.dims == own.dims == ("time_bin",)
    assert own.attrs["raw"].shape == (2, bins, q)
    assert theirs.attrs["n_neuroids"] == q


def test_constant_bins_have_no_score():
    x, y = data(q=4)
    y[0] = 0.0
    y[1, :, 2] = 5.0
    source, target = timed(x, "u"), timed(y, "n")
    per_bin = make(metrics.PerTimeCrossRegressedCorrelation)(source, target)
    assert np.isnan(per_bin.values).tolist() == [True, False, False, False]
    assert np.isnan(per_bin.attrs["raw"].values[:, 1]).sum() == 10
    spanned = make(metrics.SpanTimeCrossRegressedCorrelation)(source, target)
    assert np.isnan(spanned.values).tolist() == [True, False, False, False]
    assert spanned.attrs["n_neuroids"] == 4
    y[:] = 1.0
    for kind in BOTH:
        with pytest.raises(AssemblyError, match="No neuroid"):
            make(kind)(source, timed(y, "n"))


@pytest.mark.parametrize("kind", BOTH)
def test_rejects_absent_bins_other_stimuli_and_nan(kind):
    x, y = data()
    source, target = timed(x, "u"), timed(y, "n")
    metric = make(kind)
    with pytest.raises(AssemblyError, match="start_recording"):
        metric(source.isel(time_bin=0, drop=True), target)
    with pytest.raises(AssemblyError, match="start_recording"):
        metric(source, target.isel(time_bin=0, drop=True))
    with pytest.raises(AssemblyError, match="100 to 110"):
        metric(source.isel(time_bin=[0, 1, 2]), target)
    with pytest.raises(AssemblyError, match="s039"):
        metric(source.isel(presentation=slice(39)), target)
    for place, message in ((0, "activations, must be finite"), (1, "NaN or infinite")):
        broken = [x.copy(), y.copy()]
        broken[place][1, 5, 0] = np.nan
        with pytest.raises(AssemblyError, match=message):
            metric(timed(broken[0], "u"), timed(broken[1], "n"))


@pytest.mark.parametrize("kind", BOTH)
def test_an_overridden_step_is_used(kind):
    class Largest(kind):
        def aggregate(self, scores):
            return scores.max("neuroid")

    source, target = pair()
    score = make(Largest, **FEW)(source, target)
    raw = make(kind, **FEW)(source, target).attrs["raw"].values
    np.testing.assert_allclose(score.values, raw.max(axis=2).mean(axis=0), atol=1e-9)


def test_span_time_regression_shares_weights():
    x, y = data(noise=0.0)
    source, target = timed(x, "u"), timed(y, "n")
    regression = over_time.SpanTimeRegression(XarrayRegression(LinearRegression()))
    regression.fit(source.isel(time_bin=[2, 0, 3, 1]), target)
    prediction = regression.predict(source.isel(presentation=[5, 2], time_bin=[3, 1]))
    assert prediction.dims == ("time_bin", "presentation", "neuroid")
    np.testing.assert_allclose(prediction.values, y[[3, 1]][:, [5, 2]], atol=1e-9)
    assert prediction["time_bin_start"].values.tolist() == [100, 80]
    assert prediction["stimulus_id"].values.tolist() == ["s005", "s002"]
    assert prediction["neuroid_id"].values.tolist() == target["neuroid_id"].values.tolist()


def test_per_time_regression_has_separate_weights_for_each_bin():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 20, 4))
    y = np.einsum("tnp,tpq->tnq", x, rng.normal(size=(3, 4, 2)))
    inner = XarrayRegression(LinearRegression())
    regression = over_time.PerTimeRegression(inner)
    with pytest.raises(RuntimeError, match="fitted"):
        regression.predict(timed(x, "u"))
    regression.fit(timed(x, "u"), timed(y, "n"))
    prediction = regression.predict(timed(x, "u").isel(time_bin=[1, 2, 0], presentation=[3, 4]))
    np.testing.assert_allclose(prediction.values, y[:, [3, 4]], atol=1e-9)
    assert prediction["time_bin_start"].values.tolist() == [70, 80, 90]
    with pytest.raises(RuntimeError, match="fitted"):
        inner.predict(timed(x, "u").isel(time_bin=0))
    with pytest.raises(AssemblyError, match="time_bin"):
        regression.predict(timed(x, "u").isel(time_bin=[0, 1]))


def test_average_over_presentation_keeps_the_raw_score():
    score = Score(np.arange(6.0).reshape(2, 3), dims=["presentation", "time_bin"])
    average = over_time.average_over_presentation(score)
    np.testing.assert_array_equal(average.values, [1.5, 2.5, 3.5])
    assert average.attrs["raw"] is score


@pytest.mark.parametrize("kind", BOTH)
def test_held_out_predictions_need_a_single_time_bin(kind):
    source, target = pair(bins=1)
    parts = make(kind).held_out(source, target)
    assert [part.prediction.shape for part in parts] == [(4, 3)] * 10
    with pytest.raises(NotImplementedError, match="time_bin"):
        make(kind).held_out(*pair())


def test_composing_the_parts_equals_the_metric():
    """Plugins written elsewhere compose the temporal metrics from their parts."""
    source, target = pair()
    composed = metrics.CrossRegressedCorrelation(
        over_time.SpanTimeRegression(XarrayRegression(Ridge(1.0))),
        temporal.PerTime(XarrayCorrelation(PearsonR())),
        {"compat": True},
    )
    own = make(metrics.SpanTimeCrossRegressedCorrelation)
    np.testing.assert_allclose(composed(source, target).values, own(source, target).values, atol=1e-10)
    silent = target.copy(data=np.where(np.arange(target.sizes["neuroid"])[None, :, None] == 1, 2.0, target.values))
    assert composed(source, silent).attrs["neuroids_left_out"] == own(source, silent).attrs["neuroids_left_out"]


@pytest.mark.parametrize("kind", BOTH)
def test_small_test_sets_are_pooled_before_correlating(kind):
    """Each bin is separate, and the predictions of each fit are in units of their own spread."""
    source, target = pair()
    score = kind(XarrayRegression(Ridge(0.5)), XarrayCorrelation(PearsonR()))(source, target)
    x, y = (side.transpose("time_bin", "presentation", "neuroid").values for side in (source, target))
    predicted, measured = [], []
    for train, test in splits_of(len(source)):
        if kind is metrics.SpanTimeCrossRegressedCorrelation:
            flat = [side[:, train].reshape(-1, side.shape[2]) for side in (x, y)]
            fitted = [ScikitRidge(0.5).fit(*flat)] * len(x)
        else:
            fitted = [ScikitRidge(0.5).fit(x[b][train], y[b][train]) for b in range(len(x))]
        both = np.stack([fitted[b].predict(x[b]) for b in range(len(x))])
        predicted.append(((both - both.mean(axis=1, keepdims=True)) / both.std(axis=1, keepdims=True))[:, test])
        measured.append(y[:, test])
    one, two = np.concatenate(predicted, axis=1), np.concatenate(measured, axis=1)
    r = [[pearsonr(one[b, :, j], two[b, :, j])[0] for j in range(y.shape[2])] for b in range(len(x))]
    assert score.attrs["raw"].sizes["split"] == 1
    np.testing.assert_allclose(np.sort(score.values), np.sort(np.median(r, axis=1)), atol=1e-8)
    assert "small_test_sets" in score.attrs
