"""Test reading earlier contents of records from real repositories."""

import dataclasses
from datetime import UTC, datetime

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_web.leaderboard import computing
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.site import build
from brainscore_web.leaderboard.sources import CommitSource
from brainscore_web.leaderboard.workers import Workers

from .conftest import git

MADE = MadeUp.of("4x3", seed=2)
RECORDS = [each for each in MADE.records() if each.score is not None]
FIRST, SECOND = RECORDS[:2]


@pytest.fixture
def branch(tmp_path):
    """Return a repository of records with one commit."""
    folder = tmp_path / "branch"
    (folder / "records").mkdir(parents=True)
    MADE.write(folder / "records")
    git(folder, "init", "-q", "-b", "scores")
    commit(folder, "start")
    return folder


def commit(folder, message):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def place(folder, record):
    return record_path(folder / "records", record.model, record.benchmark)


def change(folder, record, message="change", **changes):
    """Commit a changed record; return it and the commit."""
    before = dataclasses.replace(
        ScoreRecord.read(place(folder, record)), normalization=None
    )  # without it, any score is valid
    changed = dataclasses.replace(before, **changes)
    changed.write(place(folder, record))
    return changed, commit(folder, message)


def build_at(branch, to, at="HEAD", catalogue=MADE.catalogue):
    build(CommitSource.of(branch, at), catalogue, to, gone=None)
    return to


def slug(read, site, record):
    models = read(site, "board")["models"]
    return models["slug"][models["id"].index(record.model)]


def earlier_records(read, site, record):
    """Return the earlier records of a pair, as listed on the model's page."""
    nodes = read(site, "board")["nodes"]["id"]
    entries = read(site, f"models/{slug(read, site, record)}")["history"]
    return [each for each in entries if "replaced" in each and nodes[each["benchmark"]] == record.benchmark]


def test_earlier_record_has_date_commit_and_changes(branch, tmp_path, read):
    blob = git(branch, "rev-parse", f"HEAD:{place(branch, FIRST).relative_to(branch).as_posix()}")
    _, second = change(branch, FIRST, benchmark_version=2 + FIRST.benchmark_version, score=0.25)
    _, third = change(branch, FIRST, model_revision="f" * 40, data={"assembly:a": "0"}, score=0.5)
    site = build_at(branch, tmp_path / "site")
    one, two = earlier_records(read, site, FIRST)
    assert [one["score"], two["score"]] == [FIRST.score, 0.25]
    assert [one["version"], two["version"]] == [FIRST.benchmark_version, 2 + FIRST.benchmark_version]
    assert [one["by"], two["by"]] == [second, third]
    assert (one["record"], one["created"]) == (blob, FIRST.created)
    assert (one["changed"], two["changed"]) == (["version of the benchmark"], ["code of the model", "data"])
    at = datetime.fromtimestamp(int(git(branch, "log", "-1", "--format=%ct", third)), UTC)
    assert two["replaced"] == at.isoformat()
    page = (site / f"models/{slug(read, site, FIRST)}.html").read_text()
    assert all(each in page for each in (second[:12], blob[:12], "code of the model, data", "Replaced records"))
    assert earlier_records(read, site, RECORDS[3]) == []


def test_benchmark_lists_replaced_versions(branch, tmp_path, read):
    version = FIRST.benchmark_version
    same = [each for each in RECORDS if each.benchmark == FIRST.benchmark]
    for record in same:
        change(branch, record, benchmark_version=version + 1)
    change(branch, FIRST, score=0.1)  # a change without a new version
    site = build_at(branch, tmp_path / "site")
    nodes = read(site, "board")["nodes"]
    name = nodes["slug"][nodes["id"].index(FIRST.benchmark)]
    (row,) = read(site, f"benchmarks/{name}")["versions"]
    assert (row["from"], row["to"], row["n"]) == (version, version + 1, len(same)) != (version, version + 1, 1)
    assert "Replaced by" in (site / f"benchmarks/{name}.html").read_text()


def test_removed_unreadable_and_failed_records_are_listed(branch, tmp_path, read):
    place(branch, FIRST).write_text("<script>")
    commit(branch, "broken")
    FIRST.write(place(branch, FIRST))
    commit(branch, "mended")
    change(branch, FIRST, score=None, status="failed:ValueError", message="no")
    FIRST.write(place(branch, FIRST))
    commit(branch, "again")
    SECOND.write(place(branch, FIRST))  # a record of another pair
    commit(branch, "mixed up")
    FIRST.write(place(branch, FIRST))
    commit(branch, "mended")
    place(branch, SECOND).unlink()
    commit(branch, "removed")
    site = build_at(branch, tmp_path / "site")
    unread, first = ("cannot be read", None), ("scored", FIRST.score)
    statuses = [(each["status"], each["score"]) for each in earlier_records(read, site, FIRST)]
    assert statuses == [first, unread, first, ("failed:ValueError", None), first, unread]
    assert [each["changed"] for each in earlier_records(read, site, FIRST)] == [[]] * 6
    assert [each["changed"] for each in earlier_records(read, site, SECOND)] == [["removed"]]


def test_history_keeps_only_the_newest(branch, tmp_path, read, monkeypatch):
    monkeypatch.setattr(computing, "MOST", 2)
    for number in range(4):
        change(branch, FIRST, score=0.1 * number)
    found = earlier_records(read, build_at(branch, tmp_path / "site"), FIRST)
    assert [each["score"] for each in found] == [0.1, 0.2]


def test_change_on_another_branch_is_dated_by_its_merge(branch, tmp_path, read):
    git(branch, "switch", "-qc", "other")
    change(branch, FIRST, score=0.1)
    git(branch, "switch", "-q", "scores")
    change(branch, SECOND, score=0.2)
    git(branch, "merge", "-q", "--no-edit", "other")
    merge = git(branch, "rev-parse", "HEAD")
    (entry,) = earlier_records(read, build_at(branch, tmp_path / "site"), FIRST)
    assert (entry["by"], entry["score"]) == (merge, FIRST.score)


@pytest.mark.parametrize(("shows", "changed"), [("score", ["code of the model"]), ("nothing", None)])
def test_hidden_benchmark_hides_its_history(branch, tmp_path, read, shows, changed):
    change(branch, FIRST, score=0.1, model_revision="f" * 40, data={"assembly:a": "0"})
    entries = [
        dataclasses.replace(each, shows=shows) if each.identifier == FIRST.benchmark else each
        for each in MADE.catalogue.benchmarks
    ]
    catalogue = dataclasses.replace(MADE.catalogue, benchmarks=tuple(entries))
    site = build_at(branch, tmp_path / "site", catalogue=catalogue)
    assert [each["changed"] for each in earlier_records(read, site, FIRST)] == ([] if changed is None else [changed])


def test_hostile_commit_and_record_texts_are_escaped(branch, tmp_path, read):
    """They neither end the walk through the history nor become part of a page."""
    odd = "<img src=x onerror=alert(1)>\n\n\x01:100644 100644 0 0 M\n"
    change(branch, FIRST, odd, created="<img src=1>")
    change(branch, FIRST, odd, score=0.1, status="scored")
    site = build_at(branch, tmp_path / "site")
    assert [each["created"] for each in earlier_records(read, site, FIRST)] == [FIRST.created, "<img src=1>"]
    pages = [file.read_text() for file in site.rglob("*.html")]
    assert any("&lt;img src=1" in page for page in pages)
    assert not any("<img src=1" in page or "<img src=x" in page for page in pages)


def test_made_up_records_have_a_history(tmp_path, read):
    """Benchmarks at their third version have a second one in their history."""
    (tmp_path / "branch").mkdir()
    source = MADE.commit(tmp_path / "branch")
    build(source, MADE.catalogue, tmp_path / "site")
    third = [each for each in RECORDS if each.benchmark_version == 3]
    for record in RECORDS:
        versions = [(each["version"], each["changed"]) for each in earlier_records(read, tmp_path / "site", record)]
        expected = [(2, ["version of the benchmark", "code of the benchmark"])]
        assert versions == (expected if record in third else [])
    nodes = read(tmp_path / "site", "board")["nodes"]
    name = nodes["slug"][nodes["id"].index(third[0].benchmark)]
    (row,) = read(tmp_path / "site", f"benchmarks/{name}")["versions"]
    assert (row["from"], row["to"], row["n"], row["first"][:10]) == (2, 3, len(third), "2026-01-01")


def test_folder_without_git_has_no_history(source):
    assert computing.changes_of(source) == {}
    assert computing.history_of(source, {}, {}, Workers(1, 0)) == {}
