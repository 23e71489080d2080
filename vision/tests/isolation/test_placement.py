"""Where ``brainscore score`` runs a model by default: here, in a box, or not at all."""

from contextlib import nullcontext

import pytest

from brainscore_core.errors import IsolationError
from brainscore_core.records.record import ScoreRecord
from brainscore_vision.__main__ import main
from brainscore_vision.catalogue import facts
from brainscore_vision.catalogue.entries import access_of, entries, plugin_index
from brainscore_vision.isolation import judge
from brainscore_vision.isolation.judge import ModelPlace, place_unasked, refuse_beside_private
from brainscore_vision.testing.random_model import RandomModel

MODEL = """
import os
from pathlib import Path
from brainscore_vision import model_registry
from brainscore_vision.testing.random_model import RandomModel

def make():
    Path(os.environ["WAS_HERE"]).touch()
    return RandomModel()

model_registry["mymodel"] = make
"""
BENCHMARK = """
from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_vision import benchmark_registry, load_dataset

class Mine(BenchmarkBase):
    def __init__(self):
        super().__init__(
            identifier="MyExperiment2024-accuracy", version=1, ceiling_func=lambda: Score(1), parent="IT", bibtex=""
        )

    def __call__(self, candidate):
        return Score(0.5)

benchmark_registry["MyExperiment2024-accuracy"] = Mine
"""
PAIR = ("mymodel", "MyExperiment2024-accuracy")
COMMAND = ["score", "--model", PAIR[0], "--benchmark", PAIR[1]]


@pytest.fixture(scope="module")
def library_data():
    """Return the library's data entries, which take a second to list."""
    return entries()


@pytest.fixture
def plugins(tmp_path, monkeypatch, library_data):
    """Return a folder of plugins as in the tutorials, on a machine without boxes."""
    for kind, name, text in (("models", "mymodel", MODEL), ("benchmarks", "myexperiment2024", BENCHMARK)):
        (tmp_path / kind / name).mkdir(parents=True)
        (tmp_path / kind / name / "__init__.py").write_text(text)
    monkeypatch.setenv("BRAINSCORE_PLUGINS", str(tmp_path))
    monkeypatch.setenv("WAS_HERE", str(tmp_path / "was-here"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(facts, "entries", lambda: library_data)
    monkeypatch.setattr(judge, "why_no_box", lambda: "bubblewrap is not installed.")
    return tmp_path


def state_access(plugins, access):
    (plugins / "benchmarks/myexperiment2024/metadata.yml").write_text(f"access: {access}\n")


@pytest.mark.parametrize("access", [None, "<public or private>"])
def test_own_plugins_are_scored_without_a_box(plugins, own_homes, access, capsys):
    if access:
        state_access(plugins, access)
    assert main(COMMAND) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "who may read" in line]
    assert len(warnings) == 1
    record = ScoreRecord.read(own_homes / "brain-score/scores" / PAIR[1] / "mymodel.json")
    assert (record.score, record.isolation, record.data_access) == (0.5, "none", "unstated")


def test_box_is_used_by_default(plugins, own_homes, monkeypatch, capsys):
    monkeypatch.setattr(judge, "why_no_box", lambda: None)
    monkeypatch.setattr(judge, "started", lambda model: nullcontext(RandomModel()))
    for access in (None, "private"):
        if access:
            state_access(plugins, access)
        assert main(COMMAND) == 0
        record = ScoreRecord.read(own_homes / "brain-score/scores" / PAIR[1] / "mymodel.json")
        assert (record.isolation, record.data_access) == ("box", None)
    assert "who may read" not in capsys.readouterr().err
    assert not (plugins / "was-here").exists()


@pytest.mark.parametrize("access", ["private", "Private", "internal", "[unreadable"])
def test_unreviewed_model_does_not_run_with_private_data(plugins, access, capsys):
    state_access(plugins, access)
    assert main(COMMAND) == 3
    assert "pass --isolation none to 'brainscore score'" in capsys.readouterr().err
    assert not (plugins / "was-here").exists()


def test_benchmark_on_private_data_is_private_by_default(plugins, capsys):
    file = plugins / "benchmarks/myexperiment2024/__init__.py"
    for name in ('"MajajHong2015.private"', '"MajajHong" + "2015.private"', "NAME"):
        file.write_text(BENCHMARK.replace("return Score(0.5)", f"load_dataset({name})\n        return Score(0.5)"))
        assert main(COMMAND) == 3
    assert not (plugins / "was-here").exists()


def test_ci_judge_and_campaigns_refuse_data_of_unstated_access(plugins, monkeypatch):
    with pytest.raises(IsolationError, match="none of its plugins states 'access: public'"):
        refuse_beside_private(*PAIR)
    assert place_unasked(*PAIR) == ModelPlace("none", "unstated")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(IsolationError, match="none of its plugins states 'access: public'"):
        place_unasked(*PAIR)


def test_model_in_a_file_does_not_run_with_private_data(plugins, tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "why_no_box", lambda: None)  # boxes cannot run a model in a file
    file = f"{tmp_path / 'mine.py'}:f"
    assert place_unasked(file, PAIR[1], is_file=True) == ModelPlace("none", "unstated")
    state_access(plugins, "private")
    with pytest.raises(IsolationError):
        place_unasked(file, PAIR[1], is_file=True)


def test_only_reviewed_models_run_with_private_data(plugins, monkeypatch):
    monkeypatch.setattr(judge.software, "is_reviewed", lambda folder, distribution: True)
    state_access(plugins, "private")
    assert place_unasked("pixels", PAIR[1]) == ModelPlace()
    with pytest.raises(IsolationError):
        place_unasked(*PAIR)
    monkeypatch.setattr(judge.software, "is_reviewed", lambda folder, distribution: False)
    with pytest.raises(IsolationError):
        place_unasked("pixels", PAIR[1])


def test_every_plugin_of_the_library_states_access_to_its_data():
    """Data without stated access count as the user's own, which the library's are not."""
    folders = [plugin.directory for kind in ("data", "benchmarks") for plugin in plugin_index().plugins(kind)]
    assert len(folders) > 50
    assert [folder.name for folder in folders if access_of("", folder) is None] == []


def test_benchmark_without_a_literal_name_counts_as_private(plugins, monkeypatch):
    monkeypatch.setattr(judge, "benchmark_facts", lambda benchmark: [])
    for refuse in (refuse_beside_private, place_unasked):
        with pytest.raises(IsolationError, match="none of its plugins states 'access: public'"):
            refuse(*PAIR)
