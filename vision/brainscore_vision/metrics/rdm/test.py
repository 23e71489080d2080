import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.model_selection import StratifiedShuffleSplit

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metrics.rdm.metric import RDM, RDMSimilarity


def assembly(values, ids=None):
    return assembly_of(values) if ids is None else assembly_of(values, stimulus_id=ids)


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 6))
    return x, x @ rng.normal(size=(6, 30)) + rng.normal(size=(20, 30))


def test_score_equals_scipy_in_any_order(pair):
    x, y = pair
    expected = spearmanr(pdist(x, "correlation"), pdist(y, "correlation"))[0]
    order = np.random.default_rng(1).permutation(20)
    score = load_metric("rdm")(assembly(x).isel(presentation=order), assembly(y))
    assert float(score) == pytest.approx(expected, abs=1e-12)
    low, high = score.attrs["interval"]
    assert low < expected < high
    assert 0 < score.attrs["error"] < 0.2
    attrs = {name: score.attrs[name] for name in ("n_stimuli", "n_neuroids", "quantity", "error_over")}
    assert attrs == {
        "n_stimuli": 20,
        "n_neuroids": 30,
        "quantity": "dissimilarity_correlation",
        "error_over": ["stimulus", "neuroid"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rdm", "rdm_rho_a"])
def test_error_matches_the_spread_over_stimuli_and_neuroids(name):
    values, errors = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(60, 10))
        target = factors @ rng.normal(size=(10, 20)) + rng.normal(size=(60, 20))
        score = load_metric(name)(assembly(factors[:, :5]), assembly(target))
        values.append(float(score))
        errors.append(score.attrs["error"])
    assert 0.85 < np.sqrt(np.mean(np.square(errors))) / np.std(values) < 1.5


def test_rdm_is_labelled_on_both_dimensions(pair):
    rdm = RDM()(assembly(pair[0]))
    assert rdm.dims == ("presentation", "presentation_other")
    assert rdm["stimulus_id"].values.tolist() == rdm["stimulus_id_other"].values.tolist()
    np.testing.assert_allclose(rdm.values, 1 - np.corrcoef(pair[0]), atol=1e-12)


def test_rdm_similarity_needs_square_assemblies(pair):
    x, y = (RDM()(assembly(values)) for values in pair)
    plain = DataAssembly(
        x.values, coords={"stimulus_id": ("presentation", x["stimulus_id"].values)}, dims=["presentation", "b"]
    )
    assert float(RDMSimilarity()(plain, y)) == float(RDMSimilarity()(x, y))
    with pytest.raises(AssemblyError, match="square"):
        RDMSimilarity()(plain[:, :3], y)


def test_a_constant_pattern_gives_nan_and_is_listed(pair):
    x = pair[0].copy()
    x[7] = 1.0
    score = load_metric("rdm")(assembly(x), assembly(pair[1]))
    assert np.isnan(float(score))
    assert score.attrs["undefined_stimuli"] == ["s07"]


def test_time_bins_must_be_selected(pair):
    values = np.stack([pair[0], pair[0]], axis=2)
    given = assembly_of(values, time_bin_start=("time_bin", [0, 10]), time_bin_end=("time_bin", [10, 20]))
    flat = assembly(pair[0])
    with pytest.raises(AssemblyError, match="time_bin"):
        load_metric("rdm")(given, flat)
    assert float(load_metric("rdm")(given.isel(time_bin=[1]), flat)) == pytest.approx(1)


class TestReadyMade:
    """Square assemblies of dissimilarities, on either side."""

    @pytest.fixture
    def score(self, pair):
        return float(load_metric("rdm")(*(assembly(values) for values in pair)))

    def test_dissimilarities_are_accepted_on_either_side_or_both(self, pair, score):
        x, y = (assembly(values) for values in pair)
        for one, two in ((RDM()(x), y), (x, RDM()(y)), (RDM()(x), RDM()(y))):
            found = load_metric("rdm")(one, two)
            assert float(found) == pytest.approx(score, abs=1e-12)
            assert found.attrs["n_stimuli"] == 20
            assert ("n_neuroids" in found.attrs) == ("neuroid" in two.dims)
            assert np.isnan(found.attrs["error"]) == ("neuroid" not in two.dims)
            assert ("ready-made" in found.attrs.get("error_nan_reason", "")) == ("neuroid" not in two.dims)

    def test_rows_and_columns_may_be_in_any_order(self, pair, score):
        rdm = RDM()(assembly(pair[0]))
        rng = np.random.default_rng(0)
        rows, columns = rng.permutation(20), rng.permutation(20)
        both = rdm.isel(presentation=rows, presentation_other=columns)
        assert float(load_metric("rdm")(both, assembly(pair[1]))) == pytest.approx(score, abs=1e-12)

    def test_columns_without_names_follow_the_rows(self, pair, score):
        order = np.random.default_rng(0).permutation(20)
        rdm = RDM()(assembly(pair[0]))
        values = rdm.values[np.ix_(order, order)]
        ids = rdm["stimulus_id"].values[order]
        plain = DataAssembly(values, coords={"stimulus_id": ("presentation", ids)}, dims=["presentation", "column"])
        assert float(load_metric("rdm")(plain, assembly(pair[1]))) == pytest.approx(score, abs=1e-12)

    @pytest.mark.filterwarnings("ignore:Duplicate dimension names")
    def test_the_published_layout_may_repeat_the_dimension_name(self, pair, score):
        rdm = RDM()(assembly(pair[0]))
        coords = {name: ("presentation", rdm[name].values) for name in ("stimulus_id", "object_name")}
        twice = NeuroidAssembly(rdm.values, coords=coords, dims=["presentation", "presentation"])
        assert float(load_metric("rdm")(twice, assembly(pair[1]))) == pytest.approx(score, abs=1e-12)
        assert float(load_metric("rdm")(twice, twice)) == pytest.approx(1)
        assert float(load_metric("rdm_cv")(twice, twice)) == pytest.approx(1)

    def test_rejects_similarities(self, pair):
        rdm = RDM()(assembly(pair[0]))
        with pytest.raises(AssemblyError, match="1 - similarities"):
            load_metric("rdm")(rdm.copy(data=1 - rdm.values), assembly(pair[1]))

    def test_different_triangles_are_averaged_and_noted(self, pair, score):
        rdm = RDM()(assembly(pair[0]))
        shift = np.triu(np.full((20, 20), 0.25), 1)
        found = load_metric("rdm")(rdm.copy(data=rdm.values + shift - shift.T), assembly(pair[1]))
        assert float(found) == pytest.approx(score, abs=1e-12)
        assert found.attrs["asymmetry"] == pytest.approx(0.5)

    def test_rejects_missing_pairs_but_lists_missing_stimuli(self, pair):
        rdm = RDM()(assembly(pair[0]))
        values = rdm.values.copy()
        values[3, 5] = np.nan
        with pytest.raises(AssemblyError, match="2 dissimilarities are NaN"):
            load_metric("rdm")(rdm.copy(data=values), assembly(pair[1]))
        values[3] = values[:, 3] = np.nan
        found = load_metric("rdm")(rdm.copy(data=values), assembly(pair[1]))
        assert np.isnan(float(found))
        assert found.attrs["undefined_stimuli"] == ["s03"]

    def test_rejects_different_stimuli(self, pair):
        rdm = RDM()(assembly(pair[0])).isel(presentation=range(19), presentation_other=range(19))
        with pytest.raises(AssemblyError, match="'s19'"):
            load_metric("rdm")(rdm, assembly(pair[1]))


class TestCrossValidated:
    def test_score_is_the_mean_over_test_parts(self, pair):
        x, y = (assembly(values) for values in pair)
        order = np.random.default_rng(1).permutation(20)
        score = load_metric("rdm_cv")(x.isel(presentation=order), y)
        splits = StratifiedShuffleSplit(10, test_size=0.9, random_state=1).split(np.zeros(20), [0] * 20)
        parts = [test for _, test in splits]
        expected = [
            spearmanr(pdist(pair[0][part], "correlation"), pdist(pair[1][part], "correlation"))[0] for part in parts
        ]
        np.testing.assert_allclose(score.attrs["raw"].values, expected, atol=1e-12)
        assert score.attrs["raw"].dims == ("split",)
        assert float(score) == pytest.approx(np.mean(expected))
        assert score.attrs["split_error"] == pytest.approx(np.std(expected, ddof=1) / np.sqrt(10))
        assert (score.attrs["n_stimuli"], score.attrs["n_neuroids"], score.attrs["seed"]) == (20, 30, 1)
        assert score.attrs["quantity"] == "dissimilarity_correlation"

    def test_dissimilarities_are_accepted_on_either_side(self, pair):
        x, y = (assembly(values) for values in pair)
        expected = float(load_metric("rdm_cv")(x, y))
        assert float(load_metric("rdm_cv")(RDM()(x), y)) == pytest.approx(expected, abs=1e-12)
        assert float(load_metric("rdm_cv")(x, RDM()(y))) == pytest.approx(expected, abs=1e-12)

    def test_splits_can_be_configured(self, pair):
        x, y = (assembly(values) for values in pair)
        kwargs = {"splits": 3, "train_size": 0.5, "stratification_coord": None, "random_state": 4}
        score = load_metric("rdm_cv", crossvalidation_kwargs=kwargs)(x, y)
        assert score.attrs["raw"].sizes == {"split": 3}
        assert load_metric("rdm_cv", crossvalidation_kwargs={"kfold": True, "splits": 5})(x, y).attrs["raw"].sizes == {
            "split": 5
        }


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 3), (3, 1), (3, 2), (3, 3)])
def test_score_of_small_shapes_is_one_or_nan(n, m):
    values = np.random.default_rng(0).normal(size=(n, m))
    score = load_metric("rdm")(assembly(values), assembly(values))
    assert np.isnan(float(score)) or float(score) == pytest.approx(1)
    assert np.isnan(float(score)) == (n < 3 or m == 1)


class TestRhoA:
    """Rho-a treats ties as undecided."""

    TIED = np.array([0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0], dtype=float)
    UNTIED = np.arange(15) * 7 % 15 + 0.0
    # rsatoolbox 0.3.2: compare(RDMs(a[None]), RDMs(b[None]), "rho-a") for these, and for round(UNTIED / 4)
    PUBLISHED = ((TIED, UNTIED, 0.13392857), (TIED, np.round(UNTIED / 4), 0.05357143), (UNTIED, UNTIED / 2, 1.0))

    @staticmethod
    def square(pairs):
        values = np.zeros((6, 6))
        values[np.triu_indices(6, 1)] = pairs
        ids = [f"s{i}" for i in range(6)]
        return DataAssembly(
            values + values.T,
            coords={"stimulus_id": ("presentation", ids)},
            dims=["presentation", "presentation_other"],
        )

    @pytest.mark.parametrize(("first", "second", "expected"), PUBLISHED)
    def test_score_equals_rsatoolbox(self, first, second, expected):
        assert float(load_metric("rdm_rho_a")(self.square(first), self.square(second))) == pytest.approx(expected)

    @pytest.mark.slow
    def test_ties_score_as_if_broken_at_random(self):
        """Rho-a is the mean over all ways to break ties; Spearman's correlation is larger."""
        rng = np.random.default_rng(0)
        broken = [spearmanr(self.TIED + 0.1 * rng.random(15), self.UNTIED)[0] for _ in range(4000)]
        found = float(load_metric("rdm_rho_a")(self.square(self.TIED), self.square(self.UNTIED)))
        assert found == pytest.approx(np.mean(broken), abs=4 * np.std(broken) / np.sqrt(4000))
        assert found < float(load_metric("rdm")(self.square(self.TIED), self.square(self.UNTIED)))

    def test_score_without_ties_equals_spearman(self, pair):
        x, y = (assembly(values) for values in pair)
        assert float(load_metric("rdm_rho_a")(x, y)) == pytest.approx(float(load_metric("rdm")(x, y)), abs=1e-12)

    def test_a_constant_rdm_scores_zero(self):
        assert float(load_metric("rdm_rho_a")(self.square(np.ones(15)), self.square(self.UNTIED))) == 0
        assert np.isnan(float(load_metric("rdm")(self.square(np.ones(15)), self.square(self.UNTIED))))
