import os
import sys
import zipfile
from contextlib import contextmanager

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_core.processes import run_bounded
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import read_lock_of
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_vision.__main__ import main
from brainscore_vision.isolation.judge import Candidates

boxed = pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))


@pytest.mark.slow
@boxed
def test_lost_candidate_in_a_box_costs_only_one_benchmark(run_judge, tree, tmp_path):
    forged = tmp_path / "records" / "attacked-forges" / "hostile.json"
    target = tree / "benchmarks" / "attacked" / "target.txt"
    target.write_text(f"{forged}|{{}}")
    benchmarks = ["attacked-changes_libraries", "attacked-forges", "attacked-permuted", "attacked-honest"]
    records, events = run_judge("hostile", benchmarks, "--isolation", "box")
    target.unlink()
    assert [record.status for record in records] == [
        "scored",
        "failed:CandidateDiedError",
        "failed:InvalidAnswerError",
        "scored",
    ]
    assert records[0].score == 0.003  # a thousandth of the answer
    assert records[3].score > 0
    assert events == [[step, name] for name in benchmarks for step in ("started", "ended")]
    assert all(record.model_revision for record in records)
    assert records[0].isolation == "box"


@pytest.mark.slow
@boxed
def test_record_lists_the_model_environment_and_is_reproduced(run_judge, run_there, tree, tmp_path, monkeypatch):
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "yes")
    folder = tree / "models" / "hostile"
    wheel, info = folder / "own_example-1.5-py3-none-any.whl", "own_example-1.5.dist-info"
    try:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("own_example.py", "x = 1\n")
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: own_example\nVersion: 1.5\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        (folder / "requirements.txt").write_text(f"own_example @ {wheel.as_uri()}\n")
        (record,), _ = run_judge("hostile", ["attacked-honest"], "--isolation", "box")
        assert record.status == "scored", record.message
        path = record_path(tmp_path / "records", "hostile", "attacked-honest")
        again = run_there("reproduce", path)
    finally:
        wheel.unlink(missing_ok=True)
        (folder / "requirements.txt").unlink(missing_ok=True)
    assert again.status == 0, again.output
    assert "equal: hostile on attacked-honest" in again.output
    judge, own = (read_lock_of(path, each) for each in (record.environment, record.candidate_environment))
    assert set(own.splitlines()) - set(judge.splitlines()) == {"own-example==1.5"}
    assert set(judge.splitlines()) <= set(own.splitlines())


@boxed
@pytest.mark.slow
def test_silence_garbage_and_errors_become_records(run_judge):
    (silent,), _ = run_judge("hostile", ["attacked-is_silent"], "--isolation", "box", "--answer", "5")
    (garbled, failed), _ = run_judge("hostile", ["attacked-writes_garbage", "attacked-raises"], "--isolation", "box")
    expected = ["CandidateTimeoutError", "InvalidAnswerError", "CandidateError"]
    assert [record.status for record in (silent, garbled, failed)] == [f"failed:{name}" for name in expected]
    assert len(failed.message) <= 1_000


def test_failed_start_is_not_repeated_for_each_benchmark():
    attempts = []

    @contextmanager
    def start():
        attempts.append("one")
        raise RequirementsError("What it requires cannot be installed.")
        yield

    with Candidates(start) as candidates:
        with pytest.raises(RequirementsError, match="cannot be installed"):
            candidates.begin()
        candidates.begin()
        with pytest.raises(RequirementsError, match="cannot be installed"):
            candidates.candidate()
    assert attempts == ["one"]


@boxed
@pytest.mark.slow
def test_misspelled_model_fails_on_every_benchmark_with_a_hint(run_judge):
    records, _ = run_judge("hostil", ["attacked-honest", "attacked-raises"], "--isolation", "box")
    assert {record.status for record in records} == {"failed:UnknownIdentifierError"}
    assert "'hostile'" in records[0].message


@pytest.mark.slow
@boxed
def test_model_is_prepared_once_per_revision(run_there, tmp_path):
    folder = tmp_path / "home" / "cache" / "candidates"
    made = []
    for _ in range(2):
        ended = run_there("prepare", "--model", "hostile", BRAINSCORE_OFFLINE="0")
        assert ended.status == 0, ended.output
        made.append({path: path.stat().st_mtime_ns for path in folder.iterdir() if path.suffix != ".lock"})
    assert made[0] == made[1]
    assert sorted(path.suffix for path in made[0]) == ["", ".fetched"]


@pytest.mark.slow
def test_isolation_none_runs_the_model_in_the_judge_process(run_judge):
    records, _ = run_judge("hostile", ["attacked-honest"], "--isolation", "none")
    assert (records[0].status, records[0].isolation) == ("scored", "none")


@pytest.mark.slow
def test_private_data_are_refused_without_a_box(run_judge, tree, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))  # no bubblewrap
    (record,), _ = run_judge("hostile", ["attacked-honest"])
    assert record.status == "failed:IsolationError"
    assert "'attacked-honest' has private data" in record.message
    assert "install bubblewrap" in record.message
    metadata = tree / "benchmarks" / "attacked" / "metadata.yml"
    metadata.write_text("access: public\n")
    (record,), _ = run_judge("hostile", ["attacked-honest"])
    metadata.unlink()
    assert (record.status, record.isolation) == ("scored", "none")


def test_unknown_isolation_is_a_usage_error(tmp_path, capsys):
    arguments = ["--model", "m", "--benchmark", "b", "--records", str(tmp_path), "--events", str(tmp_path / "e")]
    assert main(["judge", *arguments, "--isolation", "glass"]) == 2
    assert "'glass'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


UNMOVED = """
import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_vision import model_registry
from brainscore_vision.model_interface import BrainModel


class Unmoved(BrainModel):
    def __init__(self, value):
        self.value = value

    @property
    def identifier(self):
        return f"unmoved-{self.value}"

    def visual_degrees(self):
        return 8

    def start_recording(self, recording_target, time_bins):
        self.labels = None

    def start_task(self, task, fitting_stimuli):
        self.labels = sorted(set(fitting_stimuli["image_label"]))

    def look_at(self, stimuli, number_of_trials=1):
        columns = self.labels or ["unit"]
        kind, dim = (BehavioralAssembly, "choice") if self.labels else (NeuroidAssembly, "neuroid")
        coords = {"stimulus_id": ("presentation", stimuli["stimulus_id"].tolist())}
        coords[dim if self.labels else "neuroid_id"] = dim, columns
        return kind(np.full((len(stimuli), len(columns)), self.value), coords=coords, dims=["presentation", dim])


model_registry["unmoved-1.0"] = lambda: Unmoved(1.0)
model_registry["unmoved-True"] = lambda: Unmoved(True)
"""


@pytest.mark.slow
@boxed
@pytest.mark.parametrize("model", ["unmoved-1.0", "unmoved-True"])
@pytest.mark.usefixtures("shared_caches")
def test_constant_answers_to_stimuli_score_0(model, tmp_path):
    """Averages skip inapplicable scores: a model could otherwise choose the benchmarks that it is good at."""
    plugin = tmp_path / "plugins/models/unmoved"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(UNMOVED)
    benchmarks = [f"SimulatedCortex2026{name}" for name in (".V1-rdm", ".V1-pref_or", "-i2n")]
    judge = ["judge", "--model", model, "--benchmark", *benchmarks, "--records", tmp_path, "--events", tmp_path / "log"]
    ended = run_bounded(
        [sys.executable, "-m", "brainscore_vision", *judge, "--isolation", "box"],
        environment={**os.environ, "BRAINSCORE_PLUGINS": str(tmp_path / "plugins"), "BRAINSCORE_OFFLINE": "1"},
        timeout_s=300,
    )
    assert ended.status == 0, ended.output
    for name in benchmarks:
        record = ScoreRecord.read(record_path(tmp_path, model, name))
        assert (record.status, record.score, record.isolation) == ("scored", 0.0, "box")
        assert record.error_nan_reason.startswith("0 by rule")
