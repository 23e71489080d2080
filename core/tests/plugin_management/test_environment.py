import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, RequirementsError
from brainscore_core.plugin_management.environment import (
    conflicts_of,
    environment_for,
    isolated_score,
    python_for,
    run_in_environment,
)

from .conftest import make_wheel


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "bs_example", "1.0")
    make_wheel(wheels, "numpy", "99.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)  # a machine's configuration may constrain versions
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PATH", os.defpath)  # no uv

    def make(name, requirements):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "requirements.txt").write_text(requirements)
        return folder

    return make


def ask(python, expression, *imports):
    program = "".join(f"import {name}; " for name in imports) + f"print({expression})"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def environments():
    return [path for path in (settings().cache_home / "environments").iterdir() if path.is_dir()]


@pytest.mark.slow
def test_environment_adds_requirements_and_is_shared(plugins, monkeypatch, capsys):
    folders = [plugins("model", "bs_example\n"), plugins("benchmark", "numpy\n")]
    python = environment_for(folders)
    assert ask(python, "bs_example.VERSION", "bs_example") == "1.0"
    assert ask(python, "numpy.__version__", "numpy") == np.__version__
    assert ask(python, "config.__file__", "brainscore_core.config as config").startswith(str(Path(__file__).parents[2]))
    assert ask(python, "sys.prefix", "sys") == str(python.parents[1]) != sys.prefix
    assert capsys.readouterr().err == "Installing the requirements of model and benchmark: bs_example\n"
    content = json.loads((python.parents[1] / "brainscore-environment.json").read_text())
    assert content["requirements"] == ["bs_example", "numpy"]
    with pytest.raises(ImportError):
        import bs_example  # noqa: F401 - must not be here
    (python.parents[1] / "brainscore-environment.json").unlink()
    python.unlink()
    assert ask(environment_for(folders), "bs_example.VERSION", "bs_example") == "1.0"  # an incomplete one is rebuilt
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")  # another installation would fail
    assert environment_for([plugins("same", "# the same\nnumpy\nbs_example\n")]) == python
    with pytest.raises(RequirementsError, match="The requirements of broken cannot be installed") as caught:
        environment_for([plugins("broken", "bs_absent\n")])
    assert "No matching distribution found for bs_absent" in str(caught.value)
    assert environments() == [python.parents[1]]


@pytest.mark.slow
def test_torchvision_must_match_the_installed_torch(plugins, tmp_path, monkeypatch):
    for name, version, requires in (
        ("torch", "99.0", ()), ("torchvision", "1.0", ("torch==9.0",)), ("torchvision", "2.0", ("torch==99.0",)),
    ):  # fmt: skip
        make_wheel(tmp_path / "wheels", name, version, requires)
    here = tmp_path / "here" / "torch-9.0+cpu.dist-info"
    here.mkdir(parents=True)
    (here / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.0+cpu\n")
    monkeypatch.setattr(sys, "path", [sys.path[0], str(here.parent), *sys.path[1:]])  # the first is the script's
    with pytest.raises(
        RequirementsError, match=r"No build of torchvision matches torch 9\.0\+cpu: torchvision 1\.0 is"
    ):
        environment_for([plugins("model", "torchvision\n")])
    assert environments() == []
    make_wheel(tmp_path / "wheels", "torchvision", "1.0+cpu", ("torch==9.0",))
    python = environment_for([plugins("benchmark", "torchvision\n")])
    assert ask(python, "torchvision.VERSION", "torchvision") == "1.0+cpu"


@pytest.mark.slow
def test_plugin_gets_numpy_1_only_without_the_library_bounds(plugins, tmp_path):
    make_wheel(tmp_path / "wheels", "numpy", "1.26.9")
    make_wheel(tmp_path / "wheels", "pandas", "2.9.0")  # the installed pandas requires NumPy 2
    folder = plugins("older", "numpy<2.0\n")
    assert conflicts_of([folder]) == ["numpy>=2"]
    with pytest.raises(
        RequirementsError, match=r"The requirements of older cannot.*The library requires numpy>=2; only a candidate"
    ):
        environment_for([folder])
    python = environment_for([folder], bounded=False)
    assert ask(python, "numpy.VERSION", "numpy") == "1.26.9"
    needs = [line for line in map(Requirement, metadata.requires("pandas")) if line.name == "numpy"]
    if not any(line.specifier.contains("1.26.9") for line in needs if line.marker is None or line.marker.evaluate()):
        assert ask(python, "pandas.VERSION", "pandas") == "2.9.0"
    assert conflicts_of([plugins("newer", "numpy>=2.1\npandas>=2,<3\nbs_example<2\n")]) == []


@pytest.mark.slow  # creates an environment and installs into it with pip
def test_installing_in_an_environment_sees_the_host_packages(plugins, tmp_path, monkeypatch):
    make_wheel(tmp_path / "wheels", "bs_needs_numpy", requires=("numpy",))
    (tmp_path / "wheels" / "numpy-99.0-py3-none-any.whl").unlink()  # only the host can provide it
    python = environment_for([plugins("one", "bs_example\n")])
    folder = plugins("metric", "bs_needs_numpy\n")
    uv = tmp_path / "programs" / "uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\nexit 9\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(uv.parent))
    install = f"requirements.install_requirements('metric', pathlib.Path({str(folder)!r}))"
    requirements = "brainscore_core.plugin_management.requirements as requirements"
    assert ask(python, install, "pathlib", requirements) == "True"
    assert ask(python, "bs_needs_numpy.VERSION", "bs_needs_numpy") == "1.0"


def test_output_is_passed_on_and_its_tail_returned(capfd):
    program = "import os, sys; print(os.environ['MARK'], flush=True); sys.exit('bad end')"
    finished = run_in_environment(Path(sys.executable), ["-c", program], environment={"MARK": "here"})
    assert (finished.status, finished.tail) == (1, "here\nbad end")
    assert capfd.readouterr().err == "here\nbad end\n"


@pytest.mark.slow
def test_no_environment_is_created_if_nothing_is_missing(plugins):
    folders = [plugins("one", f"numpy=={np.__version__}\n-f wheels\n"), plugins("two", "numpy\n")]
    assert python_for(folders) == python_for([]) == Path(sys.executable)
    assert not (settings().cache_home / "environments").exists()
    other = plugins("three", "bs_example\n")
    assert python_for([*folders, other]) == environment_for([*folders, other]) != Path(sys.executable)
    with pytest.raises(ImportError):
        import bs_example  # noqa: F401 - must not be here


# A command line such as a domain has: it fails for one model and writes a record for every other.
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


def test_isolated_score_returns_the_record_of_the_program(score, capsys):
    record = score("a=1 b")
    assert record["arguments"] == ["--model_identifier=a=1 b", "--benchmark_identifier=Lab.IT; touch x"]
    assert record["python"] != sys.executable
    assert record["mode"] == "yes"
    assert "scored" in capsys.readouterr().err


def test_failed_program_is_reported_with_its_last_output(score):
    with pytest.raises(BrainScoreError, match=r"Scoring fails on Lab\.IT") as caught:
        score("fails")
    assert "exit status: 1" in str(caught.value)
    assert "this model fails" in str(caught.value)
