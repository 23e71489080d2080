"""`brainscore score` of one pair, and what is wrong about several."""

import json

import pytest

from brainscore_vision.__main__ import main

V1, IT = "SimulatedCortex2026.V1-pls", "SimulatedCortex2026.IT-pls"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "pixels", "--benchmark", V1, "SimulatedCortex2026.V1-plz"], f"Did you mean '{V1}'"),
        (["--model", "pixels", "pixls", "--benchmark", V1], "Did you mean 'pixels'"),
        (["--model", "pixels", "--benchmark", V1, IT, "--failure", "x.json"], "--failure is for one model"),
        (["--model", "pixels", "mine.py:f", "--benchmark", V1, "--layers", "a"], "options layers are for models in"),
    ],
)
def test_a_wrong_name_costs_no_score(arguments, said, own_homes, capsys):
    assert main(["score", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (own_homes / "brain-score" / "scores").exists()


@pytest.mark.parametrize("value", [["--conda_active"], ["--conda_active", "True"], ["--conda_active=False"]])
def test_spellings_of_the_published_system(value, tmp_path, capsys):
    record = tmp_path / "record.json"
    pair = ["--model_identifier=pixels", f"--benchmark_identifier={V1}", "--record", str(record)]
    assert main(["score", *value, *pair]) == 0
    assert main(["score", *pair, *value]) == 0
    assert "SIMULATED" in capsys.readouterr().out
    content = json.loads(record.read_text())
    assert content["model_revision"].startswith("folder-")
    assert content["benchmark_revision"].startswith("folder-")


def test_a_model_that_is_no_plugin_has_a_revision_too(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def make():\n"
        "    return lambda images: np.stack([np.asarray(each.resize((9, 9)), dtype=float) for each in images])\n"
    )
    record, failure = tmp_path / "record.json", tmp_path / "failure.json"
    files = ["--record", str(record), "--failure", str(failure)]
    assert main(["score", "--model", f"{tmp_path}/mine.py:make", "--benchmark", V1, "--name", "mine", *files]) == 0
    assert json.loads(record.read_text())["model_revision"] == "unregistered"
    assert main(["score", "--model", "pixls", "--benchmark", V1, *files]) == 2
    content = json.loads(failure.read_text())
    assert (content["model_revision"], content["benchmark_revision"][:7]) == ("unregistered", "folder-")
