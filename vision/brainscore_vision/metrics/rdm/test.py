import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_vision import load_metric
from brainscore_vision.metrics.rdm.metric import RDM, RDMSimilarity


def assembly(values, ids=None):
    n, m = values.shape
    ids = [f"s{i:02d}" for i in range(n)] if ids is None else ids
    return NeuroidAssembly(
        values,
        coords={
            "stimulus_id": ("presentation", ids),
            "object_name": ("presentation", ["o"] * n),
            "neuroid_id": ("neuroid", range(m)),
            "region": ("neuroid", ["IT"] * m),
        },
        dims=["presentation", "neuroid"],
    )


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 6))
    return x, x @ rng.normal(size=(6, 30)) + rng.normal(size=(20, 30))


def test_equals_scipy_whatever_the_order(pair):
    x, y = pair
    expected = spearmanr(pdist(x, "correlation"), pdist(y, "correlation"))[0]
    order = np.random.default_rng(1).permutation(20)
    score = load_metric("rdm")(assembly(x).isel(presentation=order), assembly(y))
    assert float(score) == pytest.approx(expected, abs=1e-12)
    assert score.attrs == {"n_stimuli": 20, "n_neuroids": 30}


def test_identical_assemblies_score_one(pair):
    assert float(load_metric("rdm")(assembly(pair[0]), assembly(pair[0]))) == pytest.approx(1)


def test_rdm_is_labelled_on_both_dimensions(pair):
    rdm = RDM()(assembly(pair[0]))
    assert rdm.dims == ("presentation", "presentation_other")
    assert rdm["stimulus_id"].values.tolist() == rdm["stimulus_id_other"].values.tolist()
    np.testing.assert_allclose(rdm.values, 1 - np.corrcoef(pair[0]), atol=1e-12)


def test_ready_made_dissimilarities_compare(pair):
    x, y = (RDM()(assembly(values)) for values in pair)
    plain = DataAssembly(
        x.values, coords={"stimulus_id": ("presentation", x["stimulus_id"].values)}, dims=["presentation", "b"]
    )
    assert float(RDMSimilarity()(plain, y)) == float(RDMSimilarity()(x, y))
    with pytest.raises(AssemblyError, match="square"):
        RDMSimilarity()(plain[:, :3], y)


def test_other_stimuli_raise(pair):
    with pytest.raises(AssemblyError, match="'other'"):
        load_metric("rdm")(assembly(pair[0], [*[f"s{i:02d}" for i in range(19)], "other"]), assembly(pair[1]))


def test_constant_pattern_gives_nan_and_is_named(pair):
    x = pair[0].copy()
    x[7] = 1.0
    score = load_metric("rdm")(assembly(x), assembly(pair[1]))
    assert np.isnan(float(score))
    assert score.attrs["undefined_stimuli"] == ["s07"]


def test_empty_neuroids_do_not_count_and_other_nan_raises(pair):
    x = np.column_stack([pair[0], np.full(20, np.nan)])
    metric = load_metric("rdm")
    assert float(metric(assembly(x), assembly(pair[1]))) == float(metric(assembly(pair[0]), assembly(pair[1])))
    x[3, 0] = np.nan
    with pytest.raises(AssemblyError, match="1 of 7 neuroids"):
        metric(assembly(x), assembly(pair[1]))


def test_time_bins_must_be_selected(pair):
    values = np.stack([pair[0], pair[0]], axis=2)
    bins = {"time_bin_start": ("time_bin", [0, 10]), "time_bin_end": ("time_bin", [10, 20])}
    flat = assembly(pair[0])
    coords = {
        "stimulus_id": ("presentation", flat["stimulus_id"].values),
        "neuroid_id": ("neuroid", flat["neuroid_id"].values),
        **bins,
    }
    given = NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid", "time_bin"])
    with pytest.raises(AssemblyError, match="time_bin"):
        load_metric("rdm")(given, flat)
    assert float(load_metric("rdm")(given.isel(time_bin=[1]), flat)) == pytest.approx(1)
