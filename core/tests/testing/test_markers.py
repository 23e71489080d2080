import hashlib

import numpy  # noqa: F401, ICN001 - stays loaded when pytester drops the modules of a run; it loads only once
import pytest

from brainscore_core.config import settings
from brainscore_core.errors import DownloadError, OfflineError, PrivateDataError
from brainscore_core.testing import machine
from brainscore_core.testing.machine import lend_weights, reason_of_absence
from brainscore_core.transfer import s3_download

pytest_plugins = ["pytester"]

CONTENT = b"recordings"
SHA1 = hashlib.sha1(CONTENT).hexdigest()  # noqa: S324 - what registrations name
TESTS = f"""
import os, pytest
from brainscore_core.supported_data_standards.brainio.s3 import get_path

def content(): return get_path("mine", "nc", "bucket", None, "{SHA1}").read_bytes()

@pytest.fixture
def loaded(): return content()

@pytest.mark.private_access
def test_private(): assert content() == b"recordings"
@pytest.mark.network
def test_public(loaded): assert loaded == b"recordings"
@pytest.mark.private_access
def test_that_is_wrong(): assert content() == b"others"
@pytest.mark.slow
def test_slow(): pass
"""


@pytest.fixture
def repository(pytester, monkeypatch):
    """Make a repository with markers in force and no network; return a function that writes its data file."""
    pytester.makeini("[pytest]\nbrainscore_markers = true\ntestpaths = tests\naddopts = -rs\n")
    (pytester.mkdir("tests") / "test_mine.py").write_text(TESTS)
    monkeypatch.setattr(machine, "has_network", lambda: False)
    monkeypatch.setattr("brainscore_core.testing.pytest_plugin.has_network", lambda: False)

    def keep(content):
        path = settings().data_home / SHA1 / "assy_mine.nc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return keep


def run(pytester, *arguments, **outcomes):
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)
    result.assert_outcomes(**outcomes)
    return result.stdout.str()


@pytest.mark.parametrize("content", [None, b"damaged"])
def test_unavailable_data_skip_with_the_file_and_the_remedy(pytester, repository, content):
    if content is not None:
        repository(content)
    said = run(pytester, "tests/test_mine.py", skipped=4)
    private = next(line for line in said.splitlines() if ": private: " in line)
    for part in ("test_mine.py:", f"s3://bucket/assy_mine.nc is not at {settings().data_home}", "`aws configure`"):
        assert part in private
    assert "Put the file there, or run the test where it may be downloaded, with AWS credentials" in private
    assert ": network: s3://bucket/assy_mine.nc is not at" in said
    assert ": slow: takes more than a minute" in said


def test_file_in_the_data_home_satisfies_a_marker(pytester, repository):
    repository(CONTENT)
    assert "assert b'recordings' == b'others'" in run(pytester, "tests/test_mine.py", passed=2, failed=1, skipped=1)
    run(pytester, "tests/test_mine.py", "--brainscore-no-private", "--brainscore-slow", passed=2, skipped=2)


@pytest.fixture
def server(monkeypatch):
    """Provide a network and an S3 that denies every request; return the list of requests."""
    asked = []

    def deny(source, stop, partial):
        asked.append(source)
        raise PrivateDataError("It is private. Ask its owners.")

    for module in ("machine", "pytest_plugin"):
        monkeypatch.setattr(f"brainscore_core.testing.{module}.has_network", lambda: True)
    monkeypatch.setattr(s3_download, "bring", deny)
    return asked


def test_named_tests_may_download(pytester, repository, server):
    said = run(pytester, "tests/test_mine.py::test_private", skipped=1)
    assert ": private: It is private. Ask its owners." in said
    assert len(server) == 1
    run(pytester, "-m", "private_access", skipped=2, deselected=2)
    assert len(server) == 3


def test_run_of_all_tests_downloads_nothing(pytester, repository, server):
    assert "a run that names no tests downloads nothing (name the file" in run(pytester, skipped=4)
    repository(CONTENT)
    run(pytester, passed=2, failed=1, skipped=1)
    assert not server


def test_workers_know_that_no_tests_were_named(pytester, repository):
    (pytester.path / "tests" / "test_mine.py").write_text(
        "import pytest, os\n@pytest.mark.network\ndef test_it(): assert os.environ['BRAINSCORE_OFFLINE'] == '1'"
    )
    pytester.plugins.clear()
    result = pytester.runpytest_subprocess("-n", "1", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)


def test_other_errors_do_not_count_as_absence(monkeypatch):
    assert reason_of_absence(ValueError("wrong")) is None
    assert reason_of_absence(PrivateDataError("ask")) == "private: ask"
    monkeypatch.setattr(machine, "has_network", lambda: True)
    assert reason_of_absence(DownloadError("there is no such file")) is None  # the registration is wrong
    monkeypatch.setattr(machine, "has_network", lambda: False)
    assert reason_of_absence(DownloadError("timed out")).startswith("network: there is no network")
    wrapped = RuntimeError("no model")
    wrapped.__cause__ = OfflineError("s3://x is not at y, and so on", "s3://x is not at y")
    assert reason_of_absence(wrapped).startswith("network: s3://x is not at y; ")
    assert "`aws configure`" in reason_of_absence(wrapped, private=True)
    elsewhere = OfflineError("", "https://download.pytorch.org/x is not at y")
    assert "AWS" not in reason_of_absence(elsewhere, private=True)
    assert reason_of_absence(wrapped).endswith("may be downloaded. no model")


@pytest.mark.parametrize("place", ["test.py", "model.py", "in a test"])
def test_plugin_without_its_requirements_skips_with_the_command(pytester, repository, place):
    folder = pytester.mkdir("mymodel")
    needs, inside = "import bs_absent\n", "    import bs_absent\n"
    (folder / "model.py").write_text(needs if place == "model.py" else "")
    (folder / "test.py").write_text(
        f"{'import model' if place == 'model.py' else needs if place == 'test.py' else ''}\n"
        f"def test_it():\n{inside if place == 'in a test' else '    pass'}\n"
    )
    pytester.syspathinsert(folder)
    run(pytester, "mymodel/test.py", **({"failed": 1} if place == "in a test" else {"errors": 1}))
    (folder / "requirements.txt").write_text("numpy\nbs_absent==1.0  # ours\n")
    said = run(pytester, "mymodel/test.py", skipped=1)
    assert "1 requirement of mymodel not installed here: bs_absent==1.0; nox -s test_plugin -- mymodel" in said
    (folder / "requirements.txt").write_text("numpy\n")
    run(pytester, "mymodel/test.py", **({"failed": 1} if place == "in a test" else {"errors": 1}))


def test_failed_assertion_is_not_skipped_without_requirements(pytester, repository):
    folder = pytester.mkdir("mymodel")
    (folder / "requirements.txt").write_text("bs_absent\n")
    (folder / "test.py").write_text("def test_it(): assert 1 + 1 == 3\n")
    run(pytester, "mymodel/test.py", failed=1)


def test_weights_of_the_caller_are_lent(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "caller"))
    monkeypatch.setenv("BRAINSCORE_S3_WEIGHT_FOLDER", "nets/mine")
    kept = tmp_path / "caller" / "weights" / "w.pth"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"w")
    for _ in range(2):  # the second time they already exist
        lend_weights(settings(), tmp_path / "tests")
    assert (tmp_path / "tests/weights/w.pth").read_bytes() == b"w"
    (tmp_path / "tests/nets/mine/downloaded.pth").write_bytes(b"d")
    assert (tmp_path / "caller/nets/mine/downloaded.pth").read_bytes() == b"d"


@pytest.mark.contract
def test_contracts_share_the_data_home_but_not_the_scores(own_homes, settings_of_caller):
    assert not settings().data_home.is_relative_to(own_homes)
    assert settings().home.is_relative_to(own_homes)
    assert settings().data_home == settings_of_caller.data_home


def test_other_tests_read_nothing_of_the_caller(own_homes):
    assert settings().data_home.is_relative_to(own_homes)
