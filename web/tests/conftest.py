"""Provide made-up records in a folder, and read sites back as a page does."""

import json
import shutil

import pytest

from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.site import build
from brainscore_web.leaderboard.sources import FolderSource


@pytest.fixture(scope="session")
def made():
    return MadeUp.of("14x14", seed=1)


@pytest.fixture(scope="session")
def first(made, tmp_path_factory):
    """Return a folder with ``records`` and their ``site``."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "records").mkdir()
    made.write(folder / "records")
    build(FolderSource(folder / "records"), made.catalogue, folder / "site")
    return folder


@pytest.fixture
def records(first, tmp_path):
    """Return a folder of records, which a test may change."""
    return shutil.copytree(first / "records", tmp_path / "records")


@pytest.fixture
def built(first, records, tmp_path):
    """Put the ``site`` of these records beside them."""
    shutil.copytree(first / "site", tmp_path / "site")


@pytest.fixture
def source(records):
    return FolderSource(records)


@pytest.fixture
def read():
    """Return the function that reads a data file as the browser does: plain JSON between a call and its end."""

    def read_(site, name):
        text = (site / f"data/{name}.js").read_text(encoding="utf-8")
        start = f'BrainScore.take("{name}", '
        assert text.startswith(start)
        assert text.endswith(");\n")
        return json.loads(text[len(start) : -3])

    return read_


@pytest.fixture
def content():
    """Return the function that reads all files of a folder: path -> bytes."""
    return lambda folder: {
        str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }
