import dataclasses
import json
import platform
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from brainscore_core.benchmarks import BenchmarkBase, explained_variance
from brainscore_core.identity import software
from brainscore_core.metrics import Score
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import FolderStore, keep_lock, lock_path, read_lock_of
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import benchmark_registry, load_metric, model_registry
from brainscore_vision.__main__ import main
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.commands import again
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
from brainscore_vision.testing.random_model import RandomModel


class CeilingBenchmark(BenchmarkBase):
    """A benchmark whose ceiling can be changed and that must not be called."""

    ceiling_now = 0.9

    def __init__(self):
        super().__init__("Some-test", ceiling_func=lambda: Score(self.ceiling_now), version=2)

    def __call__(self, candidate):
        raise AssertionError("a model was run")


class TestRenormalise:
    @pytest.fixture(autouse=True)
    def records(self, tmp_path, monkeypatch):
        monkeypatch.setitem(benchmark_registry, "Some-test", CeilingBenchmark)
        monkeypatch.setattr(software, "folder_revision", lambda folder: "folder-now")
        monkeypatch.setattr(again, "find_plugin_directory", lambda kind, benchmark: tmp_path)
        for model, raw in (("a", 0.3), ("b", 0.6)):
            score = Score(raw)
            score.attrs["error"] = 0.01
            record = ScoreRecord.of_score(
                explained_variance(score, Score(0.9)), model=model, benchmark="Some-test", benchmark_version=1
            )
            record.write(record_path(tmp_path, model, "Some-test"))
        return tmp_path

    def test_renormalise_updates_every_record(self, records, monkeypatch, capsys):
        monkeypatch.setattr(CeilingBenchmark, "ceiling_now", 0.6)
        assert main(["renormalise", "Some-test", "--records", str(records), "--dry-run"]) == 0
        assert "would change" in capsys.readouterr().out
        assert FolderStore(records).get("a", "Some-test").ceiling == 0.9
        assert main(["renormalise", "Some-test", "--records", str(records)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert " ".join(lines[1].split()) == "a 0.3000 0.9000 0.6000 0.1000 0.1500 0.0067 0.0100 changed"
        record = FolderStore(records).get("b", "Some-test")
        assert (record.score, record.benchmark_version) == (pytest.approx(0.6), 2)
        assert main(["renormalise", "Some-test", "--records", str(records)]) == 0
        assert "unchanged" in capsys.readouterr().out

    def test_renormalise_reports_records_it_cannot_update(self, records, monkeypatch, capsys):
        monkeypatch.setattr(CeilingBenchmark, "ceiling_now", 0.6)
        path = record_path(records, "a", "Some-test")
        dataclasses.replace(ScoreRecord.read(path), score=0.5, normalization=None).write(path)
        assert main(["renormalise", "Some-test", "--records", str(records)]) == 1
        assert "does not state its normalisation" in capsys.readouterr().out
        assert FolderStore(records).get("b", "Some-test").ceiling == 0.6

    def test_renormalise_without_records(self, tmp_path, capsys):
        assert main(["renormalise", "Some-test", "--records", str(tmp_path / "none")]) == 3
        assert "'Some-test' has no record in" in capsys.readouterr().err


class Doubling(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(12, 8)

    def forward(self, images):
        return self.layer(images)


def preprocess(paths):
    from PIL import Image

    return np.stack(
        [np.asarray(Image.open(path).convert("RGB").resize((2, 2)), dtype=np.float32).ravel() / 255 for path in paths]
    )


@contextmanager
def forward_passes():
    """Count forward passes without replacing a function, which would change the cache key."""
    passes = []

    def notice(frame, event, _):
        if event == "call" and frame.f_code is Doubling.forward.__code__:
            passes.append(frame.f_code.co_name)

    threading.setprofile(notice)
    sys.setprofile(notice)
    try:
        yield passes
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


class TestRescore:
    @pytest.fixture(autouse=True)
    def small(self, own_homes, monkeypatch, write_stimuli):
        rng = np.random.default_rng(0)
        pictures = {f"s{number:02}": rng.integers(0, 256, (8, 8, 3)) for number in range(24)}
        stimuli = write_stimuli(pictures, degrees=[8.0] * 24)
        recordings = assembly_of(rng.standard_normal((24, 6)), stimulus_id=list(pictures))
        recordings.attrs["stimulus_set"] = stimuli

        def benchmark(metric):
            return NeuralBenchmark(
                f"Small.IT-{metric}", recordings, load_metric(metric), None, 1, normalization=lambda raw, top: raw,
                ceiling_func=lambda: 1, version=1,
            )  # fmt: skip

        def model(seed):
            torch.manual_seed(seed)
            network = PytorchWrapper(Doubling(), preprocess, identifier=f"small{seed}")
            return ModelCommitment(f"small{seed}", network, ["layer"], region_layer_map={"IT": "layer"})

        for metric in ("rdm", "cka"):
            monkeypatch.setitem(benchmark_registry, f"Small.IT-{metric}", lambda metric=metric: benchmark(metric))
        for seed in (1, 2):
            monkeypatch.setitem(model_registry, f"small{seed}", lambda seed=seed: model(seed))
        monkeypatch.setitem(model_registry, "other", RandomModel)
        return own_homes / "brain-score/scores"

    @pytest.mark.slow
    def test_new_metric_needs_no_forward_pass(self, small, capsys):
        with forward_passes() as passes:
            assert main(["score", "--model", "small1", "--benchmark", "Small.IT-rdm"]) == 0
        assert passes
        with forward_passes() as passes:
            assert main(["rescore", "--metric", "cka"]) == 0
        assert passes == []
        assert FolderStore(small).get("small1", "Small.IT-cka").is_scored
        assert "Small.IT-cka" in capsys.readouterr().out

    def test_rescoring_equals_scoring(self, small):
        assert main(["score", "--model", "small1", "--benchmark", "Small.IT-rdm"]) == 0
        assert main(["rescore", "--metric", "cka"]) == 0
        path = record_path(small, "small1", "Small.IT-cka")
        first = json.loads(path.read_text())
        assert main(["score", "--model", "small1", "--benchmark", "Small.IT-cka"]) == 0
        second = json.loads(path.read_text())
        assert (first.pop("made"), first) != (second.pop("made"), {})
        assert first == second

    @pytest.mark.slow
    def test_error_names_activations_that_are_not_stored(self, small, capsys):
        assert main(["score", "--model", "small1", "--benchmark", "Small.IT-rdm"]) == 0
        with forward_passes() as passes:
            assert main(["rescore", "--benchmark", "Small.IT-cka", "--model", "small1", "small2", "other"]) == 1
        assert passes == []
        told = capsys.readouterr()
        assert "Not stored: small2 on Small.IT-cka. The activations of 'small2' in layer to 24 stimuli" in told.err
        assert "Not stored: other on Small.IT-cka. The model does not use the activations cache" in told.err
        assert "small1" in told.out
        assert FolderStore(small).get("small2", "Small.IT-cka") is None

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "Name either a metric"),
            (["--metric", "cka", "--benchmark", "Small.IT-cka"], "Name either a metric"),
            (
                ["--metric", "ckaa", "--model", "small1"],
                "None of the recorded benchmarks has a variant with the metric 'ckaa'",
            ),
        ],
    )
    def test_rejects_wrong_usage(self, arguments, said, capsys):
        assert main(["rescore", *arguments]) == 2
        assert said in capsys.readouterr().err


class TestReproduce:
    @pytest.fixture
    def record(self, tmp_path):
        made = ScoreRecord.of_score(explained_variance(Score(0.6), Score(0.9)), model="m", benchmark="b")
        made = dataclasses.replace(made, data={"data:X": "1"}, library="2", weights="3")
        return made.write(record_path(tmp_path, "m", "b"))

    def again(self, monkeypatch, **changes):
        monkeypatch.setattr(again, "_where", lambda path, record, here: (Path(sys.executable), {}))
        monkeypatch.setattr(
            again,
            "_score_again",
            lambda before, file, *where: dataclasses.replace(before, created="now", **changes).write(file),
        )

    def test_reproduce_reports_equal_scores(self, record, monkeypatch, capsys):
        self.again(monkeypatch)
        assert main(["reproduce", str(record)]) == 0
        assert capsys.readouterr().out.startswith("equal: m on b, score 0.4000")

    def test_reproduce_names_the_first_cause_of_a_difference(self, record, monkeypatch, capsys):
        self.again(monkeypatch, score=0.41, normalization=None, library="other", data={"data:X": "new"})
        assert main(["reproduce", str(record)]) == 1
        told = capsys.readouterr()
        assert told.out.startswith("differs: the data (data:X): 1 then, new now; score 0.4000 then, 0.4100 now")
        assert "also the source of the library" in told.err

    def test_reproduce_rejects_a_missing_or_failed_record(self, tmp_path, capsys):
        assert main(["reproduce", str(tmp_path / "none.json")]) == 2
        failed = ScoreRecord.without_score("failed:ValueError", model="m", benchmark="b").write(tmp_path / "m.json")
        assert main(["reproduce", str(failed)]) == 2
        assert "failed:ValueError" in capsys.readouterr().err

    def test_error_names_the_missing_lock_of_an_environment(self, record, capsys):
        made = dataclasses.replace(ScoreRecord.read(record), environment="0" * 64)
        made.write(record)
        assert main(["reproduce", str(record)]) == 3
        told = capsys.readouterr().err
        assert "environment-0000000000000000.txt" in told
        assert "--here" in told
        lock_path(record, made.environment).write_text("numpy==1.0\n")  # the lock of another environment
        assert main(["reproduce", str(record)]) == 3

    def test_error_names_packages_that_are_not_available(self, record, own_homes, monkeypatch, capsys):
        for name in ("UV_OFFLINE", "UV_NO_INDEX", "PIP_NO_INDEX"):
            monkeypatch.setenv(name, "1")
        lock = f"python=={platform.python_version()}\nabsent-one==1.0\n"
        made = ScoreRecord.read(record)
        dataclasses.replace(made, environment=keep_lock(record, lock)).write(record)
        assert main(["reproduce", str(record)]) == 3
        assert "absent-one==1.0" in capsys.readouterr().err

    @pytest.mark.slow
    @pytest.mark.usefixtures("shared_caches")
    def test_real_pair_is_reproduced_in_the_environment_of_its_lock(self, own_homes, capsys):
        assert main(["score", "--model", "pixels", "--benchmark", "SimulatedCortex2026.V1-rdm"]) == 0
        path = own_homes / "brain-score/scores/SimulatedCortex2026.V1-rdm/pixels.json"
        made = ScoreRecord.read(path)
        assert main(["reproduce", str(path)]) == 0
        assert "equal: pixels" in capsys.readouterr().out
        lines = read_lock_of(path, made.environment).splitlines(keepends=True)
        lock = "".join(line for line in lines if not line.startswith(("pytest-", "hypothesis==")))
        assert lock != "".join(lines)
        dataclasses.replace(made, environment=keep_lock(path, lock)).write(path)
        assert main(["reproduce", str(path), "--here"]) == 1
        assert "differs: what is installed" in capsys.readouterr().out
        assert main(["reproduce", str(path)]) == 0
        assert "equal: pixels" in capsys.readouterr().out
