"""Which folders an interpreter needs, and that a stranger's packages cannot add any."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from brainscore_core.scoring.isolation.box import interpreter_paths, run_boxed


def test_paths_are_minimal_existing_and_outside_the_home():
    home = Path.home().resolve()
    paths = interpreter_paths()
    assert all(path.exists() for path in paths)
    assert not [path for path in paths if home.is_relative_to(path) or path.is_relative_to("/usr")]
    assert not [(one, other) for one in paths for other in paths if one != other and one.is_relative_to(other)]


def test_interpreter_imports_the_same_in_a_box(in_box):
    program = "import sys, brainscore_core, packaging; print(sys.prefix)"
    box = in_box(environment={"PYTHONPATH": str(Path(__file__).parents[3])})
    assert run_boxed([sys.executable, "-c", program], box).output == f"{sys.prefix}\n"


@pytest.fixture
def environment(tmp_path):
    """Return the interpreter of an environment based on this one, whose packages refer to a private folder."""
    folder = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (tmp_path / "private").mkdir()
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "stranger.pth").write_text(f"{tmp_path / 'private'}\n")
    (packages / "pyvenv.cfg").write_text(f"home = {tmp_path / 'private'}\n")
    return folder / "bin" / "python"


def test_path_files_of_installed_packages_are_ignored(environment):
    paths = interpreter_paths(environment)
    assert environment.parent.parent in paths
    assert set(paths) - set(interpreter_paths()) == {environment.parent.parent}


def test_environment_runs_in_a_box(environment, in_box):
    box = in_box(readable=interpreter_paths(environment))
    ended = run_boxed([environment, "-c", "import sys; print(sys.prefix)"], box)
    assert ended.output == f"{environment.parent.parent}\n"


def test_links_are_followed_and_editable_checkouts_found(monkeypatch, tmp_path):
    for name in ("a/bin", "b/bin", "checkout", "packages/house-1.0.dist-info", "packages/other-1.0.dist-info"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "b/bin/python3").touch()
    (tmp_path / "b/bin/python").symlink_to("python3")
    (tmp_path / "a/bin/python").symlink_to(tmp_path / "b/bin/python")
    (tmp_path / "packages/__editable___house_1_0_finder.py").touch()
    for name, url in (("house", (tmp_path / "checkout").as_uri()), ("other", tmp_path.as_uri())):
        (tmp_path / f"packages/{name}-1.0.dist-info/direct_url.json").write_text(json.dumps({"url": url}))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "a/bin/python"))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "packages")])
    found = [str(path.relative_to(tmp_path)) for path in interpreter_paths() if path.is_relative_to(tmp_path)]
    assert found == ["a/bin/python", "b/bin/python", "b/bin/python3", "checkout", "packages"]
