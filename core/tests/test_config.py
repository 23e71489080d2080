"""Settings follow the environment at the time they are read."""

from pathlib import Path

import pytest

from brainscore_core import config
from brainscore_core.config import memory_budget, settings
from brainscore_core.errors import ConfigurationError

VARIABLES = (
    *("BRAINSCORE_HOME", "BRAINIO_HOME", "BS_INSTALL_DEPENDENCIES", "RESULTCACHING_DISABLE"),
    *("BRAINSCORE_S3_WEIGHT_FOLDER", "BRAINSCORE_OFFLINE", "BRAINSCORE_IMAGES", "BRAINSCORE_ARRAY_BACKEND"),
    *(
        "BRAINSCORE_DEVICE",
        "BRAINSCORE_MEMORY_GB",
        "BRAINSCORE_CACHE_GB",
        "BRAINSCORE_MIRROR",
        "BRAINSCORE_LOCK_S",
        "BRAINSCORE_PROGRESS",
        "BRAINSCORE_TRUST_REPO",
    ),
)


@pytest.fixture
def empty_environment(monkeypatch, tmp_path):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path


def test_settings_have_defaults(empty_environment):
    current = settings()
    assert current.home == empty_environment / ".brain-score"
    assert current.data_home == empty_environment / ".brainio"
    assert current.cache_home.is_relative_to(empty_environment)
    assert "brainscore" in current.cache_home.name
    assert current.install_dependencies == "yes"
    assert current.s3_weight_folder == "models"
    assert (current.caching_disabled, current.offline, current.installer_offline) == (False, False, False)
    assert current.images is current.mirror is None
    assert current.array_backend == "numpy"
    assert current.device is None
    assert (current.lock_s, current.trusts_repositories) == (8 * 3600, False)


def test_reading_settings_creates_no_folders(empty_environment):
    settings()
    assert list(empty_environment.iterdir()) == []


def test_every_variable_is_read(empty_environment, monkeypatch):
    for name, value in {
        "BRAINSCORE_HOME": "/data/brain-score",
        "BRAINIO_HOME": "/data/brainio",
        "BS_INSTALL_DEPENDENCIES": "newenv",
        "RESULTCACHING_DISABLE": "1",
        "BRAINSCORE_S3_WEIGHT_FOLDER": "weights",
        "BRAINSCORE_OFFLINE": "1",
        "BRAINSCORE_IMAGES": "/data/images",
        "BRAINSCORE_ARRAY_BACKEND": "torch:cuda",
        "BRAINSCORE_DEVICE": "cuda:1",
        "BRAINSCORE_MEMORY_GB": "1.5",
        "BRAINSCORE_CACHE_GB": "20",
        "BRAINSCORE_LOCK_S": "60",
        "BRAINSCORE_PROGRESS": "0",
        "BRAINSCORE_TRUST_REPO": "1",
    }.items():
        monkeypatch.setenv(name, value)
    current = settings()
    assert current.home == Path("/data/brain-score")
    assert current.cache_home == Path("/data/brain-score/cache")
    assert current.data_home == Path("/data/brainio")
    assert current.install_dependencies == "newenv"
    assert current.s3_weight_folder == "weights"
    assert (current.caching_disabled, current.offline, current.installer_offline) == (True, True, True)
    assert current.images == Path("/data/images")
    assert current.array_backend == "torch:cuda"
    assert current.device == "cuda:1"
    assert current.trusts_repositories
    assert (current.memory_gb, current.cache_gb, current.lock_s) == (1.5, 20, 60)
    assert current.progress is False


def test_paths_are_absolute(empty_environment, monkeypatch):
    monkeypatch.chdir(empty_environment)
    monkeypatch.setenv("BRAINSCORE_HOME", "here")
    monkeypatch.setenv("BRAINIO_HOME", "~/there")
    monkeypatch.setenv("BRAINSCORE_MIRROR", "~/mirror")
    assert settings().home == empty_environment / "here"
    assert settings().data_home == empty_environment / "there"
    assert settings().mirror == empty_environment / "mirror"


@pytest.mark.parametrize("variable", ["BRAINSCORE_HOME", "BRAINIO_HOME", "BRAINSCORE_ARRAY_BACKEND"])
def test_empty_variable_counts_as_unset(empty_environment, monkeypatch, variable):
    unset = settings()
    monkeypatch.setenv(variable, "")
    assert settings() == unset


@pytest.mark.parametrize("value", ["0", "", "true", "brainscore_vision.metrics,model_tools"])
def test_only_1_disables_caching(empty_environment, monkeypatch, value):
    monkeypatch.setenv("RESULTCACHING_DISABLE", value)
    assert not settings().caching_disabled


REFUSED = {
    ("BS_INSTALL_DEPENDENCIES",): (("Yes", "true", "", "1"), "expected 'yes'.*'no' or 'newenv'"),
    ("BRAINSCORE_OFFLINE",): (("yes", "true", "2", "Data"), "expected '1' .*'data'.* or '0'"),
    ("BRAINSCORE_MEMORY_GB", "BRAINSCORE_CACHE_GB"): (("much", "0", "-1", "inf", "nan"), "expected a number of GB"),
    ("BRAINSCORE_LOCK_S",): (("long", "0", "-1", "inf"), "expected a number of seconds above 0"),
}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [(name, value, said) for names, (values, said) in REFUSED.items() for name in names for value in values],
)
def test_rejects_unknown_values(empty_environment, monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=rf"{name} is {value!r}; {message}"):
        settings()


def test_offline_data_still_allows_installing_packages(empty_environment, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "data")
    assert (settings().offline, settings().installer_offline) == (True, False)


def test_memory_budget_is_the_setting_or_a_quarter_of_memory(empty_environment, monkeypatch, tmp_path):
    monkeypatch.setattr(config, "_machine_memory", lambda: 80_000)
    monkeypatch.setattr(config, "_CGROUP_LIMITS", (tmp_path / "memory.max", tmp_path / "limit_in_bytes"))
    assert memory_budget() == 20_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_budget() == 20_000
    (tmp_path / "limit_in_bytes").write_text("40000\n")
    assert memory_budget() == 10_000
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", "1.5")
    assert memory_budget() == 1_500_000_000


def test_machine_memory_has_a_value_on_every_system(monkeypatch):
    assert config._machine_memory() > 10**8
    monkeypatch.delattr(config.os, "sysconf")
    assert config._machine_memory() == config._UNKNOWN_MACHINE
