"""An environment built from a lock has exactly the distributions in it; unavailable ones are named."""

import importlib.util
import platform
import shutil
import zipfile
from pathlib import Path

import pytest

import brainscore_core
from brainscore_core.errors import RequirementsError
from brainscore_core.plugin_management.environment import environment_from_lock, read_lock
from brainscore_core.processes import run_bounded

from .conftest import make_wheel

LIBRARY = Path(brainscore_core.__file__).parents[1]
PYTHON = f"python=={platform.python_version()}\n"
TELL = "from brainscore_core.identity import software; print(software.installed(), end='')"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Return a folder of wheels, the only source of distributions in the test."""
    if shutil.which("uv") is None and importlib.util.find_spec("pip") is None:
        pytest.skip("neither the program uv nor pip is here, which install")
    folder = tmp_path / "wheels"
    folder.mkdir()
    for installer in ("UV", "PIP"):
        monkeypatch.setenv(f"{installer}_FIND_LINKS", str(folder))
        monkeypatch.setenv(f"{installer}_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    make_wheel(folder, "made_up_thing", "1.0")
    make_wheel(folder, "made_up_thing", "1.1")
    return folder


def _lines(*names):
    """Return the lock lines, with installed versions, that an environment needs to print its own lock."""
    from importlib.metadata import version

    return "".join(sorted(f"{name}=={version(name)}\n" for name in names))


NEEDED = ("packaging", "numpy", "filelock", "platformdirs")


@pytest.mark.slow
def test_environment_has_exactly_the_locked_distributions(index):
    lock = PYTHON + "".join(sorted([*_lines(*NEEDED).splitlines(keepends=True), "made-up-thing==1.0\n"]))
    python = environment_from_lock(lock, [LIBRARY])
    ended = run_bounded([python, "-P", "-c", f"import made_up_thing; assert made_up_thing.VERSION == '1.0'; {TELL}"])
    assert ended.status == 0, ended.output
    told = set(ended.output.splitlines())
    assert told == set(lock.splitlines())
    made = python.stat().st_ctime_ns
    assert environment_from_lock(lock, [LIBRARY]) == python
    assert python.stat().st_ctime_ns == made
    other = environment_from_lock(lock.replace("thing==1.0", "thing==1.1"), [LIBRARY])
    assert other != python
    assert run_bounded([other, "-P", "-c", "import made_up_thing; assert made_up_thing.VERSION == '1.1'"]).status == 0


def test_unavailable_distributions_are_named_and_nothing_remains(index, tmp_path):
    lock = f"{PYTHON}absent-one==1.0\nmade-up-thing==1.0\nmade-up-thing2==5\n"
    with pytest.raises(RequirementsError, match=r"absent-one==1\.0, made-up-thing2==5\. ") as error:
        environment_from_lock(lock, [LIBRARY])
    assert "made-up-thing==1.0" not in str(error.value)
    assert not list((tmp_path / "home").rglob("made_up_thing.py"))


def test_distributions_are_never_built_from_source(index):
    """Building a source distribution would run its code."""
    (index / "made_up_thing-1.0-py3-none-any.whl").unlink()
    with zipfile.ZipFile(index / "made_up_thing-1.0.zip", "w") as archive:
        archive.writestr("made_up_thing-1.0/setup.py", "open('/tmp/built', 'w')")
    with pytest.raises(RequirementsError, match=r"made-up-thing==1\.0"):
        environment_from_lock(f"{PYTHON}made-up-thing==1.0\n", [LIBRARY])


def test_unavailable_python_is_named(index):
    with pytest.raises(RequirementsError, match=r"Python 2\.6\.1"):
        environment_from_lock("python==2.6.1\n", [LIBRARY])


@pytest.mark.parametrize(
    "line",
    [
        *("-r /etc/passwd", "x @ https://example.org/x.whl", "numpy", "numpy>=2", "../x==1", "-e==1", "a==1 --hash=x"),
        "é==1",
    ],
)
def test_rejects_lock_lines_that_are_not_name_and_version(line):
    with pytest.raises(RequirementsError, match="expected up to"):
        read_lock(f"{PYTHON}{line}\n")


@pytest.mark.parametrize(
    ("lock", "said"), [("", "0 lines"), ("numpy==1\n", "does not state its Python"), ("a==1\n" * 10_001, "10001")]
)
def test_rejects_empty_huge_or_python_free_locks(lock, said):
    with pytest.raises(RequirementsError, match=said):
        read_lock(lock)
