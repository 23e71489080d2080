import json

import numpy as np
import pytest
import torch

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.identity import digest
from brainscore_core.metrics import Score
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import lock_path
from brainscore_core.records.values import read_values
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import benchmark_registry, data_registry, load_dataset, model_registry, stimulus_set_registry
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate
from brainscore_vision.identity.ingredients import library_digest, noting_ingredients
from brainscore_vision.loading import load_benchmark, load_model, unwatched
from brainscore_vision.scoring import score_and_record
from brainscore_vision.testing.random_model import RandomModel

PAIR = ("pixels", "SimulatedCortex2026.V1-rdm")


def without_made(path):
    content = json.loads(path.read_text())
    assert set(content.pop("made")) == {"created", "duration_s", "machine", "peak_memory_bytes"}
    return json.dumps(content)


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_equal_inputs_give_equal_record_bytes(tmp_path):
    """This includes a shared model that was used before."""
    shared = SharedCandidate(load_model("pixels"))
    load_benchmark(PAIR[1])(shared)
    texts, beside = set(), set()
    for number, loaded in enumerate((None, shared)):
        path = tmp_path / str(number) / "record.json"
        score_and_record(*PAIR, path, loaded=loaded)
        texts.add(without_made(path))
        beside.add(tuple(sorted((each.name, each.read_bytes()) for each in path.parent.glob("*") if each != path)))
    assert len(texts) == 1
    assert len(beside) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_a_record_lists_its_ingredients(tmp_path):
    path = tmp_path / "record.json"
    record = score_and_record("pixels", "SimulatedCortex2026.V1-pls", path)[1]
    assert ScoreRecord.read(path) == record
    assert {"data:SimulatedCortex2026", "stimulus_set:SimulatedCortex2026"} <= set(record.data)
    assert all(len(digest) == 64 for digest in record.data.values())
    folders = {"benchmarks/simulatedcortex2026", "data/simulatedcortex2026", "metrics/regression_correlation"}
    assert folders <= set(record.plugins)
    assert record.plugins["benchmarks/simulatedcortex2026"] == record.benchmark_revision
    assert not any(name.startswith("models/") for name in record.plugins)
    assert record.library == library_digest()
    assert record.peak_memory_bytes > 50e6
    assert record.seeds == {"raw": 1, "ceiling": 1}
    lock = lock_path(path, record.environment).read_text()
    assert digest.text_digest(lock) == record.environment
    assert f"numpy=={np.__version__}\n" in lock
    values = read_values(path, record.values)
    assert len(values["raw.neuroid"]) == len(values["ceiling.neuroid"]) == record.n_neuroids
    assert np.median(values["raw.neuroid"]) == pytest.approx(record.raw, abs=0.05)


def test_equal_small_scores_give_equal_record_bytes(asking, tmp_path):
    texts = set()
    for number in range(2):
        path = tmp_path / str(number) / "record.json"
        score_and_record(RandomModel(), "Asking-test", path)
        texts.add((without_made(path), *sorted(each.name for each in path.parent.iterdir())))
    assert len(texts) == 1


class AskingBenchmark(BenchmarkBase):
    """Loads data on construction and on each call, and changes the loaded data."""

    def __init__(self):
        super().__init__(identifier="Asking-test", version=1, ceiling_func=lambda: 1)
        self.assembly = load_dataset("Asked-test")

    def __call__(self, candidate):
        self.assembly.values[:] = 0
        if candidate.identifier == "choosing":
            candidate.look_at(None)
        score = Score(0.5)
        score.attrs["raw"] = Score(self.assembly.mean().item())
        score.attrs["raw"].attrs["raw"] = Score([0.1, 0.2], coords={"neuroid": ["x", "y"]}, dims=["neuroid"])
        return score


@pytest.fixture
def asking(monkeypatch):
    made = {"scale": 1.0}

    def assembly():
        values = made["scale"] * np.arange(6.0).reshape(3, 2)
        return assembly_of(values, stimulus_id=["a", "b", "c"], neuroid_id=("neuroid", ["x", "y"]))

    monkeypatch.setitem(benchmark_registry, "Asking-test", AskingBenchmark)
    monkeypatch.setitem(data_registry, "Asked-test", assembly)
    monkeypatch.setitem(data_registry, "Asked-by-model", assembly)
    return made


def digests(benchmark="Asking-test"):
    with noting_ingredients() as found:
        load_benchmark(benchmark)
    return found.data


def test_digests_change_with_the_data(asking):
    first = digests()
    assert digests() == first
    asking["scale"] = 1 + 1e-12
    assert digests() != first


def test_data_for_choosing_layers_are_not_the_benchmarks(asking):
    class Choosing(RandomModel):
        identifier = "choosing"

        def look_at(self, stimuli, number_of_trials=1):
            with unwatched():
                load_dataset("Asked-by-model")

    assert set(score_and_record(Choosing(), "Asking-test")[1].data) == {"data:Asked-test"}


class LoadingActivations:
    """An activations model that loads data to check its layers."""

    identifier = "loading"

    def get_layer(self, layer):
        load_dataset("Asked-by-model")

    def from_stimulus_set(self, stimuli, layers):
        raise NotImplementedError

    __call__ = from_stimulus_set


def test_data_loaded_by_a_model_object_are_recorded(asking):
    record = score_and_record(LoadingActivations(), "Asking-test", layers=["relu"])[1]
    assert set(record.data) == {"data:Asked-by-model", "data:Asked-test"}


def test_data_loaded_by_a_registered_model_are_not_recorded(asking, monkeypatch):
    def loading():
        load_dataset("Asked-by-model")
        return RandomModel()

    monkeypatch.setitem(model_registry, "loading", loading)
    assert set(score_and_record("loading", "Asking-test")[1].data) == {"data:Asked-test"}


def test_data_without_a_digest_are_recorded_as_unknown(monkeypatch):
    monkeypatch.setitem(data_registry, "Odd-test", lambda: (object(),))
    monkeypatch.setitem(stimulus_set_registry, "Odd-test", lambda: None)
    with noting_ingredients() as found:
        load_dataset("Odd-test")
    assert found.data == {"data:Odd-test": "unknown"}


def test_weights_digest_changes_with_the_weights():
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
    from brainscore_vision.model_interface import BrainModel, weights_digest

    module = torch.nn.Linear(2, 2)
    wrapper = PytorchWrapper(module, preprocessing=None)
    first = weights_digest(wrapper)
    assert weights_digest(wrapper) == first
    with torch.no_grad():
        module.weight[0, 0] += 1
    assert weights_digest(wrapper) != first
    assert weights_digest(object()) is None
    model = BrainModel()
    model.activations_model = wrapper
    assert weights_digest(SharedCandidate(model)) == weights_digest(wrapper)
