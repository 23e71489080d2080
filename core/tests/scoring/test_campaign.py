"""Test that every pair of a campaign gets its record, whatever becomes of the others."""

import dataclasses
import subprocess
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from brainscore_core.errors import RecordsError
from brainscore_core.identity import software
from brainscore_core.identity.digest import text_digest
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import FolderStore, lock_path, reuse
from brainscore_core.records.values import digest_of, read_values, values_bytes
from brainscore_core.scoring import campaign
from brainscore_core.scoring.batches import Batch
from brainscore_core.scoring.campaign import run_here, run_pairs
from brainscore_core.scoring.pairs import Outcome, Pair


def pair_of(model, benchmark="b", minutes=1.0, memory_gb=1.0, private=False):
    return Pair(model, benchmark, minutes, memory_gb, private)


def of(pair, status="scored"):
    return Outcome(ScoreRecord.without_score(status, model=pair.model, benchmark=pair.benchmark))


def all_scored(batches, *, minutes):
    for batch in batches:
        yield from map(of, batch.pairs)


def revision_of(kind, identifier):
    return f"{kind} {identifier}"


# -- where records cannot be kept --------------------------------------------------------------------------------------

WRITES_RECORDS = """
    for benchmark in options.benchmark:
        tell("started", benchmark)
        note(benchmark)
        write(benchmark)
        tell("ended", benchmark)
        if benchmark == "b5" and (here / "waits").exists():  # to be ended, before what follows is begun
            time.sleep(600)
"""


def test_a_full_disk_ends_the_campaign_and_with_room_it_goes_on(small_disk, install_library):
    disk, package = small_disk("size=16k"), install_library(WRITES_RECORDS)  # a record takes a page of 4 KiB
    pairs = [pair_of("m", f"b{number}") for number in range(8)]
    (package / "waits").touch()

    def go_on():
        is_scored = reuse([FolderStore(disk / "records")], revision_of)
        todo = [pair for pair in pairs if is_scored(pair.model, pair.benchmark) is None]
        run = partial(run_here, library=package.name)
        return run_pairs(todo, disk / "records", run, revision_of=revision_of)

    with pytest.raises(RecordsError, match=rf"to {disk}/records: No space left on device\. .*MB are free.*--records"):
        go_on()
    kept = {record.benchmark for record in FolderStore(disk / "records")}
    files = [path for path in disk.rglob("*") if path.is_file()]
    assert 0 < len(kept) == len(files) < 5
    assert all(ScoreRecord.read(file).is_scored for file in files)
    assert "b6" not in (package / "log").read_text()
    (package / "waits").unlink()
    subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
    made, unscored = go_on()
    assert {record.benchmark for record in made} == {pair.benchmark for pair in pairs} - kept
    assert unscored == {}


def test_where_nothing_can_be_written_nothing_is_begun(small_disk):
    disk = small_disk("size=1m,ro")
    with pytest.raises(RecordsError, match=f"to {disk}/records: Read-only file system"):
        run_pairs([pair_of("a")], disk / "records", lambda batches, *, minutes: pytest.fail("it was begun"))


def test_values_that_there_is_no_room_for_leave_the_older_score_whole(small_disk):
    disk = small_disk("size=64k")

    def score(size):
        values = values_bytes({"neuroid": np.random.default_rng(0).random(size)})
        pair = of(pair_of("a"))
        record = dataclasses.replace(pair.record, values=digest_of(values))
        run_pairs([pair_of("a")], disk, lambda batches, *, minutes: iter([Outcome(record, values=values)]))

    score(10)
    before = {path: path.read_bytes() for path in disk.rglob("*") if path.is_file()}
    assert len(before) == 2
    with pytest.raises(RecordsError, match="No space left"):
        score(100_000)
    assert {path: path.read_bytes() for path in disk.rglob("*") if path.is_file()} == before


def test_a_record_that_cannot_be_written_costs_its_own_pair(tmp_path):
    (tmp_path / "b").write_text("a file where a folder should be")
    pairs = [pair_of("a"), pair_of("a", benchmark="c"), pair_of("m" * 300, benchmark="c")]
    made, unscored = run_pairs(pairs, tmp_path, all_scored)
    assert [record.benchmark for record in made] == ["c"]
    assert list(unscored) == [pairs[0], pairs[2]]
    assert "too long" in unscored[pairs[2]]


# -- what is scored, and what is kept ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["n\u0435t", "net\u200b", "net "], ids=ascii)
def test_a_name_that_looks_like_another_is_not_scored_and_holds_up_no_other(tmp_path, name):
    ran = []

    def run(batches, *, minutes):
        ran.extend(pair for batch in batches for pair in batch.pairs)
        return all_scored(batches, minutes=minutes)

    odd = [pair_of(name), pair_of("net", name, private=True)]
    made, unscored = run_pairs([pair_of("net"), *odd], tmp_path, run, why_no_private="none here")
    assert [pair.benchmark for pair in ran] == [record.benchmark for record in made] == ["b"]
    assert unscored.keys() == set(odd)
    assert all("which may look like another one" in reason for reason in unscored.values())


def test_every_record_is_written_with_the_revisions_of_its_plugins(tmp_path):
    told = []

    def run(batches, *, minutes):
        for batch in batches:
            yield of(batch.pairs[0], "failed:X" if batch.model == "bad" else "scored")

    made, unscored = run_pairs(
        [pair_of("a"), pair_of("bad"), pair_of("c")],
        tmp_path,
        run,
        revision_of=revision_of,
        tell=lambda pair, ran: told.append((pair.model, record_path(tmp_path, pair.model, "b").exists())),
    )
    assert {record.model: record.status for record in made} == {"a": "scored", "bad": "failed:X", "c": "scored"}
    assert unscored == {}
    assert sorted(told) == [("a", True), ("bad", True), ("c", True)]
    for record in made:
        assert ScoreRecord.read(record_path(tmp_path, record.model, "b")) == record
        assert (record.model_revision, record.benchmark_revision) == (f"model {record.model}", "benchmark b")
        assert record.version_class == software.version_class()


def test_values_and_the_lock_stand_beside_the_record_that_names_them(tmp_path):
    values, lock, own = {"raw.neuroid": np.arange(3.0)}, "numpy==2.4\n", "numpy==2.3\n"

    def run(batches, *, minutes):
        good, bad = (of(batch.pairs[0]).record for batch in batches)
        names = {"values": digest_of(values_bytes(values)), "environment": text_digest(lock)}
        names["candidate_environment"] = text_digest(own)
        good = dataclasses.replace(good, **names)
        yield Outcome(good, values=values_bytes(values), lock=lock, candidate_lock=own)
        yield Outcome(dataclasses.replace(bad, **names), values=b"others", lock="others", candidate_lock="others")

    good, bad = run_pairs([pair_of("a"), pair_of("b")], tmp_path, run)[0]
    path = record_path(tmp_path, "a", "b")
    assert read_values(path, good.values)["raw.neuroid"].tolist() == [0, 1, 2]
    locks = [lock_path(path, each) for each in (good.environment, good.candidate_environment)]
    assert [each.read_text() for each in locks] == [lock, own]
    assert bad.values is None
    assert sorted(file.name for file in path.parent.iterdir()) == sorted(
        ["a.json", "a.values.npz", "b.json", *(each.name for each in locks)]
    )


def test_a_second_run_scores_only_what_is_missing_or_failed(tmp_path):
    calls = []

    def run(batches, *, minutes):
        for batch in batches:
            calls.append(batch.model)
            yield of(batch.pairs[0], "failed:X" if (batch.model, len(calls)) == ("b", 2) else "scored")

    def again():
        calls.clear()
        is_scored = reuse([FolderStore(tmp_path)], revision_of)
        todo = [pair_of(model) for model in "abc" if is_scored(model, "b") is None]
        return run_pairs(todo, tmp_path, run, revision_of=revision_of)

    again()
    assert calls == ["a", "b", "c"]
    made, unscored = again()
    assert calls == ["b"]
    assert [record.model for record in made] == ["b"]
    assert unscored == {}
    again()
    assert calls == []


def test_interrupting_keeps_the_records_there_are(tmp_path):
    def run(batches, *, minutes):
        yield of(batches[0].pairs[0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_pairs([pair_of("a"), pair_of("b")], tmp_path, run)
    assert [record.model for record in FolderStore(tmp_path)] == ["a"]


def test_private_pairs_that_cannot_be_scored_say_why(tmp_path):
    pairs = [pair_of("a", private=True), pair_of("b")]
    made, _ = run_pairs(pairs, tmp_path, all_scored, why_no_private="there is no box")
    assert {record.model: record.status for record in made} == {"a": "skipped:there is no box", "b": "scored"}
    made, _ = run_pairs(pairs[:1], tmp_path, all_scored)
    assert [record.status for record in made] == ["scored"]


def test_what_was_not_reached_is_said(tmp_path):
    def run(batches, *, minutes):
        assert minutes == 7
        yield of(batches[0].pairs[0])

    made, unscored = run_pairs([pair_of("a"), pair_of("b")], tmp_path, run, minutes=7)
    assert [record.model for record in made] == ["a"]
    assert list(unscored) == [pair_of("b")]


def test_revisions_are_those_from_before(tmp_path):
    """Plugins may write into their own folder while they run."""
    state = {"revision": "before"}

    def run(batches, *, minutes):
        state["revision"] = "after"
        yield from all_scored(batches, minutes=minutes)

    made, _ = run_pairs([pair_of("a"), pair_of("b")], tmp_path, run, revision_of=lambda *_: state["revision"])
    assert {record.model_revision for record in made} == {"before"}


# -- several at a time -------------------------------------------------------------------------------------------------


def batches(*models, n=2):
    return [Batch(tuple(pair_of(model, f"b{number}") for number in range(n))) for model in models]


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_as_many_batches_as_wanted_run_at_a_time(jobs):
    running, most, full = set(), [], threading.Event()

    def run(batch, library, limits, *, isolation, minutes, is_over):
        assert (library, isolation) == ("x", "box")
        running.add(batch.model)
        if len(running) == jobs:
            full.set()
        assert full.wait(60)
        time.sleep(0.1)  # so that one too many would be there
        most.append(len(running))
        yield from map(of, batch.pairs)
        running.remove(batch.model)

    outcomes = list(run_here(batches(*"abcde"), "x", jobs=jobs, isolation="box", run=run))
    assert sorted((each.record.model, each.record.benchmark) for each in outcomes) == [
        (model, benchmark) for model in "abcde" for benchmark in ("b0", "b1")
    ]
    assert max(most) == jobs


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("y"), MemoryError(), SystemError("z")])
def test_a_batch_that_cannot_be_run_keeps_nothing_back(error):
    def run(batch, *_, **__):
        yield of(batch.pairs[0])
        if batch.model == "a":
            raise error
        yield of(batch.pairs[1])

    records = [outcome.record for outcome in run_here(batches(*"ab"), "x", run=run)]
    statuses = {record.model + record.benchmark: record.status for record in records}
    problem = f"failed:{type(error).__name__}"
    assert statuses == {"ab0": "scored", "ab1": problem, "bb0": "scored", "bb1": "scored"}


def test_each_pair_that_starts_is_said_in_order():
    started = []

    def run(batch, *_, **__):
        for pair in batch.pairs:
            assert started[-1] == pair
            yield of(pair)

    batch = Batch(tuple(pair_of("m", name) for name in "abc"))
    assert len(list(run_here([batch, Batch((pair_of("n"),))], "x", run=run, start=started.append))) == 4
    assert [(pair.model, pair.benchmark) for pair in started] == [("m", "a"), ("m", "b"), ("m", "c"), ("n", "b")]


def test_nothing_is_started_when_time_is_over(monkeypatch):
    now, started = [100.0], []
    monkeypatch.setattr(campaign, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def run(batch, *_, minutes, **__):
        started.append(minutes)
        now[0] += 0.3
        yield from map(of, batch.pairs)

    outcomes = list(run_here(batches(*"abc"), "x", minutes=5.2 / 60, run=run))
    assert {each.record.model for each in outcomes} == {"a"}
    assert started == [pytest.approx(5.2 / 60)]


def test_who_stops_asking_ends_what_runs_and_starts_nothing_more():
    ended, started = threading.Event(), []

    def run(batch, *_, is_over, **__):
        started.append(batch.model)
        yield of(batch.pairs[0])
        while not is_over():
            time.sleep(0.01)
        ended.set()

    outcomes = run_here(batches(*"abc"), "x", run=run)
    assert next(outcomes).record.model == "a"
    outcomes.close()
    assert ended.is_set()
    assert started == ["a"]
