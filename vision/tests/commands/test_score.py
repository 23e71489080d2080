from contextlib import nullcontext

import pytest

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_core.plugin_management import environment
from brainscore_core.records.record import ScoreRecord
from brainscore_vision import benchmark_registry
from brainscore_vision.__main__ import main
from brainscore_vision.identity import ingredients
from brainscore_vision.isolation import judge
from brainscore_vision.model_interface import region_layers
from brainscore_vision.testing.random_model import RandomModel

pytestmark = pytest.mark.usefixtures("shared_caches")
V1, IT = "SimulatedCortex2026.V1-pls", "SimulatedCortex2026.IT-pls"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "pixels", "--benchmark", V1, "SimulatedCortex2026.V1-plz"], f"Did you mean '{V1}'"),
        (["--model", "pixels", "pixls", "--benchmark", V1], "Did you mean 'pixels'"),
        (["--model", "pixels", "--benchmark", V1, IT, "--failure", "x.json"], "--failure is for one model"),
        (["--model", "pixels", "mine.py:f", "--benchmark", V1, "--layers", "a"], "options layers are for models in"),
        (["--model", "a.py:f", "b.py:f", "--benchmark", V1, "--name", "a"], "--name is for one model; 2 are given"),
        (["--model", "mine.py:f", "--benchmark", V1, "--region-layer", "V4"], "--region-layer V4 names no layer"),
    ],
)
def test_wrong_names_are_rejected_before_scoring(arguments, said, own_homes, capsys):
    assert main(["score", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (own_homes / "brain-score" / "scores").exists()


@pytest.mark.parametrize("value", [["--conda_active"], ["--conda_active", "True"], ["--conda_active=False"]])
def test_accepts_option_spellings_of_the_published_system(value, capsys):
    pair = ["--model_identifier=pixls", f"--benchmark_identifier={V1}"]
    for arguments in ([*value, *pair], [*pair, *value]):
        assert main(["score", *arguments]) == 2
        assert "Did you mean 'pixels'" in capsys.readouterr().err


def test_private_data_without_isolation_needs_an_explicit_option(own_homes, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(judge, "why_no_box", lambda: "bubblewrap is not installed.")
    monkeypatch.setattr(judge.software, "is_reviewed", lambda folder, distribution: True)  # both belong to the library
    mark, mine = tmp_path / "was-here", tmp_path / "mine.py"
    mine.write_text(f"def f():\n    open({str(mark)!r}, 'w')\n    raise KeyError('mine')\n")
    for model in ("pixels", f"{mine}:f"):
        command = ["score", "--model", model, "--benchmark", "MajajHong2015.IT-pls"]
        assert main(command) == 3
        assert "pass --isolation none to 'brainscore score'" in capsys.readouterr().err
        assert not mark.exists()
        assert main([*command, "--isolation", "none"]) in (1, 3)
        assert "isolation" not in capsys.readouterr().err
    assert mark.exists()


class Half(BenchmarkBase):
    """A benchmark that gives every model the score .5."""

    def __init__(self, identifier):
        super().__init__(identifier=identifier, version=1, ceiling_func=lambda: Score(1), parent="IT", bibtex="")

    def __call__(self, candidate):
        result = Score(0.5)
        result.attrs["layers"] = dict(region_layers(candidate))
        return result


@pytest.mark.slow
def test_model_in_a_file_is_recorded_under_its_name(own_homes, tmp_path, capsys, monkeypatch):
    first, second = sorted((IT, V1))
    for name in (first, second):
        monkeypatch.setitem(benchmark_registry, name, lambda name=name: Half(name))
    scores, mine = own_homes / "brain-score" / "scores", tmp_path / "mine.py"
    mine.write_text(
        "import numpy as np\n"
        "from brainscore_vision.testing.random_model import RandomModel\n"
        "def f():\n    return lambda images: np.stack([np.asarray(each.resize((4, 4))) for each in images])\n"
        "def absent():\n    raise KeyError('weights')\n"
    )
    regions = ["--region-layer", "V4=absent", "V1=output"]
    assert main(["score", "--benchmark", first, "--model", f"{mine}:f", *regions]) == 1
    assert "has no layer 'absent'" in capsys.readouterr().err
    regions = ["--region-layer", "IT=output", "V1=output"]
    assert main(["score", "--benchmark", first, "--model", f"{mine}:f", *regions]) == 0
    assert "layers    IT: output" in capsys.readouterr().out
    one, both = ["score", "--benchmark", first, "--model"], ["score", "--benchmark", first, second, "--model"]
    assert main([*one, f"{mine}:f"]) == 0
    assert "record    not written: give the model a unique name (identifier=..., --name)" in capsys.readouterr().out
    assert not scores.exists()
    assert main([*one, f"{mine}:f", "--name", "mine"]) == 0
    assert str(scores / first / "mine.json") in capsys.readouterr().out
    assert main([*both, f"{mine}:RandomModel", "--name", "chance"]) == 0  # a BrainModel already has a name
    assert main([*both, f"{mine}:absent", "--name", "unlucky"]) not in (0, 4)
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert rows == ["MODEL", "chance", "chance", "MODEL", "unlucky", "unlucky"]
    recorded = sorted(f"{file.parent.name}/{file.stem}" for file in scores.glob("*/*.json"))
    assert recorded == [f"{first}/chance", f"{first}/mine", f"{second}/chance"]
    assert main(["compare", "mine", "chance", "--benchmark", first]) == 0
    assert [row.split()[1] for row in capsys.readouterr().out.splitlines()[1:3]] == ["mine", "chance"]


def test_model_with_conflicting_numpy_runs_in_its_own_process(own_homes, monkeypatch, capsys):
    monkeypatch.setitem(benchmark_registry, V1, lambda: Half(V1))
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", "newenv")
    monkeypatch.setattr(
        environment, "conflicts_of", lambda folders: ["numpy>=2"] if folders[0].name == "pixels" else []
    )
    monkeypatch.setattr(judge, "started", lambda model: nullcontext(RandomModel()))
    assert main(["score", "--model", "pixels", "--benchmark", V1]) == 0
    record = ScoreRecord.read(own_homes / "brain-score" / "scores" / V1 / "pixels.json")
    assert (record.model, record.isolation, record.score) == ("pixels", "box", 0.5)


def test_score_is_shown_if_its_record_cannot_be_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(benchmark_registry, V1, lambda: Half(V1))
    (tmp_path / "file").touch()
    command = ["score", "--model", "pixels", "--benchmark", V1, "--isolation", "none"]
    assert main([*command, "--record", str(tmp_path / "file/record.json")]) == 2
    said = capsys.readouterr()
    assert f"{tmp_path / 'file/record.json'} cannot be written" in said.err
    assert "score  " not in said.out

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ingredients, "keep", full)
    with pytest.warns(UserWarning, match="could not be written: .*No space left on device"):
        assert main([*command, "--record", str(tmp_path / "record.json")]) == 1
    assert "score     0.5" in capsys.readouterr().out
