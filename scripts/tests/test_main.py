"""Test the command line as CI calls it: in a separate process, by its output and exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_ci.__main__ import main

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # starts a process for each pair
def test_score_pairs_writes_a_record_for_each_pair(tmp_path, monkeypatch, capsys, shared_caches):
    pair = {"reasons": [], "minutes": 1, "memory_gb": 4, "private": False}
    benchmarks = ["SimulatedCortex2026.V1-pls"]
    groups = [
        {"models": ["pixels"], "benchmarks": benchmarks, **pair},
        {"models": ["no_such_model"], "benchmarks": benchmarks, **pair},
    ]
    plan = {"base": None, "head": None, "event": "push", "changed": [], "tests": [], "skipped": [], "refused": []}
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "pairs": groups, "previews": groups, "notes": []}))
    options = ["--plan", str(tmp_path / "plan.json"), "--records", str(tmp_path / "records"), "--previews"]
    command = [sys.executable, "-m", "brainscore_ci", "score_pairs", *options, "--results", tmp_path / "results"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=ROOT)
    assert done.returncode == 1, done.stderr  # one of them failed
    folder = tmp_path / "records/SimulatedCortex2026.V1-pls"
    scored, failed = (json.loads((folder / f"{model}.json").read_text()) for model in ("pixels", "no_such_model"))
    assert scored["status"] == "scored"
    assert 0 < scored["score"] < 1
    assert len(scored["model_revision"]) == len(scored["benchmark_revision"]) == 16
    assert failed["status"] == "failed:UnknownIdentifierError"
    (results,) = (tmp_path / "results").iterdir()
    pairs = json.loads(results.read_text())["pairs"]
    assert {(each["model"], each["status"]) for each in pairs} == {
        ("pixels", "scored"),
        ("no_such_model", "failed:UnknownIdentifierError"),
    }
    monkeypatch.chdir(ROOT)
    assert main(["score_pairs", *options, "--shard", "7"]) == 2
    assert "there is no job 7" in capsys.readouterr().err
