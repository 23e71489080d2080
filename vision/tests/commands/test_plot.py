"""`brainscore plot` draws recorded scores; core/tests/plots tests the numbers and names in the figures."""

import dataclasses
import json

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.values import write_values
from brainscore_vision.__main__ import main

pytestmark = pytest.mark.usefixtures("shared_caches")


@pytest.fixture(autouse=True)
def records(own_homes):
    """Write records of three models on two benchmarks that are in the tree of the leaderboard."""
    pytest.importorskip("matplotlib")
    folder = own_homes / "brain-score" / "scores"
    for benchmark in ("SimulatedCortex2026.V1-pls", "SimulatedCortex2026.IT-pls"):
        for number, model in enumerate(("a", "b", "c=x")):
            empty = ScoreRecord.without_score("scored", model=model, benchmark=benchmark, source_revision=None)
            score, path = 0.3 + 0.1 * number, record_path(folder, model, benchmark)
            values = None
            if benchmark.endswith("V1-pls"):
                values = write_values(path, {"raw.neuroid": [0.1, 0.5], "ceiling.neuroid": [0.9, 0.8]})
            given = {
                "score": score,
                "error": 0.02,
                "raw": score,
                "ceiling": 0.9,
                "benchmark_version": 1,
                "duration_s": 5.0,
            }
            dataclasses.replace(empty, **given, values=values, simulated=True).write(path)
    return folder


V1, IT = "SimulatedCortex2026.V1-pls", "SimulatedCortex2026.IT-pls"


@pytest.mark.parametrize(
    ("arguments", "groups"),
    [
        (["scores", V1, "--highlight", "b"], ["score:a", "interval:c=x", "SIMULATED"]),
        (["scores", V1, "--most", "1"], ["score:c=x", "the first 1 are drawn"]),
        (["scores", "--model", "a", "b"], ["score:a", "score:b", "2/2", "average (SIMULATED)"]),
        (["scores", "V1"], ["score:a", "V1 (SIMULATED)"]),
        (["compare", "a", "b", "--reference", "b"], [f"score:{V1}:a", f"score:difference:{IT}:a"]),
        (["compare", "a", "b", "--benchmark", IT], [f"interval:difference:{IT}:b"]),
        (["ceiling", V1], ["score:a", "ceilings"]),
        (["neuroids", "a", V1], ["scores", "at-ceiling", "n = 2 neuroids"]),
        (["scatter", V1, IT, "--highlight", "a"], ["score:a", "n = 3 models"]),
        (["profile", "a"], ["score:neural", "interval:V1", 'id="median"']),
        (["pareto", V1, "--cost", "duration_s"], ['id="front"', "n = 3 models"]),
        (["history", V1], ['id="best"', "n = 3 models"]),
        (["similarity"], ['id="map"', V1, IT]),
    ],
)
def test_draws_every_kind_of_plot(arguments, groups, tmp_path, capsys):
    path = tmp_path / "drawn.svg"
    assert main(["plot", *arguments, "--to", str(path), "--theme", "dark"]) == 0
    drawn = path.read_text()
    assert [group for group in groups if group not in drawn] == []
    assert "#10161c" in drawn
    assert f"Written: {path}" in capsys.readouterr().err


def test_draws_an_atlas_from_its_file(tmp_path, capsys):
    from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import (
        LayerAtlas,
        LayerScore,
        RegionChoice,
    )

    choice = RegionChoice(
        region="V1", benchmark=V1, simulated=True, layer="conv1", runner_up=None, margin=None, margin_interval=None,
        nested_score=None, nested_error=None, fold_score=None, n_folds=0, n_same=0, seed=0,
        scores=[LayerScore(layer="conv1", score=0.3, error=0.1, interval=(0.1, 0.5))],
    )  # fmt: skip
    atlas = LayerAtlas(model="net", layers=["conv1"], regions=[choice])
    file, path = tmp_path / "atlas.json", tmp_path / "atlas.svg"
    file.write_text(atlas.to_json())
    assert LayerAtlas.read(file).to_json() == atlas.to_json()
    assert main(["plot", "atlas", str(file), "--to", str(path)]) == 0
    assert 'id="interval:V1:conv1"' in path.read_text()
    for content in ("{}", "no json", json.dumps({**json.loads(atlas.to_json()), "layers": 3})):
        file.write_text(content)
        assert main(["plot", "atlas", str(file), "--to", str(path)]) == 3
        assert "is not an atlas of layers" in capsys.readouterr().err
    assert main(["plot", "atlas", str(tmp_path / "absent.json"), "--to", str(path)]) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["scores", V1, "--to", "f.gif"], 2, ".svg, .png, .pdf"),
        (["scores", V1], 2, "--to"),
        (["scores", V1, "--to", "f.svg", "--theme", "drak"], 2, "Did you mean 'dark'?"),
        (["scores", V1[:-1], "--to", "f.svg"], 2, f"Did you mean '{V1}'?"),
        (["scores", V1, "--model", "absent", "--to", "f.svg"], 2, "no record of the model 'absent'"),
        (["compare", "a", "d", "--to", "f.svg"], 3, "The model 'd' has no record in"),
        (["neuroids", "a", IT, "--to", "f.svg"], 3, "has no values"),
        (["pareto", V1, "--cost", "parameters", "--to", "f.svg"], 3, "No model has both a score on"),
        (["profile", "absent", "--to", "f.svg"], 2, "no record of the model 'absent'"),
        (["scatter", V1, "absent", "--to", "f.svg"], 3, "The benchmark 'absent' has no record in"),
        (["scores", "--records", "empty", "--to", "f.svg"], 3, "empty has no records"),
    ],
)
def test_error_is_one_line_and_writes_no_file(arguments, code, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", *arguments]) == code
    assert said in capsys.readouterr().err
    assert list(tmp_path.glob("f.*")) == []
