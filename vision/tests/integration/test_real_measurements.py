"""Run benchmarks end to end on recordings that nitime ships, described in docs/explanation/real_measurements.md.

Spikes of an auditory receptor neuron of a locust (Rokem et al. 2006, J Neurophysiol 95:2541) and fMRI near area MT of a
person who watched moving stimuli. They come without pictures: the sound or motion itself, as numbers, replaces a
model's features. Results are compared with nitime, SciPy and scikit-learn on the same numbers.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit

from brainscore_core.errors import CeilingError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.recordings import flatten_timebins_into_neuroids
from brainscore_vision.benchmark_helpers.scores.ceilings import ceiling_over_time, geometry_ceiling

nitime = pytest.importorskip("nitime", reason="its files are the recordings: pip install nitime")
FOLDER = Path(nitime.__file__).parent / "data"

WINDOW_MS = 20  # of sound, with about two spikes
TR_MS = 2000  # from one volume of fMRI to the next
N_VOLUMES = 15  # after an event
KWARGS = {"version": 1, "visual_degrees": 8, "parent": None, "bibtex": ""}
REGRESSIONS = {"ridge": Ridge(1.0), "linear_predictivity": LinearRegression(), "pls": PLSRegression(5, scale=False)}


def assemble(values, ids, region, **coords):
    """Label values of shape (presentation, neuroid[, time_bin])."""
    dims = ["presentation", "neuroid", "time_bin"][: values.ndim]
    names = [f"{region}-{number}" for number in range(values.shape[1])]
    coords |= {
        "stimulus_id": ("presentation", ids),
        "neuroid_id": ("neuroid", names),
        "region": ("neuroid", [region] * len(names)),
    }
    stimulus_set = StimulusSet({"stimulus_id": sorted(set(ids))})
    stimulus_set.identifier = f"shown-to-{region}"
    return NeuroidAssembly(values, coords=coords, dims=dims, attrs={"stimulus_set": stimulus_set})


@pytest.fixture(scope="module")
def neuron():
    """Return sound levels in each ms of a window, and spikes in the window, over 10 s in which no sound is repeated."""
    amplitude = np.loadtxt(FOLDER / "grasshopper_stimulus1.txt")[:, 1]  # every 50 us
    spikes_us = np.loadtxt(FOLDER / "grasshopper_spike_times1.txt")
    levels = 20 * np.log10(amplitude / 2e-5)  # dB
    edges = np.arange(0, 10_000 + WINDOW_MS, WINDOW_MS)
    counts = np.histogram(spikes_us / 1000, edges)[0].astype(float)
    return SimpleNamespace(
        region="receptor", shown=levels.reshape(-1, 20).mean(axis=1).reshape(-1, WINDOW_MS), measured=counts
    )


@pytest.fixture(scope="module")
def bold():
    return np.genfromtxt(FOLDER / "event_related_fmri.csv", delimiter=",", names=True)


@pytest.fixture(scope="module")
def voxels(bold):
    """Return which of six events was how many volumes ago (a finite impulse response), and the signal, per volume."""
    events = np.stack([bold["events"] == kind for kind in range(1, 7)], axis=1).astype(float)
    lagged = [events[N_VOLUMES - 1 - lag : len(events) - lag] for lag in range(N_VOLUMES)]
    return SimpleNamespace(region="MT", shown=np.hstack(lagged), measured=bold["bold"][N_VOLUMES - 1 :])


@pytest.fixture(scope="module")
def trials(bold):
    """Return the 96 responses to each of six kinds of motion, 15 volumes long."""
    events = bold["events"].astype(int)
    onsets = np.flatnonzero(events)
    values = np.stack([bold["bold"][onset : onset + N_VOLUMES] for onset in onsets])[:, None]
    kinds = events[onsets]
    return assemble(
        values,
        [f"motion-{kind}" for kind in kinds],
        "MT",
        repetition=("presentation", [int(np.sum(kinds[:index] == kind)) for index, kind in enumerate(kinds)]),
        time_bin_start=("time_bin", TR_MS * np.arange(N_VOLUMES)),
        time_bin_end=("time_bin", TR_MS * np.arange(1, N_VOLUMES + 1)),
    )


def regression_benchmark(recorded, metric):
    """Make a benchmark, and features that are the sound or motion itself."""
    ids = [f"{number:05d}" for number in range(len(recorded.measured))]
    kwargs = {"n_components": 5} if metric == "pls" else {}
    benchmark = NeuralBenchmark(
        f"nitime.{recorded.region}-{metric}",
        assemble(recorded.measured[:, None], ids, recorded.region),
        load_metric(metric, crossvalidation_kwargs={"stratification_coord": None}, regression_kwargs=kwargs),
        number_of_trials=1,
        ceiling_func=lambda: 1,  # nothing was repeated, so reliability is unknown
        **KWARGS,
    )
    return benchmark, assemble(recorded.shown, ids, recorded.region)


@pytest.mark.parametrize("metric", REGRESSIONS)
@pytest.mark.parametrize("recording", ["neuron", "voxels"])
def test_regression_matches_scikit_learn(recording, metric, request):
    recorded = request.getfixturevalue(recording)
    benchmark, shown = regression_benchmark(recorded, metric)
    score = benchmark(PrecomputedFeatures(shown, visual_degrees=8))
    expected = []
    for train, test in ShuffleSplit(10, train_size=0.9, random_state=1).split(recorded.shown):
        fitted = REGRESSIONS[metric].fit(recorded.shown[train], recorded.measured[train])
        expected.append(pearsonr(fitted.predict(recorded.shown[test]).ravel(), recorded.measured[test])[0])
    np.testing.assert_allclose(score.attrs["raw"].attrs["raw"].values[:, 0], expected, atol=1e-8)
    assert float(score.attrs["raw"]) == pytest.approx(np.mean(expected), abs=1e-8)
    assert float(score) == pytest.approx(np.mean(expected) ** 2, abs=1e-8)
    assert np.mean(expected) > 0.2


@pytest.mark.parametrize("recording", ["neuron", "voxels"])
def test_shuffled_stimuli_predict_nothing(recording, request):
    benchmark, shown = regression_benchmark(request.getfixturevalue(recording), "ridge")
    shuffled = shown.copy(data=np.random.default_rng(0).permutation(shown.values))
    assert abs(float(benchmark(PrecomputedFeatures(shuffled, visual_degrees=8)).attrs["raw"])) < 0.15


def test_average_over_repetitions_matches_nitime(bold, trials):
    from nitime.analysis import EventRelatedAnalyzer
    from nitime.timeseries import TimeSeries

    series = [TimeSeries(bold[name], sampling_interval=TR_MS / 1000) for name in ("bold", "events")]
    expected = EventRelatedAnalyzer(*series, N_VOLUMES).eta.data
    average = average_repetition(trials)
    assert average["stimulus_id"].values.tolist() == [f"motion-{kind}" for kind in range(1, 7)]
    np.testing.assert_allclose(average.values[:, 0], expected, atol=1e-12)


def halves(trials):
    """Yield averages over the same halves of repetitions as ceilings use: shape (stimulus, time_bin)."""
    by_repetition = trials.values[np.lexsort((trials["repetition"].values, trials["stimulus_id"].values))]
    by_repetition = by_repetition.reshape(6, 96, N_VOLUMES)
    for parts in ShuffleSplit(10, train_size=0.5, random_state=1).split(np.zeros(96)):
        yield [by_repetition[:, part].mean(axis=1) for part in parts]


def test_reliability_over_time_matches_scipy(trials):
    ceiling = load_ceiling("internal_consistency_temporal")(trials)
    expected = []
    for one, two in halves(trials):
        r = np.array([pearsonr(one[:, volume], two[:, volume])[0] for volume in range(N_VOLUMES)])
        expected.append(2 * r / (1 + r))
    np.testing.assert_allclose(ceiling.attrs["raw"].values[..., 0].T, expected, atol=1e-10)
    np.testing.assert_allclose(ceiling.values, np.mean(expected, axis=0), atol=1e-10)
    assert float(ceiling_over_time(ceiling)) == pytest.approx(np.mean(expected))


def test_unreliable_geometry_is_refused_as_a_benchmark(trials):
    flat = flatten_timebins_into_neuroids(trials)
    expected = []
    for pair in halves(trials):
        r = spearmanr(*(pdist(half, "correlation") for half in pair))[0]
        expected.append(2 * r / (1 + r))
    reliability = geometry_ceiling(load_metric("rdm"), flat).attrs["reliability"]
    assert float(reliability) == pytest.approx(np.mean(expected))
    assert np.mean(expected) < 0
    benchmark = benchmark_of_repetitions("nitime.MT-rdm", lambda: flat, "rdm", number_of_trials=96, **KWARGS)
    with pytest.raises(CeilingError, match="not reliable"):
        benchmark(PrecomputedFeatures(average_repetition(flat), visual_degrees=8))
