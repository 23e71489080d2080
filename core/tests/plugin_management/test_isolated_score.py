import json
import os
import sys

import pytest

from brainscore_core.errors import BrainScoreError
from brainscore_core.plugin_management.isolated_score import isolated_score

# A command line like that of a domain: it fails for one model and writes a record for all others.
COMMAND_LINE = """
import json, os, sys
assert sys.argv[1] == "score" and sys.argv[4] == "--record"
if sys.argv[2].endswith("=fails"):
    sys.exit("this model fails")
mode = os.environ["BS_INSTALL_DEPENDENCIES"]
with open(sys.argv[5], "w") as file:
    json.dump({"arguments": sys.argv[2:4], "python": sys.executable, "mode": mode}, file)
print("scored")
"""


@pytest.fixture
def score(library, tmp_path, monkeypatch):
    (library.path / "__main__.py").write_text(COMMAND_LINE)
    monkeypatch.setenv("PATH", os.defpath)  # no uv
    monkeypatch.setenv("PYTHONPATH", str(library.path.parent))
    folder = library.add("models", "plain", "")

    def run(model):
        return isolated_score(
            library.name,
            model,
            "Lab.IT; touch x",
            plugin_folders=[folder],
            record_path=tmp_path / "record.json",
            read=lambda path: json.loads(path.read_text()),
        )

    return run


def test_the_record_of_the_program_is_read_back(score, capsys):
    record = score("a=1 b")
    assert record["arguments"] == ["--model_identifier=a=1 b", "--benchmark_identifier=Lab.IT; touch x"]
    assert record["python"] != sys.executable
    assert record["mode"] == "yes"
    assert "scored" in capsys.readouterr().err


def test_a_program_that_fails_is_reported_with_its_last_words(score):
    with pytest.raises(BrainScoreError, match=r"Scoring fails on Lab\.IT") as caught:
        score("fails")
    assert "exit status: 1" in str(caught.value)
    assert "this model fails" in str(caught.value)
