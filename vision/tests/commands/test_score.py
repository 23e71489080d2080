"""`brainscore score` of one pair, and what is wrong about several."""

import pytest

from brainscore_vision.__main__ import main

pytestmark = pytest.mark.usefixtures("shared_caches")
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
def test_spellings_of_the_published_system(value, capsys):
    pair = ["--model_identifier=pixls", f"--benchmark_identifier={V1}"]
    for arguments in ([*value, *pair], [*pair, *value]):
        assert main(["score", *arguments]) == 2
        assert "Did you mean 'pixels'" in capsys.readouterr().err


def test_no_model_is_loaded_beside_private_data_unless_it_is_ones_own(own_homes, tmp_path, capsys):
    mark, mine = tmp_path / "was-here", tmp_path / "mine.py"
    mine.write_text(f"def f():\n    open({str(mark)!r}, 'w')\n    raise KeyError('mine')\n")
    for model in ("pixels", f"{mine}:f"):
        command = ["score", "--model", model, "--benchmark", "MajajHong2015.IT-pls"]
        assert main(command) == 3
        assert "'brainscore score --isolation none' says so" in capsys.readouterr().err
        assert not mark.exists()
        assert main([*command, "--isolation", "none"]) in (1, 3)
        assert "isolation" not in capsys.readouterr().err
    assert mark.exists()
