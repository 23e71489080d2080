"""Test what provenance says about software and checkout, against git and the interpreter themselves."""

import platform
import subprocess
from pathlib import Path

import pytest

import brainscore_core
from brainscore_core.scoring import provenance


def test_versions_name_python_and_the_numerical_libraries():
    versions = provenance.versions()
    assert versions["python"] == platform.python_version()
    assert versions["brainscore"] == brainscore_core.__version__
    assert {"numpy", "pandas", "xarray"} <= set(versions)


def test_source_revision_is_the_commit_of_the_checkout():
    folder = Path(brainscore_core.__file__).parent
    asked = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        pytest.skip("the tests do not run from a git checkout")
    assert provenance.source_revision().removesuffix("+changes") == asked.stdout.strip()


def test_source_revision_is_none_outside_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    assert provenance.source_revision() is None


def test_source_revision_is_none_without_git(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.source_revision() is None
