"""Requirements of plugins are installed in a box, because installing a package can run its code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_core.config import settings
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.environment import environment_for
from brainscore_core.scoring.isolation import environments
from brainscore_core.scoring.isolation.box import interpreter_paths, run_boxed
from brainscore_core.scoring.isolation.environments import boxed_python_for

BACKEND = """
import pathlib, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    found = False
    for file in pathlib.Path('/proc').glob('[0-9]*/environ'):
        try:
            found |= b's3cret-value' in file.read_bytes()
        except OSError:
            pass
    try:
        pathlib.Path({outside!r}).write_text('stranger')
    except OSError:
        pass
    name = 'stranger-1.0-py3-none-any.whl'
    with zipfile.ZipFile(pathlib.Path(folder, name), 'w') as wheel:
        wheel.writestr('stranger.py', f'found = {{found}}')
        wheel.writestr('stranger-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: stranger\\nVersion: 1.0\\n')
        kind = 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'
        wheel.writestr('stranger-1.0.dist-info/WHEEL', kind)
        wheel.writestr('stranger-1.0.dist-info/RECORD', '')
    return name
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Return a plugin folder that requires a package whose installation attacks the machine."""
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "plugin"
    package = folder / "stranger"
    package.mkdir(parents=True)
    (folder / "requirements.txt").write_text(f"stranger @ {package.as_uri()}\n")
    (package / "backend.py").write_text(BACKEND.format(outside=str(tmp_path / "outside")))
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (package / "pyproject.toml").write_text(f'{build}[project]\nname = "stranger"\nversion = "1.0"\n')
    return folder


@pytest.mark.slow  # makes environments
def test_installing_requirements_cannot_attack_the_machine(plugin, tmp_path, victim, in_box):
    program = "import stranger; print(stranger.found)"
    python = environment_for([plugin])
    assert subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
    assert (tmp_path / "outside").exists()
    (tmp_path / "outside").unlink()
    python = boxed_python_for([plugin])
    ended = run_boxed([python, "-c", program], in_box(readable=interpreter_paths(python)))
    assert ended.output == "False\n"
    assert not (tmp_path / "outside").exists()


@pytest.mark.slow  # starts an installer
def test_failed_installation_in_a_box_is_explained(plugin, a_box):
    (plugin / "stranger" / "backend.py").write_text("raise SystemExit('no')")
    with pytest.raises(RequirementsError, match=r"\AThe requirements of plugin cannot be installed") as caught:
        boxed_python_for([plugin])
    assert "Traceback" not in str(caught.value).partition("last lines of output")[0]
    assert str(caught.value).count("command: ") == 1  # the installer's command, without the box around it


@pytest.fixture
def write_plugin(tmp_path, monkeypatch, write_wheel):
    """Return a function that writes a plugin that requires a version of a package, and its wheel."""
    for name, value in {"BRAINSCORE_HOME": str(tmp_path / "home"), "PIP_NO_INDEX": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.defpath)  # no uv

    def write(name, version, **files):
        folder = tmp_path / "plugins" / name
        write_wheel(folder / "wheels", version, **files)
        (folder / "requirements.txt").write_text(f"bs_example=={version}\n")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder / "wheels"))
        return folder

    return write


def version(python):
    command = [python, "-c", "import bs_example; print(bs_example.VERSION)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow  # makes environments
def test_each_set_of_requirements_has_its_own_environment(write_plugin, a_box):
    one = write_plugin("one", 1, hook__pth="import bs_example\n")
    first = boxed_python_for([one])
    second = boxed_python_for([write_plugin("two", 2)])
    assert Path(sys.executable) not in (first, second)
    assert (version(first), version(second)) == ("1", "2")
    hooks = list((settings().cache_home / "boxed-environments").rglob("hook.pth"))
    assert [hook.is_relative_to(first.parents[1]) for hook in hooks] == [True]
    assert boxed_python_for([one]) == first


def test_satisfied_requirements_need_no_environment(tmp_path):
    (tmp_path / "requirements.txt").write_text("pytest\n")
    assert boxed_python_for([tmp_path]) == Path(sys.executable)


@pytest.mark.parametrize("at", ["cache/environments", "cache/environments/x", "cache"])
def test_link_cannot_replace_an_environment(tmp_path, monkeypatch, at):
    """Otherwise a box that can read the environment could read the link's target."""
    secret = tmp_path / "secret"
    for folder in ("", "x", "environments/x"):
        (secret / folder / "bin").mkdir(parents=True)
        (secret / folder / environments.LAYER_MARKER).write_text("{}")

    def install(home, folders, hidden, *, bounded):
        (home / at).parent.mkdir(parents=True, exist_ok=True)
        (home / at).symlink_to(secret)

    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(environments, "requirements_of", lambda folders: (("x",), ("x",)))
    monkeypatch.setattr(environments, "_install", install)
    with pytest.raises(RequirementsError, match="exactly one environment"):
        boxed_python_for([tmp_path])
    assert not list((secret / "bin").iterdir())
    assert environments.built_python_for([tmp_path]) is None
