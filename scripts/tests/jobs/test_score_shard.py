"""A pair is scored in the environment of its requirements, which no other pair sees."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_ci.jobs import score_shard
from brainscore_ci.jobs.score_shard import python_of
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.results import Results
from brainscore_core.plugin_management.environment import python_for
from brainscore_core.records.record import ScoreRecord
from brainscore_core.scoring.pairs import Outcome, Pair


@pytest.fixture
def interpreter_for(tree, tmp_path, monkeypatch, write_wheel):
    """Return a function that returns the interpreter for scoring a model on a benchmark."""
    wheels = tmp_path / "wheels"
    for version in ("1", "2"):
        write_wheel(wheels, version)
    for name, value in {"BS_INSTALL_DEPENDENCIES": "yes", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.defpath)  # no uv
    monkeypatch.setattr(score_shard, "boxed_python_for", python_for)  # a box does not contain the wheels

    def score(model, benchmark="Unrelated"):
        return str(python_of(read_own_checkout(tree.path), Pair(model, benchmark, 1.0, 1.0)))

    return score


def version(python):
    command = [python, "-c", "import bs_example; print(bs_example.VERSION)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow  # makes environments
def test_each_set_of_requirements_has_its_own_environment(tree, interpreter_for, monkeypatch):
    for number in ("1", "2"):
        requirements = {"requirements__txt": f"bs_example=={number}\n"}
        tree.plugin(f"models/needs{number}", registers=[("model", f"needs{number}")], **requirements)
        tree.plugin(f"benchmarks/needs{number}", registers=[("benchmark", f"Needs{number}")], **requirements)
    tree.write("vision/brainscore_vision/metrics/similarity/requirements.txt", "bs_example==2\n")
    one, two = interpreter_for("pixels", "Needs1"), interpreter_for("pixels", "Needs2")
    assert (version(one), version(two)) == ("1", "2")
    # The requirements of a metric that the benchmark uses count too; a pair without requirements gets no environment.
    assert interpreter_for("pixels", "Experiment-similarity") == two
    assert interpreter_for("pixels") == sys.executable
    assert importlib.util.find_spec("bs_example") is None
    assert interpreter_for("needs1", "Needs2") == two  # a boxed model has its own environment


def test_pairs_use_this_interpreter_without_installation(tree, interpreter_for, monkeypatch):
    tree.plugin("models/needs", registers=[("model", "needs")], requirements__txt="bs_example\n")
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "no")
    assert interpreter_for("needs") == sys.executable
    assert Path(sys.executable).is_file()


def test_nothing_is_scored_without_boxes(tree, tmp_path, monkeypatch, capsys):
    """Even on public data, a model could change the records of others or its own score."""
    plan = Plan(base=None, head=None, event="push", changed=("x",), pairs=(Pair("pixels", "Unrelated", 1.0, 1.0),))
    (tmp_path / "plan.json").write_text(plan.to_json())
    monkeypatch.chdir(tree.path)
    monkeypatch.setattr(score_shard, "why_no_box", lambda: "No bubblewrap.")
    monkeypatch.setattr(score_shard, "run_batch", lambda *_, **__: pytest.fail("a pair is scored"))
    assert score_shard.run(tmp_path / "plan.json", tmp_path / "records", minutes=1.0) == 1
    assert "Nothing is scored: public scores need boxes. No bubblewrap." in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("enabled", [True, False])
def test_previews_are_scored_twice_for_automatic_merges(tree, tmp_path, monkeypatch, enabled):
    tree.write(
        "pyproject.toml",
        f"""
        [tool.brainscore.ci]
        libraries = ["vision/brainscore_vision"]
        [tool.brainscore.ci.merge]
        enabled = {str(enabled).lower()}
        """,
    )
    pair = Pair("pixels", "Unrelated", 1.0, 1.0)
    plan = Plan(base=None, head=None, event="pull_request", changed=("x",), previews=(pair,))
    (tmp_path / "plan.json").write_text(plan.to_json())
    scores = iter([0.25, 0.5])  # each from another box

    def run_batch(batch, *_, **__):
        record = ScoreRecord.without_score("scored", model="pixels", benchmark="Unrelated")
        yield Outcome(dataclasses.replace(record, score=next(scores)))

    monkeypatch.chdir(tree.path)
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "no")
    monkeypatch.setattr(score_shard, "why_no_box", lambda: None)
    monkeypatch.setattr(score_shard, "run_batch", run_batch)
    folder = tmp_path / "records"
    assert score_shard.run(tmp_path / "plan.json", folder, minutes=60.0, previews=True, results=tmp_path / "r") == 0
    (result,) = Results.from_json((tmp_path / "r/pairs-0.json").read_bytes()).pairs
    assert (result.again, result.score) == ((0.25, 0.5) if enabled else (None, 0.25))
    assert not result.is_reproduced
    assert Results.merge(
        [Results(pairs=(dataclasses.replace(result, again=result.score),)), Results(pairs=(result,))]
    ) == (Results(pairs=(result,)))
