import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.metric_helpers.regression.estimators import PLS, PearsonR, Ridge
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression


def assembly(values, *, ids=None, neuroids=None, region=True):
    neuroid_id = ("neuroid", range(values.shape[1]) if neuroids is None else neuroids)
    coords = {"neuroid_id": neuroid_id, **({} if region else {"region": None})}
    return assembly_of(values, **coords) if ids is None else assembly_of(values, **coords, stimulus_id=ids)


def pair(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 6))
    return assembly(x), assembly(x @ rng.normal(size=(6, 4)) + 2)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(1e-9), PLS(6)])
def test_regression_aligns_stimuli_and_labels_the_prediction(estimator):
    source, target = pair()
    regression = XarrayRegression(estimator)
    regression.fit(source, target.isel(presentation=np.random.default_rng(1).permutation(30)))
    prediction = regression.predict(source.isel(presentation=[5, 2, 9]))
    assert isinstance(prediction, NeuroidAssembly)
    np.testing.assert_allclose(prediction.values, target.values[[5, 2, 9]], atol=1e-6)
    assert prediction["stimulus_id"].values.tolist() == ["s05", "s02", "s09"]
    assert prediction["region"].values.tolist() == ["IT"] * 4
    assert prediction["neuroid_id"].values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(1e-9), PLS(6)])
def test_a_neuroid_constant_in_training_is_predicted_as_constant(estimator):
    source, target = pair()
    target.values[:, [1, 3]] = [0.1, 1e5 / 3]
    regression = XarrayRegression(estimator)
    regression.fit(source, target)
    prediction = regression.predict(source).values
    assert (prediction[:, [1, 3]] == [0.1, 1e5 / 3]).all()
    assert (prediction[:, [0, 2]].std(axis=0) > 1).all()


def test_a_single_neuroid_keeps_its_name():
    source, target = pair()
    lone = assembly(target.values[:, :1], neuroids=["n7"], region=False)
    regression = XarrayRegression(PLSRegression(2))
    regression.fit(source, lone)
    prediction = regression.predict(source)
    assert prediction.shape == (30, 1)
    assert prediction["neuroid_id"].values.tolist() == ["n7"]


def test_regression_rejects_other_stimuli_dimensions_and_nan():
    source, target = pair()
    regression = XarrayRegression(LinearRegression())
    with pytest.raises(RuntimeError, match="fitted"):
        regression.predict(source)
    with pytest.raises(AssemblyError, match="'s29'"):
        regression.fit(source.isel(presentation=slice(29)), target)
    with pytest.raises(AssemblyError, match="dimensions"):
        regression.fit(source, target.isel(neuroid=0))
    broken = assembly(np.where(np.arange(6) == 2, np.nan, source.values))
    with pytest.raises(AssemblyError, match="30 NaN"):
        regression.fit(broken, target)


@pytest.mark.parametrize("correlation", [pearsonr, PearsonR()])
def test_correlation_aligns_both_dimensions(correlation):
    rng = np.random.default_rng(0)
    one, two = assembly(rng.normal(size=(20, 5))), assembly(rng.normal(size=(20, 5)))
    stimuli, neuroids = rng.permutation(20), rng.permutation(5)
    score = XarrayCorrelation(correlation)(one, two.isel(presentation=stimuli, neuroid=neuroids))
    expected = [pearsonr(one.values[:, i], two.values[:, i])[0] for i in range(5)]
    np.testing.assert_allclose(score.values, expected, atol=1e-12)
    assert score["neuroid_id"].values.tolist() == [0, 1, 2, 3, 4]
    assert score.dims == ("neuroid",)


def test_correlation_rejects_other_neuroids():
    rng = np.random.default_rng(0)
    one = assembly(rng.normal(size=(20, 2)), neuroids=["a", "b"])
    with pytest.raises(AssemblyError, match="neuroid_id"):
        XarrayCorrelation(PearsonR())(one, assembly(one.values, neuroids=["a", "c"]))


def test_correlation_receives_the_target_first():
    _, two = pair()
    seen = []
    XarrayCorrelation(lambda x, y: (seen.append((x, y)), (0.0, 1.0))[1])(two, two * 2)
    np.testing.assert_array_equal(seen[0][0], 2 * two.values[:, 0])


def test_external_regressions_receive_assemblies():
    class Named(LinearRegression):
        def fit(self, x, y):
            self.seen = [x, y]
            return super().fit(x.values, y.values)

        def predict(self, x):
            self.seen.append(x)
            return super().predict(x.values)

    source, target = pair()
    regression = XarrayRegression(Named())
    regression.fit(source.isel(presentation=slice(None, None, -1)), target.T)
    regression.predict(source.isel(neuroid=[5, 4, 3, 2, 1, 0]))
    x, y, later = regression.estimator.seen
    assert x.dims == y.dims == ("presentation", "neuroid")
    assert x["stimulus_id"].values.tolist() == y["stimulus_id"].values.tolist() == source["stimulus_id"].values.tolist()
    assert x["region"].values.tolist() == ["IT"] * 6
    assert later["neuroid_id"].values.tolist() == [5, 4, 3, 2, 1, 0]
