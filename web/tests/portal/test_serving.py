"""Test backups, restoring, migration of tables, and the commands for maintainers."""

import json

import pytest
from alembic import command
from sqlalchemy import MetaData, create_engine, select, text

from brainscore_core.errors import ConfigurationError
from brainscore_web.__main__ import main
from brainscore_web.portal import serving
from brainscore_web.portal.tables import Person, ZipFile, open_engine

SMALL = {"b.csv": b"b" * 10}


def rows_of(url):
    """Return all rows of each table."""
    found, engine = MetaData(), create_engine(url)
    found.reflect(engine)
    with engine.connect() as connection:
        return {table.name: sorted(map(repr, connection.execute(select(table)))) for table in found.sorted_tables}


def fill(portal):
    """Add rows to every table."""
    ada = portal.caller("ada")
    ada.upload("Mine2026", SMALL)
    portal.work()
    ada.post(f"{portal.address}/api/v1/device")
    upload = ada.announce("More2026", SMALL).json()
    ada.urls(upload, upload["files"][0], SMALL["b.csv"])
    with portal.service.session() as session:
        session.add(ZipFile(owner_id=1, name="é.zip", content=bytes(range(256)), report={"plugins": []}))


@pytest.fixture
def run(portal, monkeypatch):
    """Return a function that runs a command, by default on the portal's database."""
    monkeypatch.setenv("BRAINSCORE_PORTAL_SECRET", "s" * 32)
    monkeypatch.setenv("BRAINSCORE_PORTAL_DEMO", "1")

    def call(*arguments, database=portal.service.settings.database):
        monkeypatch.setenv("BRAINSCORE_PORTAL_DATABASE", database)
        return main(["portal", *map(str, arguments)])

    return call


@pytest.fixture
def restored_database(portal, make_database, run, tmp_path):
    """Return another database, restored from a backup in ``copy``."""
    fill(portal)
    url = make_database()
    assert run("backup", tmp_path / "copy") == 0
    assert run("restore", tmp_path / "copy", database=url) == 0
    return url


def test_restored_database_has_the_same_rows_and_works(portal, restored_database, tmp_path, make_database, run):
    url = restored_database
    before = rows_of(portal.service.settings.database)
    assert rows_of(url) == before
    assert all(before.values()), before
    number, broken, head = serving.verify_audit(url)
    assert (broken, head) == (None, serving.verify_audit(portal.service.settings.database)[2])
    assert number > 3
    with open_engine(url).begin() as connection:  # new users get new numbers
        connection.execute(Person.__table__.insert(), {"subject": "7", "login": "new", "role": "contributor"})
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    assert run("restore", tmp_path / "copy", database=url) != 0  # it has rows
    assert run("backup", tmp_path / "empty", database=make_database()) != 0  # it has no tables
    assert not (tmp_path / "empty").exists()


@pytest.mark.slow
@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
def test_backup_moves_from_sqlite_to_postgresql(portal, run, tmp_path, postgresql):
    fill(portal)
    url = postgresql()
    assert run("backup", tmp_path / "copy") == run("restore", tmp_path / "copy", database=url) == 0
    assert rows_of(url) == rows_of(portal.service.settings.database)
    assert serving.verify_audit(url)[1] is None


@pytest.mark.slow
@pytest.mark.parametrize("make_database", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.usefixtures("restored_database")
def test_broken_or_absent_backup_restores_nothing(tmp_path, make_database):
    (tmp_path / "copy/part.jsonl").write_text("{")
    url = make_database()
    with pytest.raises(json.JSONDecodeError):
        serving.restore(url, tmp_path / "copy")
    assert not any(rows for name, rows in rows_of(url).items() if name != "alembic_version")
    (tmp_path / "copy/version").write_text("v99")
    for folder in ("copy", "absent"):
        with pytest.raises(ConfigurationError, match="not a backup that this version can read"):
            serving.restore(make_database(), tmp_path / folder)


NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "next", "{newest}"


def upgrade():
    with op.batch_alter_table("person") as table:
        table.add_column(sa.Column("affiliation", sa.Text(), nullable=False, server_default=""))
"""


def test_migration_keeps_rows_and_reads_older_backups(restored_database, tmp_path, make_database, monkeypatch):
    url, configured = restored_database, serving._migrations
    before = rows_of(url)
    newest = serving.migrate(url)  # it is already current
    assert rows_of(url) == before
    command.check(configured(url))  # the tables match the code
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions/next.py").write_text(NEXT.format(newest=newest))

    def with_next(database):
        config = configured(database)
        places = (f"{config.get_main_option('script_location')}/versions", tmp_path / "versions")
        config.set_main_option("path_separator", "os")
        config.set_main_option("version_locations", ":".join(map(str, places)))
        return config

    monkeypatch.setattr(serving, "_migrations", with_next)
    with pytest.raises(ConfigurationError, match="expected next"):
        serving.check_migrated(url)
    assert serving.migrate(url) == "next"
    serving.check_migrated(url)
    later = make_database()
    serving.restore(later, tmp_path / "copy")
    for database in (url, later):
        after = rows_of(database)
        assert after.pop("alembic_version") != before["alembic_version"]
        assert after.pop("person") == [f"{row[:-1]}, '')" for row in before["person"]]
        assert after == {name: rows for name, rows in before.items() if name in after}


def test_sign_out_command_ends_all_sessions_of_a_user(portal, run):
    ada, eve, browser = portal.caller("ada"), portal.caller("eve"), portal.browser("ada")
    assert browser.get("/api/v1/me").json()["login"] == "ada"
    assert run("sign-out", "Ada") == 0
    answers = ada.get("me"), eve.get("me"), browser.get("/api/v1/me")
    assert [answer.status_code for answer in answers] == [401, 200, 401]
    assert run("sign-out", "adda") != 0


def test_quota_command_sets_and_resets_a_quota(portal, run):
    ada = portal.caller("ada")
    assert run("quota", "Ada", "15") == 0
    assert ada.get("me").json()["quota_bytes"] == 15
    assert ada.announce("Large2026", {"b.csv": b"b" * 16}).status_code == 422
    assert run("quota", "ada") == 0
    assert ada.get("me").json()["quota_bytes"] == portal.service.settings.quota_bytes
    with open_engine(portal.service.settings.database).connect() as connection:
        lines = connection.execute(text("SELECT count(*) FROM audit_entry WHERE action = 'set a quota'")).scalar()
    assert lines == 2
    assert run("quota", "adda", "1") != 0


def test_demonstration_has_an_upload_to_review(portal, settings, tmp_path):
    upload_id = serving.add_example(settings, tmp_path / "example")
    boss = portal.browser("boss")
    assert "To review: 1." in boss.get("/queue").text
    page = boss.get(f"/uploads/{upload_id}").text
    assert page.count("data:image/png;base64,") == 8
    assert "Approve</button>" in page
    assert portal.service.review(person_of(portal, "boss"), upload_id, "approve", "") == "waiting"
    portal.work()
    state = portal.caller("contributor").get(f"uploads/{upload_id}").json()
    assert (state["state"], sorted(state["result"]["files"])) == (
        "published",
        ["stimulus_Example2026.csv", "stimulus_Example2026.zip"],
    )


def person_of(portal, login):
    with portal.service.session(only_reads=True) as session:
        return session.scalars(select(Person).where(Person.login == login)).one()
