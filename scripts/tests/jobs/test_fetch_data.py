"""One job fetches and encrypts the plugins' data while no plugin runs; other jobs decrypt their part."""

import tarfile
from pathlib import Path

import pytest
from pyrage import x25519

from brainscore_ci.jobs import fetch_data
from brainscore_ci.jobs.fetch_data import data_home_of_tests, fetch, open_for_pairs, open_for_tests
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, TestTask
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError
from brainscore_core.processes import Ended
from brainscore_core.scoring.pairs import Pair

KEY = x25519.Identity.generate()
FETCH = ["-m", "brainscore_vision", "data", "fetch"]
DIGEST = 40 * "a"
EXPERIMENT, OTHER, DATA = (
    PluginName("benchmarks", "experiment"),
    PluginName("benchmarks", "unrelated"),
    PluginName("data", "recordings"),
)

UNPACKS = pytest.mark.skipif(
    not hasattr(tarfile, "data_filter"), reason="data are unpacked by Python 3.11.4 or newer, see the refusal below"
)


def tasks(*names, private=True):
    fields = {"minutes": 1.0, "memory_gb": 1.0, "reasons": ("changed",), "with_private": private}
    return tuple(TestTask(plugin=name, **fields) for name in names)


@pytest.fixture
def planned(tree, tmp_path, monkeypatch):
    """Write a plan; return its file, the archive's path and the list of fetch commands."""
    asked = []

    def run_bounded(command, *, environment, folder, show):
        assert (folder, callable(show)) == (tree.path, True)
        asked.append(command[1:])
        home = Path(environment["BRAINIO_HOME"], DIGEST)
        for file in (home / "assy.nc", home / ".assy.nc.fetched.json", home.parent / f".locks/{DIGEST}/.assy.nc.lock"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("spikes" * 1000)
        (home / "link").symlink_to("/etc/passwd")
        return Ended(status=-9 if "--plugin=broken" in command else 0)

    monkeypatch.setattr(fetch_data, "run_bounded", run_bounded)
    monkeypatch.chdir(tree.path)
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "data"))

    def write(**parts):
        file, archive = tmp_path / "plan.json", tmp_path / "data.age"
        file.write_text(Plan(base=None, head=None, event="push", changed=("x",), **parts).to_json())
        return file, archive, asked

    return write


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


@UNPACKS
def test_private_pairs_get_their_benchmarks_data(planned):
    private = Pair("pixels", "Experiment-similarity", 1.0, 1.0, private=True)
    plan, archive, asked = planned(pairs=(private,))
    assert fetch(plan, archive, str(KEY.to_public())) == 0
    assert asked == [[*FETCH, "--plugin=recordings"]]
    assert b"spikes" not in archive.read_bytes()
    open_for_pairs(plan, archive, 0, f"{KEY}\n")
    assert files(settings().data_home) == {f"{DIGEST}/assy.nc"}
    assert (settings().data_home / DIGEST / "assy.nc").read_text() == "spikes" * 1000


@UNPACKS
def test_each_plugin_with_private_tests_has_its_own_copy(planned):
    plan, archive, asked = planned(tests=tasks(EXPERIMENT, OTHER, DATA))
    assert fetch(plan, archive, str(KEY.to_public())) == 0
    assert len(asked) == 1
    open_for_tests(plan, archive, 0, str(KEY))
    assert files(data_home_of_tests(EXPERIMENT)) == files(data_home_of_tests(DATA)) == {f"{DIGEST}/assy.nc"}
    assert files(data_home_of_tests(OTHER)) == set()
    assert not data_home_of_tests(EXPERIMENT).is_relative_to(settings().data_home)


@UNPACKS
def test_public_tests_and_pairs_fetch_nothing(planned):
    pairs = (Pair("pixels", "Experiment-similarity", 1.0, 1.0), Pair("pixels", "Unrelated", 1.0, 1.0))
    plan, archive, asked = planned(pairs=pairs, tests=tasks(DATA, private=False))
    assert (fetch(plan, archive, str(KEY.to_public())), asked) == (0, [])
    open_for_pairs(plan, archive, 0, str(KEY))
    open_for_tests(plan, archive, 0, str(KEY))
    assert files(settings().data_home) == set()


@UNPACKS
def test_failed_download_does_not_affect_others(planned, tree):
    tree.plugin("data/broken", registers=[("data", "Broken")])
    plan, archive, _ = planned(tests=tasks(PluginName("data", "broken"), DATA))
    assert fetch(plan, archive, str(KEY.to_public())) == 9
    open_for_tests(plan, archive, 0, str(KEY))
    assert files(data_home_of_tests(DATA)) == {f"{DIGEST}/assy.nc"}


@pytest.mark.parametrize("key", ["", "AGE-SECRET-KEY-1", str(x25519.Identity.generate())], ids=["no", "half", "other"])
def test_other_keys_do_not_open_the_archive(planned, key):
    plan, archive, _ = planned(tests=tasks(DATA))
    fetch(plan, archive, str(KEY.to_public()))
    with pytest.raises(ConfigurationError, match="does not open"):
        open_for_tests(plan, archive, 0, key)


def test_python_without_safe_unpacking_is_refused(planned, monkeypatch):
    plan, archive, _ = planned(tests=tasks(DATA))
    fetch(plan, archive, str(KEY.to_public()))
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    with pytest.raises(ConfigurationError, match=r"Python 3\.11\.4 or newer"):
        open_for_tests(plan, archive, 0, str(KEY))
    assert not data_home_of_tests(DATA).exists()


def test_damaged_archive_is_refused(planned):
    plan, archive, _ = planned(tests=tasks(DATA))
    fetch(plan, archive, str(KEY.to_public()))
    content = archive.read_bytes()
    for damaged in (content[:-20], content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]):
        archive.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match="does not open"):
            open_for_tests(plan, archive, 0, str(KEY))
        assert not data_home_of_tests(DATA).exists()


def test_unusable_recipient_or_job_is_named(planned):
    plan, archive, _ = planned()
    for recipient in ("", "age1nobody", str(KEY)):
        with pytest.raises(ConfigurationError, match=r"no recipient of age.*age-keygen") as caught:
            fetch(plan, archive, recipient)
        assert str(KEY) not in str(caught.value)
    fetch(plan, archive, str(KEY.to_public()))
    with pytest.raises(ConfigurationError, match="no job 0"):
        open_for_pairs(plan, archive, 0, str(KEY))
