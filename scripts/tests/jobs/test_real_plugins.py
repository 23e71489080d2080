"""Test plugins through the command line, as their authors do."""

import subprocess
import sys
from textwrap import dedent

import pytest

LIBRARY = "--library=brainscore_vision"  # these tests run outside the checkout, which would supply the library


def run(*arguments, folder):
    command = [sys.executable, "-m", "brainscore_ci", "test_plugin", LIBRARY, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    rows = [
        line.split() for line in done.stdout.splitlines() if line.startswith(("models/", "metrics/", "benchmarks/"))
    ]
    return done, {(row[0], row[1]): tuple(map(int, row[2:5])) for row in rows if row[1] in ("contract", "test.py")}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")


@pytest.mark.slow  # runs the contracts of whole plugins
def test_model_and_metric_keep_their_contracts(tmp_path):
    done, rows = run("models/pixels", "rdm", "--ci", "-m", "contract", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert rows[("models/pixels", "contract")] == (5, 0, 0)
    assert rows[("metrics/rdm", "contract")] == (12, 0, 0)


@pytest.mark.slow
def test_absent_data_skip_with_the_reason(tmp_path):
    done, rows = run("benchmarks/geirhos2021", "-k", "Geirhos2021edge-top1", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert rows[("benchmarks/geirhos2021", "contract")][0] == 4  # identifier, version, reference, a ceiling of 1
    assert "skipped 2, network: s3://" in done.stdout
    assert "(Geirhos2021edge-top1::test_scores_a_random_model, " in done.stdout


@pytest.mark.slow
def test_model_outside_the_repository(tmp_path):
    folder = tmp_path / "models" / "bright2026"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(
        dedent("""
        from brainscore_vision import model_registry
        from .model import Bright
        model_registry["bright2026"] = Bright
        """)
    )
    (folder / "model.py").write_text(
        dedent("""
        from brainscore_vision.testing import RandomModel

        class Bright(RandomModel):
            identifier = "bright2026"
        """)
    )
    (folder / "test.py").write_text(
        dedent("""
        import pytest
        from brainscore_vision import load_model
        from brainscore_vision.testing import ModelContract

        class Mine(ModelContract):
            identifier = "bright2026"

        @pytest.mark.private_access
        def test_private():
            raise RuntimeError

        def test_it_is_found():
            assert load_model("bright2026").visual_degrees() == 8
        """)
    )
    done, rows = run("models/bright2026", "--ci", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert rows == {("models/bright2026", "contract"): (4, 0, 1), ("models/bright2026", "test.py"): (1, 0, 1)}
    assert "skipped 1, other" not in done.stdout
    assert "skipped 1, the model names no layers (Mine::test_layers_exist)" in done.stdout
    assert "skipped 1, private: needs private data" in done.stdout


def test_misspelled_name_gets_a_suggestion_and_exit_code_2(tmp_path):
    done, _ = run("pixel", folder=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'pixels'?" in done.stderr
