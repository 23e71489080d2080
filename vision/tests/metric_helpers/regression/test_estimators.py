import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Ridge as ScikitRidge
from sklearn.linear_model import RidgeCV as ScikitRidgeCV
from sklearn.model_selection import KFold

from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.regression.estimators import (
    PLS,
    LeastSquares,
    OneToOne,
    PearsonR,
    Ridge,
    RidgeCV,
)

ALPHAS = [0.1, 1.0, 10.0, 100.0]
LINEAR = {
    "pls": (PLS(3), PLSRegression(3, scale=False)),
    "ridge": (Ridge(2.0), ScikitRidge(2.0)),
    "least squares": (LeastSquares(), LinearRegression()),
    "ridge, chosen": (RidgeCV(ALPHAS), ScikitRidgeCV(ALPHAS)),
    "ridge, chosen for each": (RidgeCV(ALPHAS, alpha_per_target=True), ScikitRidgeCV(ALPHAS, alpha_per_target=True)),
}
ALL = {**{name: ours for name, (ours, _) in LINEAR.items()}, "one to one": OneToOne()}


def data(n=40, p=15, q=4):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p)) + 1
    return x, x @ rng.normal(size=(p, q)) + rng.normal(size=(n, q))


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("p", [15, 70])
def test_fits_and_coefficients_equal_scikit_learn(name, p):
    ours, reference = LINEAR[name]
    x, y = data(p=p)
    assert ours.fit(x, y) is ours
    reference.fit(x, y)
    np.testing.assert_allclose(ours.predict(x[:5]), reference.predict(x[:5]), atol=1e-9)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, reference.predict(np.zeros((1, p)))[0], atol=1e-8)
    assert getattr(ours, "alpha_", None) == pytest.approx(getattr(reference, "alpha_", None))


@pytest.mark.parametrize("name", ALL)
def test_splits_and_blocks_equal_fit_and_predict(name, monkeypatch):
    monkeypatch.setattr("brainscore_vision.metric_helpers.arrays.column_blocks.BLOCK_BYTES", 8 * 40 * 2)
    x, y = data()
    splits = list(KFold(4).split(x))
    regression = ALL[name]
    together = regression.predict_splits(x, y, splits)
    for prediction, (train, test) in zip(together, splits, strict=True):
        np.testing.assert_allclose(prediction, regression.fit(x[train], y[train]).predict(x[test]), atol=1e-8)
    blocks = [np.full_like(prediction, np.nan) for prediction in together]
    widths = set()
    for index, columns, part in regression.predict_blocks(ColumnBlocks.of(x), ColumnBlocks.of(y), splits):
        blocks[index][:, columns] = part
        widths.add(part.shape[1])
    assert widths == {2}
    for one, other in zip(blocks, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6 if name == "pls" else 1e-9)


@pytest.mark.parametrize("kind", [PLS, Ridge, LeastSquares, RidgeCV, OneToOne])
def test_rejects_predicting_before_fitting(kind):
    with pytest.raises(RuntimeError, match=rf"{kind.__name__} has not been fitted"):
        kind().predict(np.ones((2, 2)))


def test_one_to_one_predicts_only_with_its_chosen_sources():
    x, y = data()
    y[:, 0], y[:, 2] = 2 * x[:, 7] + 1, 3.0
    chosen = OneToOne().fit(x, y)
    assert chosen.mapping[0] == 7
    assert chosen.mapping[2] == -1
    for source in (x[:3], ColumnBlocks.of(x[:3])):
        prediction = chosen.predict(source)
        np.testing.assert_array_equal(prediction[:, 0], x[:3, 7])
        assert np.isnan(prediction[:, 2]).all()


def test_penalties_are_checked_on_construction():
    with pytest.raises(ValueError, match="larger than zero"):
        RidgeCV([0.0])


def test_pearson_r_equals_scipy():
    x, y = data()
    r, p = PearsonR()(x[:, 0], y[:, 0])
    expected = pearsonr(x[:, 0], y[:, 0])
    assert (r, p) == pytest.approx((expected.statistic, expected.pvalue))
    np.testing.assert_allclose(PearsonR.columns(x[:, :4], y)[0], r)
    assert np.isnan(PearsonR()([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])).all()
    assert PearsonR()([1.0, 2.0], [1.0, 2.0]) == pytest.approx((1.0, 1.0))
