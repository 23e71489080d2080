"""Provide made-up records in a folder, databases, and readers of a site's data files."""

import json
import os
import secrets
import shutil
import ssl
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import botocore.session
import pytest

from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.site import build
from brainscore_web.leaderboard.sources import FolderSource


@pytest.fixture(scope="session", autouse=True)
def _read_once():
    """Let clients share certificates and the S3 description: reading them takes longer than most tests here."""
    with pytest.MonkeyPatch.context() as patch:
        for module, function in ((ssl, "create_default_context"), (botocore.session, "create_loader")):
            patch.setattr(module, function, cache(getattr(module, function)))
        yield


@pytest.fixture(scope="session")
def made():
    return MadeUp.of("14x14", seed=1)


@pytest.fixture(scope="session")
def build_site():
    """Return a function that writes made-up ``records`` to a folder and returns the folder of their ``site``."""

    def build_(folder, made, catalogue=None):
        (folder / "records").mkdir()
        made.write(folder / "records")
        build(FolderSource(folder / "records"), catalogue or made.catalogue, folder / "site")
        return folder / "site"

    return build_


@pytest.fixture(scope="session")
def first(made, tmp_path_factory, build_site):
    """Return a folder with ``records`` and their ``site``."""
    return build_site(tmp_path_factory.mktemp("first"), made).parent


@pytest.fixture
def records(first, tmp_path):
    """Return a folder of records that a test may change."""
    return shutil.copytree(first / "records", tmp_path / "records")


@pytest.fixture
def built(first, records, tmp_path):
    """Copy the ``site`` of these records next to them."""
    shutil.copytree(first / "site", tmp_path / "site")


@pytest.fixture
def source(records):
    return FolderSource(records)


@pytest.fixture
def read():
    """Return a function that reads a data file as the browser does: plain JSON between a call and its end."""

    def read_(site, name):
        text = (site / f"data/{name}.js").read_text(encoding="utf-8")
        start = f'BrainScore.take("{name}", '
        assert text.startswith(start)
        assert text.endswith(");\n")
        return json.loads(text[len(start) : -3])

    return read_


@pytest.fixture
def content():
    """Return a function that reads all files of a folder: path -> bytes."""
    return lambda folder: {
        str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    }


@pytest.fixture(scope="session")
def postgresql():
    """Start PostgreSQL; yield a function that makes a database in it and returns its URL."""
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    debian = map(str, Path("/usr/lib/postgresql").glob("*/bin"))  # not in Debian's PATH
    initdb = shutil.which("initdb", path=os.pathsep.join([os.environ["PATH"], *debian]))
    if initdb is None:
        pytest.skip("other: no PostgreSQL here (Debian: apt install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # the path of a socket must be short
    user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    if user:
        shutil.chown(folder, user)

    def run(program, *arguments):
        command = [Path(initdb).with_name(program), "-D", folder / "data", *arguments]
        with (folder / "output").open("wb") as output:
            subprocess.run(command, check=True, stdout=output, stderr=output, user=user, cwd=folder, timeout=60)

    run("initdb", "-U", "portal", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C")
    # A test's portal keeps its connections until it is garbage-collected; concurrent threads open dozens.
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c max_connections=1000"
    run("pg_ctl", "-w", "start", "-o", options)

    def make():
        name = f"portal_{secrets.token_hex(4)}"
        with psycopg.connect(f"host={folder} user=portal dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")  # a schema, since a database has a thousand files
        return f"postgresql+psycopg://portal@/postgres?host={folder}&options=-csearch_path%3D{name}"

    yield make
    run("pg_ctl", "stop", "-m", "immediate", "-W")  # -W, or it would also wait until the process is reaped
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def make_database(request, tmp_path):
    """Return a function that returns the URL of a new empty database."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return lambda: f"sqlite:///{tmp_path / secrets.token_hex(4)}.sqlite"
