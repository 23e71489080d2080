"""Stores find records and decide which pairs need no new score."""

import dataclasses
import subprocess

import pytest

from brainscore_core.errors import RecordsError
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import BranchStore, FolderStore, is_recorded, replaces, reuse, why_not_again


def record(model="m", benchmark="b", status="scored", code="1", **changes):
    made = ScoreRecord.without_score(status, model=model, benchmark=benchmark, source_revision=None)
    fixed = {"created": "2026-01-02T03:04:05+00:00", "model_revision": code, "benchmark_revision": code}
    return dataclasses.replace(made, **{**fixed, **changes})


def revision_of(kind, identifier):
    return "1"


def test_folder_store_finds_valid_records_and_reports_others(tmp_path):
    records = [record(), record(benchmark="../cd"), record(model="n", status="failed:X")]
    for each in records:
        each.write(record_path(tmp_path, each.model, each.benchmark))
    (tmp_path / "b/broken.json").write_text("{")
    record(model="elsewhere").write(tmp_path / "b/other.json")
    store = FolderStore(tmp_path)
    assert store.get("m", "../cd") == records[1]
    assert store.get("broken", "b") is None
    assert store.get("other", "b") is None
    assert sorted(store, key=lambda each: (each.model, each.benchmark)) == [records[1], records[0], records[2]]
    assert list(FolderStore(tmp_path / "nowhere")) == []
    with pytest.raises(RecordsError) as raised:
        store.whole()
    assert str(tmp_path / "b/broken.json") in str(raised.value)
    assert f"{tmp_path / 'b/other.json'} is a record that belongs at" in str(raised.value)
    for name in ("broken", "other"):
        (tmp_path / f"b/{name}.json").unlink()
    assert store.whole() == list(store)


class TestBranch:
    @pytest.fixture
    def repository(self, tmp_path):
        def git(*arguments):
            identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
            subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True, capture_output=True)

        git("init", "-q", "-b", "scores")
        record().write(record_path(tmp_path / "records", "m", "b"))
        nameless = record_path(tmp_path / "records", "a b", "c: d\n")
        nameless.parent.mkdir()
        nameless.write_text(record(model="a b", benchmark="c: d\n").to_json())  # `write` rejects such names
        (tmp_path / "records/b/broken.json").write_text("{")
        git("add", "-A")
        git("commit", "-qm", "records")
        for file in tmp_path.glob("records/b/*"):
            file.unlink()  # the working tree must not matter
        return tmp_path

    def test_branch_store_reads_records(self, repository):
        with BranchStore(repository, "scores") as store:
            assert store.get("m", "b").model == "m"
            assert store.get("nobody", "b") is None
            assert store.get("broken", "b") is None
            assert store.get("a b", "c: d\n") is None  # such a name is not valid in a record
            assert store.get("m", "b").benchmark == "b"

    def test_branch_store_lists_pairs_of_owners(self, repository):
        owners = [(kind, name) for kind in ("model", "benchmark") for name in ("m", "b", "a b", "c: d\n")]
        with BranchStore(repository, "scores") as store:
            assert set(store.pairs_of(owners)) == {("m", "b"), ("a b", "c: d\n")}
            assert store.pairs_of(owners[:1]) == []
        with BranchStore(repository, "origin/scores") as store:
            assert store.pairs_of(owners) == []

    def test_branch_store_without_branch_or_repository_is_empty(self, repository, tmp_path_factory):
        with BranchStore(repository, "origin/scores") as store:
            assert store.get("m", "b") is None
        with BranchStore(tmp_path_factory.mktemp("none"), "scores") as store:
            assert store.get("m", "b") is None


@pytest.mark.parametrize(
    ("known", "revisions", "with_private", "reason"),
    [
        (None, ("1", "1"), False, None),
        (record(created="2026-01-02T03:04"), ("1", "1"), False, "scored on 2026-01-02 with the same code and library "),
        (record(status="not_applicable", created="2026-01-02T03:04"), ("1", "1"), False, "found not applicable on "),
        (record(), ("2", "1"), False, None),
        (record(), ("1", "2"), False, None),
        (record(), (None, "1"), False, None),
        (record(code=None), (None, None), False, None),
        (record(version_class="0.1"), ("1", "1"), False, None),
        (record(status="failed:X"), ("1", "1"), False, None),
        (record(status="skipped:private"), ("1", "1"), False, "skipped before: private"),
        (record(status="skipped:private"), ("1", "1"), True, None),
        (record(status="skipped:private"), ("2", "1"), False, None),
    ],
)
def test_why_not_again_gives_the_reason(known, revisions, with_private, reason):
    found = why_not_again(known, *revisions, with_private=with_private)
    assert found == reason or (reason is not None and found.startswith(reason))


def test_reuse_searches_several_stores(tmp_path):
    record(model="first", status="failed:X").write(record_path(tmp_path / "1", "first", "b"))
    record(model="first").write(record_path(tmp_path / "2", "first", "b"))
    is_scored = reuse([FolderStore(tmp_path / "1"), FolderStore(tmp_path / "2")], revision_of)
    assert "same code" in is_scored("first", "b")
    assert is_scored("second", "b") is None
    assert is_recorded(FolderStore(tmp_path / "1"), revision_of)("first", "b")
    assert not is_recorded(FolderStore(tmp_path / "1"), lambda kind, identifier: "2")("first", "b")


@pytest.mark.parametrize(
    ("new", "old", "answer"),
    [
        (record(), None, True),
        (record(status="failed:X"), None, True),
        (record(), record(), True),
        (record(), record(status="failed:X"), True),
        (record(status="failed:X"), record(), False),
        (record(status="failed:X", code="2"), record(), True),
        (record(status="failed:X"), record(version_class="0.1"), True),
        (record(status="failed:Y"), record(status="failed:X"), True),
        (record(status="failed:X"), record(status="skipped:x"), True),
        (record(status="skipped:x", code="2"), record(), False),
        (record(status="skipped:x"), record(status="failed:X"), False),
        (record(status="skipped:x"), record(status="skipped:y"), True),
    ],
)
def test_which_record_replaces_another(new, old, answer):
    assert replaces(new, old) is answer
