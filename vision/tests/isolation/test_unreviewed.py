"""Unreviewed code, fetched by torch.hub, runs in a box unless the user trusts it."""

import json
import zipfile

import pytest
import torch

from brainscore_core.errors import IsolationError
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_vision import load_model
from brainscore_vision.__main__ import main
from brainscore_vision.model_helpers.adapters.declared import _fetch_stated, torchhub

HUBCONF = """
import torch

def small(pretrained=False):
    network = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Conv2d(3, 3, 3), torch.nn.ReLU()) for _ in range(2)))
    if pretrained:
        network.load_state_dict(torch.hub.load_state_dict_from_url("https://example.org/weights/small.pth"))
    return network
"""
SHAPES = {"weight": (3, 3, 3, 3), "bias": (3,)}


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """Return the folder that replaces the internet."""
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    (tmp_path / "example.org/weights").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def stranger(mirror):
    """Return the file that an unreviewed repository writes when its code runs, if it can."""
    mark = mirror / "was-here"
    archive = mirror / "github.com/lab/stranger/archive/v1.zip"
    archive.parent.mkdir(parents=True)
    writes = f"try:\n    open({str(mark)!r}, 'w')\nexcept OSError:\n    pass\n"
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("stranger-1/hubconf.py", f"{writes}{HUBCONF}")
    random = torch.Generator().manual_seed(0)
    weights = {
        f"{block}.0.{name}": torch.randn(shape, generator=random) for block in "01" for name, shape in SHAPES.items()
    }
    torch.save(weights, mirror / "example.org/weights/small.pth")
    torchhub(torch.hub, "lab/stranger:v1:small", {}).fetch()  # a box gets files of the home, but no mirror
    _fetch_stated("https://example.org/weights/small.pth")
    return mark


COMMANDS = [
    ["score", "--model", "torchhub:lab/stranger:v1:small", "--benchmark", "SimulatedCortex2026.V1-rdm"],
    ["atlas", "torchhub:lab/stranger:v1:small", "--benchmarks", "SimulatedCortex2026.V1-rdm"],
    ["choose-layers", "torchhub:lab/stranger:v1:small", "--benchmarks", "SimulatedCortex2026.V1-rdm"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_unreviewed_code_does_not_run_here_unasked(command, stranger, monkeypatch, capsys):
    monkeypatch.setattr("brainscore_vision.isolation.judge.why_no_box", lambda: "bubblewrap is not installed.")
    assert main(command) == 3
    said = capsys.readouterr().err
    assert "has not been reviewed here" in said
    assert "pass '--isolation none'" in said
    assert not stranger.exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_each_command_has_the_option_that_the_error_suggests(command, stranger, capsys):
    """The benchmark does not exist, so no command takes long."""
    main([*command[:-1], "None2026.IT-rdm", "--isolation", "none"])
    said = capsys.readouterr().err
    assert "None2026.IT-rdm" in said
    assert "No such option" not in said


@pytest.mark.slow
@pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))
def test_unreviewed_code_runs_in_a_box_or_where_the_user_says(stranger, tmp_path):
    record = tmp_path / "record.json"
    assert main([*COMMANDS[0], "--record", str(record)]) == 0
    boxed = json.loads(record.read_text())
    assert not stranger.exists()
    assert main([*COMMANDS[0], "--record", str(record), "--isolation", "none"]) == 0
    assert stranger.exists()
    assert boxed["isolation"] == "box"
    assert json.loads(record.read_text())["isolation"] == "none"


@pytest.mark.parametrize(("answer", "is_trusted"), [("n", False), ("", False), ("y", True), (None, False)])
def test_local_copy_runs_only_if_the_user_trusts_its_owner(stranger, mirror, monkeypatch, answer, is_trusted):
    """``torch.hub`` asks the same about code that it fetches itself. None: there is no user to answer."""
    questions = []

    def asked(question):
        questions.append(question)
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setenv("TORCH_HOME", str(mirror / "torch"))
    monkeypatch.setattr("builtins.input", asked)
    name = "torchhub:lab/stranger:v1:small"
    if is_trusted:
        load_model(name)
        load_model(name)  # torch.hub has stored the answer
    else:
        with pytest.raises(IsolationError, match=r"lab/stranger' would run its code .* BRAINSCORE_TRUST_REPO=1"):
            load_model(name)
    assert stranger.exists() == is_trusted
    assert ["lab_stranger" in question for question in questions] == [True]


def test_trusting_every_repository_skips_the_question(stranger, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_TRUST_REPO", "1")
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail(question))
    load_model("torchhub:lab/stranger:v1:small")
    assert stranger.exists()
