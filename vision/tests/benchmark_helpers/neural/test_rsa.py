import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from brainscore_core.errors import AssemblyError, CeilingError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_vision import load_ceiling
from brainscore_vision.benchmark_helpers import PrecomputedFeatures, neural_common
from brainscore_vision.benchmark_helpers.neural.rsa import RSABenchmark
from brainscore_vision.utils import LazyLoad

N, P = 10, 6


@pytest.fixture
def stimulus_set(tmp_path, make_stimuli):
    return make_stimuli(tmp_path, N)


@pytest.fixture
def data(stimulus_set, make_recordings):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(N, P))
    parts = [truth + rng.normal(size=(N, P)) for _ in range(3)]
    recordings = make_recordings(
        np.hstack(parts),
        time_bins=[(70, 170)],
        stimulus_set=stimulus_set,
        object_name=("presentation", ["o"] * N),
        subject=("neuroid", [name for name in "abc" for _ in range(P)]),
    )
    model = make_recordings(truth, stimulus_set=stimulus_set).isel(presentation=rng.permutation(N))
    return truth, parts, recordings, PrecomputedFeatures(model, visual_degrees=8)


def make(recordings, **kwargs):
    given = {"version": 1, "region": "IT", "visual_degrees": 8, "number_of_trials": 1, "bibtex": "", **kwargs}
    return RSABenchmark("Test.IT-rdm", assembly=recordings, **given)


def test_score_is_the_mean_over_subjects_divided_by_the_ceiling(data):
    truth, parts, recordings, model = data
    benchmark = make(LazyLoad(lambda: recordings))
    score = benchmark(model)
    expected = [spearmanr(pdist(truth, "correlation"), pdist(part, "correlation"))[0] for part in parts]
    raw = score.attrs["raw"]
    np.testing.assert_allclose(raw.attrs["subject_scores"], expected, atol=1e-12)
    np.testing.assert_allclose(raw.attrs["raw"].values, expected, atol=1e-12)
    assert raw.attrs["raw"]["subject"].values.tolist() == ["a", "b", "c"]
    assert float(raw) == pytest.approx(np.mean(expected))
    assert float(score) == pytest.approx(float(raw) / float(benchmark.ceiling))
    assert score.attrs["error"] == pytest.approx(np.std(expected, ddof=1) / np.sqrt(3) / float(benchmark.ceiling))
    assert float(score) <= 1
    assert {name: score.attrs[name] for name in ("n_stimuli", "n_neuroids", "n_trials", "n_subjects")} == {
        "n_stimuli": N,
        "n_neuroids": 3 * P,
        "n_trials": 1,
        "n_subjects": 3,
    }
    assert (benchmark.parent, benchmark.timebins) == ("IT", [(70, 170)])


def test_accepts_precomputed_dissimilarities(data, stimulus_set):
    _, parts, recordings, model = data
    stack = DataAssembly(
        np.stack([squareform(pdist(part, "correlation")) for part in parts], axis=2),
        coords={
            "stimulus_id": ("presentation", stimulus_set["stimulus_id"].to_numpy()),
            "subject": ("subject", list("abc")),
        },
        dims=["presentation", "presentation_other", "subject"],
        attrs={"stimulus_set": stimulus_set},
    )
    score = make(stack)(model)
    assert float(score) == pytest.approx(float(make(recordings)(model)), abs=1e-12)
    assert score.attrs["n_neuroids"] == P


def test_rdm_similarity_and_ceiling_are_replaceable(data):
    _, _, recordings, model = data
    seen = []

    def similarity(one, two):
        seen.append((one.dims, two.dims))
        return Score(0.3)

    score = make(recordings, rdm=lambda given: given, similarity=similarity, ceiler=lambda _: Score(0.6), parent="x")(
        model
    )
    assert float(score) == pytest.approx(0.5)
    assert seen == [(("presentation", "neuroid"), ("presentation", "neuroid"))] * 3
    assert make(recordings, parent="x").parent == "x"


def test_error_for_undefined_similarity_names_the_subject(data):
    _, _, recordings, model = data
    values = recordings.values.copy()
    values[0, :P] = 1.0
    with pytest.raises(AssemblyError, match=r"subjects \['a'\] is undefined"):
        make(recordings.copy(data=values), ceiler=lambda _: Score(1.0))(model)


def test_published_import_path():
    assert neural_common.RSABenchmark is RSABenchmark
    with pytest.raises(AttributeError, match="no attribute 'RSABenchmrk'"):
        _ = neural_common.RSABenchmrk


def test_rejects_subjects_who_saw_different_stimuli(data):
    _, _, recordings, model = data
    recordings.values[:3, :P] = np.nan  # the first subject did not see three of them
    with pytest.raises(AssemblyError, match=f"{P} of {P} neuroids have NaN or infinite values for some stimuli"):
        make(recordings)(model)


def test_rejects_a_ceiling_of_another_quantity_on_construction():
    with pytest.raises(CeilingError, match=r"'Test\.IT-rdm' combines a metric with a ceiling that does not fit it"):
        make(LazyLoad(lambda: None), ceiler=load_ceiling("internal_consistency"))
    make(LazyLoad(lambda: None), ceiler=load_ceiling("rsa_ceiling"))
