import zipfile
from contextlib import contextmanager

import pytest

from brainscore_core.errors import RequirementsError
from brainscore_core.records.record import record_path
from brainscore_core.records.store import read_lock_of
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_vision.__main__ import main
from brainscore_vision.isolation.judge import Candidates

boxed = pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))


@pytest.mark.slow
@boxed
def test_a_pair_is_scored_in_a_box_and_a_lost_candidate_costs_one_benchmark(run_judge, tree, tmp_path):
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
    assert records[0].score == 0.003  # thousandths of what it answered
    assert records[3].score > 0
    assert events == [[step, name] for name in benchmarks for step in ("started", "ended")]
    assert all(record.model_revision for record in records)
    assert records[0].isolation == "box"


@pytest.mark.slow
@boxed
def test_a_record_says_what_the_model_had_in_an_environment_of_its_own_and_is_reproduced(
    run_judge, run_there, tree, tmp_path, monkeypatch
):
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


def test_what_cannot_be_started_is_not_started_for_each_benchmark_anew():
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
def test_a_model_that_is_nowhere_fails_with_its_name_on_every_benchmark(run_judge):
    records, _ = run_judge("hostil", ["attacked-honest", "attacked-raises"], "--isolation", "box")
    assert {record.status for record in records} == {"failed:UnknownIdentifierError"}
    assert "'hostile'" in records[0].message


@pytest.mark.slow
@boxed
def test_a_model_is_prepared_once_for_each_revision(run_there, tmp_path):
    folder = tmp_path / "home" / "cache" / "candidates"
    made = []
    for _ in range(2):
        ended = run_there("prepare", "--model", "hostile", BRAINSCORE_OFFLINE="0")
        assert ended.status == 0, ended.output
        made.append({path: path.stat().st_mtime_ns for path in folder.iterdir() if path.suffix != ".lock"})
    assert made[0] == made[1]
    assert sorted(path.suffix for path in made[0]) == ["", ".fetched"]


@pytest.mark.slow
def test_without_a_box_the_model_is_in_the_process_of_the_judge_if_it_is_ones_own(run_judge):
    records, _ = run_judge("hostile", ["attacked-honest"], "--isolation", "none")
    assert (records[0].status, records[0].isolation) == ("scored", "none")


@pytest.mark.slow
def test_without_a_box_no_model_is_beside_private_data(run_judge, tree, monkeypatch, tmp_path):
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


def test_an_isolation_that_does_not_exist_is_wrong_usage(tmp_path, capsys):
    arguments = ["--model", "m", "--benchmark", "b", "--records", str(tmp_path), "--events", str(tmp_path / "e")]
    assert main(["judge", *arguments, "--isolation", "glass"]) == 2
    assert "'glass'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
