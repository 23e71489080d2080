"""The published benchmark tutorials run as written, on generated data."""

import importlib

import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision import (
    benchmark_registry,
    data_registry,
    load_benchmark,
    load_ceiling,
    load_dataset,
    load_metric,
    load_model,
    load_stimulus_set,
    stimulus_set_registry,
)
from brainscore_vision.benchmark_helpers.neural_common import (
    NeuralBenchmark,
    TrainTestNeuralBenchmark,
    average_repetition,
    filter_reliable_neuroids,
)
from brainscore_vision.benchmark_helpers.screen import place_on_screen
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.testing.stand_ins import draw_stimuli, recordings
from brainscore_vision.utils import LazyLoad

BIBTEX = """@article{YourName2024, title={Your title}, year={2024}}"""
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("shared_caches")]


@pytest.fixture(scope="module")
def model():
    return load_model("pixels")  # the tutorial uses alexnet, whose weights must be downloaded


@pytest.fixture(scope="module")
def stimuli():
    return draw_stimuli("YourDataset", 60, columns={"object_name": ["cat", "dog", "car"] * 20}, seed=1)


@pytest.fixture(scope="module")
def recordings_and_signal(stimuli):
    """Return recordings of two regions, and the signal without noise."""
    regions = ["V4"] * 10 + ["IT"] * 10
    return recordings(
        stimuli,
        n_neuroids=20,
        n_repetitions=12,
        neuroid_coords={"region": regions},
        presentation_coords=["object_name"],
        time_bins=[(70, 170)],
    )


@pytest.fixture(autouse=True)
def registered(stimuli, recordings_and_signal, monkeypatch):
    both, _ = recordings_and_signal
    monkeypatch.setitem(stimulus_set_registry, "YourDataset", lambda: stimuli)
    monkeypatch.setitem(data_registry, "YourDataset", lambda: both.sel(neuroid=both["region"] == "IT"))
    monkeypatch.setitem(data_registry, "MyExperiment2024", lambda: both)


def your_benchmark_it():
    assembly = load_dataset("YourDataset")
    assembly_repetition = load_dataset("YourDataset")
    assembly = assembly.mean(dim="repetition")
    return NeuralBenchmark(
        identifier="YourBenchmark.IT-pls",
        version=1,
        assembly=assembly,
        similarity_metric=load_metric("pls"),
        visual_degrees=8,
        number_of_trials=50,
        ceiling_func=lambda: load_ceiling("internal_consistency")(assembly_repetition),
        parent="IT",
        bibtex=BIBTEX,
    )


def test_minimal_template_and_scoring_by_hand(model, monkeypatch):
    monkeypatch.setitem(benchmark_registry, "YourBenchmark.IT-pls", your_benchmark_it)
    benchmark = load_benchmark("YourBenchmark.IT-pls")
    score = benchmark(model)
    assert 0 < score.values < 1
    assert benchmark.ceiling.values == score.ceiling
    assert {"raw", "ceiling", "error", "interval", "n_stimuli", "n_neuroids", "n_trials"} <= score.attrs.keys()
    assert float(score) == float(score.raw) ** 2 / float(score.ceiling)


def load_assembly(region, average_repetitions=True):
    assembly = load_dataset("MyExperiment2024")
    assembly = assembly.sel(neuroid=assembly["region"] == region)
    if average_repetitions:
        assembly = average_repetition(assembly)
    return assembly


def benchmark_with(assembly, **changes):
    repetitions = load_assembly("IT", average_repetitions=False)
    settings = {
        "similarity_metric": load_metric("pls"),
        "visual_degrees": 8,
        "number_of_trials": 50,
        "ceiling_func": lambda: load_ceiling("internal_consistency")(repetitions),
        "version": 1,
        "parent": "IT",
        "bibtex": BIBTEX,
    }
    return NeuralBenchmark(identifier="MyExperiment2024.IT-pls", assembly=assembly, **{**settings, **changes})


def test_region_is_selected_from_a_data_set(model):
    ceiler = load_ceiling("internal_consistency")
    assert load_assembly("V4").sizes["presentation"] == 60
    repetitions = load_assembly("V4", average_repetitions=False)
    assert repetitions.sizes["presentation"] == 60 * 12
    assert 0 < float(ceiler(repetitions)) < 1
    with pytest.raises(AssemblyError, match=r"(?s)V4.*IT|IT.*V4"):
        benchmark_with(average_repetition(load_dataset("MyExperiment2024")))(model)
    with pytest.raises(AssemblyError, match="repetition"):
        ceiler(load_assembly("IT", average_repetitions=True))


def test_splits_can_be_balanced(model):
    balanced = load_metric("pls", crossvalidation_kwargs={"stratification_coord": "object_name"})
    assert 0 < benchmark_with(load_assembly("IT"), similarity_metric=balanced)(model) < 1


def test_separate_training_and_test_data(model, stimuli):
    def half(first, average_repetitions=True):
        assembly = load_assembly("IT", average_repetitions)
        ids = stimuli["stimulus_id"][first::2].tolist()
        assembly = assembly.isel(presentation=np.isin(assembly["stimulus_id"].values, ids))
        shown = stimuli[stimuli["stimulus_id"].isin(ids)]
        shown.identifier = f"YourDataset-{first}"
        assembly.attrs["stimulus_set"] = shown
        assembly["reliability"] = "neuroid", np.arange(10) / 10
        return filter_reliable_neuroids(type(assembly)(assembly), 0.3, "reliability")

    benchmark = TrainTestNeuralBenchmark(
        identifier="MyExperiment2024.IT-ridge",
        version=2,
        train_assembly=LazyLoad(lambda: half(0)),
        test_assembly=LazyLoad(lambda: half(1)),
        similarity_metric=load_metric("ridge_split"),
        ceiling_func=lambda: load_metric("internal_consistency")(half(1, average_repetitions=False)),
        visual_degrees=18,
        number_of_trials=1,
        parent="IT",
        bibtex=BIBTEX,
    )
    assert benchmark(model).attrs["n_neuroids"] == 6


class MyExperimentRSA(BenchmarkBase):
    def __init__(self, region):
        self._region = region
        self._stimulus_set = load_stimulus_set("YourDataset")
        self._human_assembly = load_assembly(region)
        self._metric = load_metric("rdm")
        super().__init__(
            identifier=f"MyExperiment2024.{region}-rdm",
            version=1,
            ceiling_func=lambda: 1,
            parent="MyExperiment2024",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate):
        candidate.start_recording(self._region, [(70, 170)])
        stimulus_set = place_on_screen(
            self._stimulus_set, target_visual_degrees=candidate.visual_degrees(), source_visual_degrees=8
        )
        dnn_assembly = candidate.look_at(stimulus_set, number_of_trials=1)
        ceiling = self.ceiling
        similarity = self._metric(dnn_assembly, self._human_assembly)
        score = Score(similarity / ceiling)
        score.attrs["raw"] = similarity
        score.attrs["ceiling"] = ceiling
        return score


def test_representational_geometry_as_a_class(model):
    score = MyExperimentRSA("IT")(model)
    assert float(score) == float(score.raw)


def choices_from(stimuli, truth):
    """Return choices of people who discriminate objects by the signal of the neuroids."""
    from_first = importlib.import_module("brainio.assemblies")
    objects = np.asarray(sorted(set(stimuli["object_name"])))
    labels = stimuli["object_name"].to_numpy()
    evidence = truth.values.reshape(60, -1)[:, :3] + 1.5 * (labels[:, None] == objects)
    pairs = [(row, other) for row in range(60) for other in np.flatnonzero(objects != labels[row]) for _ in range(40)]
    rows, others = np.asarray(pairs).T
    mine = np.searchsorted(objects, labels[rows])
    right = np.random.default_rng(0).random(len(rows)) < 1 / (1 + np.exp(evidence[rows, others] - evidence[rows, mine]))
    chosen = np.where(right, labels[rows], objects[others])
    columns = {"truth": labels[rows], "sample_obj": labels[rows], "dist_obj": objects[others], "choice": chosen}
    columns["stimulus_id"] = stimuli["stimulus_id"].to_numpy()[rows]
    choices = from_first.BehavioralAssembly(
        chosen, coords={name: ("presentation", values) for name, values in columns.items()}, dims=["presentation"]
    )
    choices.attrs["stimulus_set"] = stimuli
    return choices


def test_behaviour_with_the_imports_of_older_tutorials(model, stimuli, recordings_and_signal, monkeypatch):
    first = {
        name: importlib.import_module(f"brainscore{name}")
        for name in ("", ".benchmarks", ".benchmarks.screen", ".metrics.image_level_behavior", ".model_interface")
    }
    brain_model = first[".model_interface"].BrainModel
    place = first[".benchmarks.screen"].place_on_screen

    class AuthorYearI2n(first[".benchmarks"].BenchmarkBase):
        def __init__(self):
            self._metric = first[".metrics.image_level_behavior"].I2n()
            self._fitting_stimuli = LazyLoad(lambda: first[""].get_stimulus_set("AuthorYear"))
            self._assembly = LazyLoad(lambda: first[""].get_assembly("AuthorYear"))
            self._visual_degrees = 8
            self._number_of_trials = 2
            super().__init__(
                identifier="AuthorYear-i2n",
                version=1,
                ceiling_func=lambda: self._metric.ceiling(self._assembly),
                parent="behavior",
                bibtex=BIBTEX,
            )

        def __call__(self, candidate):
            degrees = {
                "target_visual_degrees": candidate.visual_degrees(),
                "source_visual_degrees": self._visual_degrees,
            }
            candidate.start_task(brain_model.Task.probabilities, place(self._fitting_stimuli, **degrees))
            stimulus_set = place(self._assembly.stimulus_set, **degrees)
            probabilities = candidate.look_at(stimulus_set, number_of_trials=self._number_of_trials)
            score = self._metric(probabilities, self._assembly)
            return self._metric.ceil_score(score, self.ceiling)

    fitting = draw_stimuli("YourDataset-fitting", 90, columns={"image_label": ["cat", "dog", "car"] * 30}, seed=2)
    choices = choices_from(stimuli, recordings_and_signal[1])
    monkeypatch.setitem(stimulus_set_registry, "AuthorYear", lambda: fitting)
    monkeypatch.setitem(data_registry, "AuthorYear", lambda: choices)
    monkeypatch.setitem(benchmark_registry, "AuthorYear-i2n", AuthorYearI2n)
    score = load_benchmark("AuthorYear-i2n")(model)
    assert -1 < score < 1
    assert 0 < score.ceiling <= 1
