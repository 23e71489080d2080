import dataclasses
import io
import json
import os
import subprocess
import sys
import time

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import FolderStore
from brainscore_core.scoring.pairs import Outcome, Pair
from brainscore_vision.__main__ import main
from brainscore_vision.commands import campaign

pytestmark = pytest.mark.usefixtures("shared_caches")
V1, IT = "SimulatedCortex2026.V1-pls", "SimulatedCortex2026.IT-pls"


@pytest.fixture
def scored(tmp_path, monkeypatch):
    """Give pairs fixed statuses without starting a process; return the stand-in, which records its requests."""
    asked = []

    def run_here(batches, library, limits, *, jobs, isolation, start, minutes):
        offline = os.environ.get("BRAINSCORE_OFFLINE")
        asked.append({"batches": batches, "limits": limits, "jobs": jobs, "isolation": isolation, "offline": offline})
        for pair in (pair for batch in batches for pair in batch.pairs):
            start(pair)
            status, score = run_here.statuses.get((pair.model, pair.benchmark), ("scored", 0.5))
            record = ScoreRecord.without_score(status, "why\nand what more", model=pair.model, benchmark=pair.benchmark)
            yield Outcome(dataclasses.replace(record, score=score))

    run_here.statuses = {}
    run_here.asked = asked
    monkeypatch.setattr(campaign, "run_here", run_here)
    monkeypatch.setattr(campaign, "why_no_box", lambda: None)
    return run_here


def score(tmp_path, *arguments):
    return main(["score", *arguments, "--records", str(tmp_path)])


def pairs_of(asked):
    return sorted((pair.model, pair.benchmark) for batch in asked["batches"] for pair in batch.pairs)


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x9b31m", "\x1b]52;c;ZXZpbA==\x07", "\u202etxen"])
def test_control_characters_of_messages_are_escaped(hostile, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    pair = Pair(model="m", benchmark="b", minutes=1, memory_gb=1)
    record = ScoreRecord.without_score("failed:ValueError", hostile, model="m", benchmark="b")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with campaign.telling([pair]) as (start, tell):
        start(pair)
        tell(pair, Outcome(record))
    assert hostile not in terminal.getvalue()
    assert json.dumps(hostile)[1:-1] in terminal.getvalue()


def batch_benchmarks(asked):
    return [pair.benchmark for batch in asked["batches"] for pair in batch.pairs]


def test_resumed_campaign_reports_each_pair_that_starts(scored, tmp_path, capsys):
    assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, IT) == 0
    capsys.readouterr()
    assert score(tmp_path, "--models", "pixels", "gabor_bank", "--benchmarks", V1, IT) == 0
    said = capsys.readouterr().err.splitlines()
    assert sorted(line for line in said if "starts" in line) == [
        f"[{number}/2] gabor_bank on {benchmark}: starts"
        for number, benchmark in enumerate(batch_benchmarks(scored.asked[-1]))
    ]


def test_campaign_reports_running_pairs_periodically(capsys):
    pair = Pair(model="m", benchmark="b", minutes=1, memory_gb=1)
    with campaign.telling([pair], heartbeat_s=0.01) as (start, _):
        start(pair)
        deadline = time.monotonic() + 20
        said = ""
        while "running: m on b (" not in said and time.monotonic() < deadline:
            said += capsys.readouterr().err
    assert "[0/1] running: m on b (" in said
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""  # reports end with the campaign


def test_table_has_every_model_with_every_benchmark(scored, tmp_path, capsys):
    assert score(tmp_path, "--models", "pixels", "gabor*", "--benchmarks", V1, IT) == 0
    printed = capsys.readouterr()
    header, *rows = [line.split() for line in printed.out.splitlines()]
    assert header[:3] == ["MODEL", "BENCHMARK", "SCORE"]
    assert [row[:3] for row in rows] == [
        [model, benchmark, "0.5000"] for model in ("pixels", "gabor_bank") for benchmark in (V1, IT)
    ]
    assert "4 of 4 pairs to score" in printed.err
    assert "[4/4]" in printed.err
    records = list(FolderStore(tmp_path))
    assert len(records) == 4
    assert {record.model_revision[:7] for record in records} == {"folder-"}
    (asked,) = scored.asked
    assert sorted(batch.model for batch in asked["batches"]) == ["gabor_bank", "pixels"]
    assert (asked["jobs"], asked["isolation"]) == (1, "auto")


def test_accepts_all_and_lists_from_files(scored, tmp_path, capsys):
    (tmp_path / "models.txt").write_text("# small ones\npixels\n")
    arguments = ["--models", f"@{tmp_path}/models.txt", "--benchmarks", "all", "--offline"]
    assert score(tmp_path, *arguments, "--dry-run") == 0
    printed = capsys.readouterr()
    assert scored.asked == []
    benchmarks = {line.split()[2] for line in printed.out.splitlines()[1:]}
    assert {V1, IT} <= benchmarks
    assert all(name.startswith("SimulatedCortex2026") for name in benchmarks)  # the only data in the package
    assert "Left out because their data are not on this machine" in printed.err


@pytest.mark.slow
def test_same_command_resumes_the_campaign(scored, tmp_path, capsys):
    scored.statuses = {("pixels", IT): ("failed:Timeout", None), ("gabor_bank", IT): ("failed:NoLayerError", None)}
    arguments = ["--models", "pixels", "gabor_bank", "--benchmarks", V1, IT]
    assert score(tmp_path, *arguments) == 1
    assert "Failed: 1 Timeout, 1 NoLayerError" in capsys.readouterr().err
    assert score(tmp_path, *arguments) == 1  # failed pairs still count as failures and are not retried
    printed = capsys.readouterr()
    assert "0 of 4 pairs to score" in printed.err
    assert printed.out.count("0.5000") == 2
    assert len(scored.asked) == 1
    scored.statuses = {}
    assert score(tmp_path, *arguments, "--retry", "Timeout") == 1
    assert pairs_of(scored.asked[1]) == [("pixels", IT)]
    assert score(tmp_path, *arguments, "--retry", "all") == 0
    assert pairs_of(scored.asked[2]) == [("gabor_bank", IT)]
    for again in ("--force", "--no-resume"):
        assert score(tmp_path, *arguments, again) == 0
        assert len(pairs_of(scored.asked[-1])) == 4


@pytest.mark.slow
def test_changed_code_is_scored_again(scored, tmp_path):
    arguments = ["--models", "pixels", "--benchmarks", V1, IT]
    assert score(tmp_path, *arguments) == 0
    path = record_path(tmp_path, "pixels", V1)
    dataclasses.replace(ScoreRecord.read(path), model_revision="folder-0123456789abcdef").write(path)
    assert score(tmp_path, *arguments) == 0
    assert pairs_of(scored.asked[1]) == [("pixels", V1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ({}, 0),
        ({("pixels", V1): ("not_applicable", None)}, 0),
        ({("pixels", V1): ("not_applicable", None), ("pixels", IT): ("skipped:private", None)}, 4),
        ({("pixels", V1): ("skipped:private", None)}, 4),
        ({("pixels", V1): ("not_applicable", None), ("pixels", IT): ("failed:SIGSEGV", None)}, 1),
    ],
)
def test_exit_status_reflects_the_outcomes(scored, tmp_path, statuses, code):
    scored.statuses = statuses
    assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, IT) == code


@pytest.mark.slow
def test_not_applicable_pairs_are_not_retried(scored, tmp_path, capsys):
    scored.statuses = {("pixels", V1): ("not_applicable", None)}
    arguments = ["--models", "pixels", "--benchmarks", V1, IT]
    assert score(tmp_path, *arguments) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].endswith("not applicable")
    assert "pixels on " + V1 + ": not applicable" in printed.err
    assert "2 pairs: 1 scored, 1 not applicable, 0 left out, 0 failed" in printed.err
    assert score(tmp_path, *arguments, "--retry", "all") == 0  # it stays not applicable with the same code
    assert len(scored.asked) == 1
    assert score(tmp_path, *arguments, "--force") == 0
    assert len(pairs_of(scored.asked[1])) == 2


def test_unwritable_records_folder_is_a_single_error(scored, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert score(tmp_path / "file", "--models", "pixels", "--benchmarks", V1, IT) == 1
    said = capsys.readouterr().err
    assert said.count("Error: ") == 1
    assert f"Error: No record can be written to {tmp_path}/file" in said
    assert scored.asked == []


def test_pair_without_a_record_is_a_failure(scored, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(campaign, "run_here", lambda batches, **_: iter(()))
    assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, IT) == 1
    printed = capsys.readouterr()
    assert printed.out.count("failed:NoRecord") == 2
    assert "no new record, no time was left for it" in printed.err


def test_offline_skips_pairs_with_unavailable_files(scored, tmp_path, capsys):
    scored.statuses = {("alexnet", V1): ("failed:OfflineError", None)}
    assert score(tmp_path, "--models", "alexnet", "pixels", "--benchmarks", V1, "--offline") == 4
    printed = capsys.readouterr()
    assert "skipped:not here without a network: why" in printed.out
    (told,) = (line for line in printed.err.splitlines() if "] alexnet" in line and not line.endswith("starts"))
    assert told.partition("] ")[2].partition(";")[0] == f"alexnet on {V1}: skipped:not here without a network: why"
    assert "2 pairs: 1 scored, 0 not applicable, 1 left out, 0 failed" in printed.err
    assert score(tmp_path, "--models", "alexnet", "pixels", "--benchmarks", V1) == 1  # with a network it is a failure
    assert pairs_of(scored.asked[1]) == [("alexnet", V1)]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "during"), [(None, "data"), ("0", "data"), ("data", "data"), ("1", "1")])
def test_offline_blocks_data_but_not_packages(scored, tmp_path, monkeypatch, before, during):
    monkeypatch.delenv("BRAINSCORE_OFFLINE", raising=False)
    if before is not None:
        monkeypatch.setenv("BRAINSCORE_OFFLINE", before)
    assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, "--offline") == 0
    assert scored.asked[0]["offline"] == during
    assert os.environ.get("BRAINSCORE_OFFLINE") == before


@pytest.mark.parametrize(
    ("isolation", "named", "box", "why"),
    [
        ("none", "pixel*", None, "a pattern cannot do. Name the model 'pixels' in full"),
        ("auto", "pixels", "Install bubblewrap.", "the model cannot be isolated in a box. Install bubblewrap."),
        ("none", "pixels", "Install bubblewrap.", None),
    ],
)
def test_private_pairs_without_isolation_need_named_own_models(
    scored, tmp_path, capsys, monkeypatch, isolation, named, box, why
):
    monkeypatch.setattr(campaign, "why_no_box", lambda: box)
    private = "MajajHong2015.IT-pls"
    status = score(tmp_path, "--models", named, "--benchmarks", private, V1, "--isolation", isolation)
    if why is None:
        assert (status, scored.asked[0]["isolation"]) == (0, "none")
        assert set(pairs_of(scored.asked[0])) == {("pixels", private), ("pixels", V1)}
        return
    assert status == 4
    assert pairs_of(scored.asked[0]) == [("pixels", V1)]
    assert why in FolderStore(tmp_path).get("pixels", private).status
    assert ("Models are not isolated" in capsys.readouterr().err) == (box is not None)


def test_isolation_box_never_falls_back(scored, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(campaign, "why_no_box", lambda: "Install bubblewrap.")
    assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, "--isolation", "box") != 0
    assert "Install bubblewrap." in capsys.readouterr().err
    assert scored.asked == []


def test_limits_are_passed_on(scored, tmp_path):
    arguments = ["--models", "pixels", "--benchmarks", V1, IT]
    assert score(tmp_path, *arguments, "--timeout", "3", "--memory", "1.5", "--jobs", "2") == 0
    (asked,) = scored.asked
    pair = asked["batches"][0].pairs[0]
    assert (asked["limits"].seconds(pair), asked["limits"].memory_bytes(pair), asked["jobs"]) == (180, 1.5e9, 2)


def test_interrupted_campaign_keeps_its_records(scored, tmp_path, capsys, monkeypatch):
    def run_here(batches, **_):
        yield Outcome(ScoreRecord.without_score("scored", model="pixels", benchmark=V1))
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "run_here", run_here)
    assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, IT) == 130
    assert "run the same command again" in capsys.readouterr().err
    assert [record.benchmark for record in FolderStore(tmp_path)] == [V1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--models", "pixels", "--benchmarks", "SimulatedCortx*"], "The nearest are 'SimulatedCortex2026"),
        (["--models", "@nothing.txt", "--benchmarks", V1], "nothing.txt cannot be read"),
        (["--models", "mine.py:f", "--benchmarks", V1, IT, "--jobs", "2"], "--jobs is for registered models"),
        (["--models", "pixels", "--benchmarks", V1, IT, "--jobs", "0"], "--jobs"),
    ],
)
def test_rejects_wrong_usage(scored, tmp_path, capsys, arguments, said):
    assert score(tmp_path, *arguments) == 2
    assert said in capsys.readouterr().err
    assert scored.asked == []


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
def test_models_run_in_separate_processes(tmp_path):
    command = [sys.executable, "-m", "brainscore_vision", "score", "--models", "pixels", "gabor_bank"]
    command += ["--benchmarks", "SimulatedCortex2026.IT-rdm", "--jobs", "2", "--records", str(tmp_path)]
    done, again = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))
    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert {record.model: record.status for record in FolderStore(tmp_path)} == {
        "pixels": "scored",
        "gabor_bank": "not_applicable",  # it models V1 and has no layer for IT
    }
    assert "0 of 2 pairs to score" in again.stderr
    assert again.stdout == done.stdout


class TestCluster:
    @pytest.fixture
    def cluster(self, monkeypatch):
        """Let a stand-in cluster score every pair; return the list of its requests."""
        from brainscore_core.scoring.cluster import running

        asked = []

        def run_on_cluster(batches, library, limits, *, cluster, isolation, tell, minutes):
            asked.append({"pairs": pairs_of({"batches": batches}), "cluster": cluster, "isolation": isolation})
            for pair in (pair for batch in batches for pair in batch.pairs):
                record = ScoreRecord.without_score("scored", model=pair.model, benchmark=pair.benchmark)
                yield Outcome(dataclasses.replace(record, score=0.25))

        monkeypatch.setattr(running, "run_on_cluster", run_on_cluster)
        return asked

    def test_pairs_are_scored_on_the_cluster(self, cluster, scored, tmp_path, capsys):
        assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, IT, "--cluster", "local:2") == 0
        assert cluster == [{"pairs": [("pixels", IT), ("pixels", V1)], "cluster": "local:2", "isolation": "auto"}]
        assert scored.asked == []
        assert "2 of 2 pairs to score" in capsys.readouterr().err

    def test_single_pair_is_also_scored_on_the_cluster(self, cluster, tmp_path):
        assert score(tmp_path, "--models", "pixels", "--benchmarks", V1, "--cluster", "tcp://node:8786") == 0
        assert [each["cluster"] for each in cluster] == ["tcp://node:8786"]

    def test_rejects_an_unknown_cluster_and_jobs_with_a_cluster(self, cluster, tmp_path, capsys):
        assert score(tmp_path, "--models", "all", "--benchmarks", "all", "--cluster", "slrum:profile.yml") == 2
        assert "Did you mean 'slurm'?" in capsys.readouterr().err
        assert score(tmp_path, "--models", "all", "--benchmarks", V1, "--cluster", "local", "--jobs", "2") == 2
        assert "--jobs is for this machine" in capsys.readouterr().err
        assert cluster == []
