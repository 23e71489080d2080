"""Settings follow the environment at the time of asking."""

import dataclasses
from pathlib import Path

import pytest

from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError

VARIABLES = (
    "BRAINSCORE_HOME",
    "BRAINIO_HOME",
    "BS_INSTALL_DEPENDENCIES",
    "RESULTCACHING_DISABLE",
    "BRAINSCORE_S3_WEIGHT_FOLDER",
    "BRAINSCORE_OFFLINE",
    "BRAINSCORE_ARRAY_BACKEND",
)


@pytest.fixture
def empty_environment(monkeypatch, tmp_path):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path


def test_defaults(empty_environment):
    current = settings()
    assert current.home == empty_environment / ".brain-score"
    assert current.data_home == empty_environment / ".brainio"
    assert current.cache_home.is_relative_to(empty_environment)
    assert "brainscore" in current.cache_home.name
    assert current.install_dependencies == "yes"
    assert current.s3_weight_folder == "models"
    assert (current.caching_disabled, current.offline) == (False, False)
    assert current.array_backend == "numpy"


def test_reading_makes_no_folders(empty_environment):
    settings()
    assert list(empty_environment.iterdir()) == []


def test_every_variable_counts(empty_environment, monkeypatch):
    for name, value in {
        "BRAINSCORE_HOME": "/data/brain-score",
        "BRAINIO_HOME": "/data/brainio",
        "BS_INSTALL_DEPENDENCIES": "newenv",
        "RESULTCACHING_DISABLE": "1",
        "BRAINSCORE_S3_WEIGHT_FOLDER": "weights",
        "BRAINSCORE_OFFLINE": "1",
        "BRAINSCORE_ARRAY_BACKEND": "torch:cuda",
    }.items():
        monkeypatch.setenv(name, value)
    current = settings()
    assert current.home == Path("/data/brain-score")
    assert current.cache_home == Path("/data/brain-score/cache")
    assert current.data_home == Path("/data/brainio")
    assert current.install_dependencies == "newenv"
    assert current.s3_weight_folder == "weights"
    assert (current.caching_disabled, current.offline) == (True, True)
    assert current.array_backend == "torch:cuda"


def test_paths_are_absolute(empty_environment, monkeypatch):
    monkeypatch.chdir(empty_environment)
    monkeypatch.setenv("BRAINSCORE_HOME", "here")
    monkeypatch.setenv("BRAINIO_HOME", "~/there")
    assert settings().home == empty_environment / "here"
    assert settings().data_home == empty_environment / "there"


@pytest.mark.parametrize("variable", ["BRAINSCORE_HOME", "BRAINIO_HOME", "BRAINSCORE_ARRAY_BACKEND"])
def test_empty_variable_is_as_unset(empty_environment, monkeypatch, variable):
    unset = settings()
    monkeypatch.setenv(variable, "")
    assert settings() == unset


@pytest.mark.parametrize("value", ["0", "", "true", "brainscore_vision.metrics,model_tools"])
def test_only_1_disables_caching(empty_environment, monkeypatch, value):
    monkeypatch.setenv("RESULTCACHING_DISABLE", value)
    assert not settings().caching_disabled


@pytest.mark.parametrize("value", ["Yes", "true", "", "1"])
def test_unknown_install_mode_is_refused(empty_environment, monkeypatch, value):
    monkeypatch.setenv("BS_INSTALL_DEPENDENCIES", value)
    with pytest.raises(ConfigurationError, match=rf"{value!r}; expected 'yes'.*'no' or 'newenv'"):
        settings()


def test_settings_are_frozen(empty_environment):
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings().offline = True
