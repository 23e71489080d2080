"""Every pair of a campaign gets its record, whatever happens to the others."""

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


# -- where records cannot be stored------------------------------------------------------------------------------------

WRITES_RECORDS = """
    for benchmark in options.benchmark:
        tell("started", benchmark)
        note(benchmark)
        write(benchmark)
        tell("ended", benchmark)
        if benchmark == "b5" and (here / "waits").exists():  # to be ended, before what follows is begun
            time.sleep(600)
"""


def test_campaign_stops_at_a_full_disk_and_can_be_resumed(small_disk, install_library):
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


def test_read_only_disk_stops_the_campaign_before_any_pair(small_disk):
    disk = small_disk("size=1m,ro")
    with pytest.raises(RecordsError, match=f"to {disk}/records: Read-only file system"):
        run_pairs([pair_of("a")], disk / "records", lambda batches, *, minutes: pytest.fail("it was begun"))


def test_full_disk_leaves_an_older_score_complete(small_disk):
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


def test_unwritable_record_affects_only_its_pair(tmp_path):
    (tmp_path / "b").write_text("a file where a folder should be")
    pairs = [pair_of("a"), pair_of("a", benchmark="c"), pair_of("m" * 300, benchmark="c")]
    made, unscored = run_pairs(pairs, tmp_path, all_scored)
    assert [record.benchmark for record in made] == ["c"]
    assert list(unscored) == [pairs[0], pairs[2]]
    assert "too long" in unscored[pairs[2]]


# -- scoring and storing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["n\u0435t", "net\u200b", "net "], ids=ascii)
def test_lookalike_name_is_not_scored_but_others_are(tmp_path, name):
    ran = []

    def run(batches, *, minutes):
        ran.extend(pair for batch in batches for pair in batch.pairs)
        return all_scored(batches, minutes=minutes)

    odd = [pair_of(name), pair_of("net", name, private=True)]
    made, unscored = run_pairs([pair_of("net"), *odd], tmp_path, run, why_no_private="none here")
    assert [pair.benchmark for pair in ran] == [record.benchmark for record in made] == ["b"]
    assert unscored.keys() == set(odd)
    assert all("look like another one" in reason for reason in unscored.values())


def test_every_record_has_the_revisions_of_its_plugins(tmp_path):
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


def test_values_and_locks_are_stored_with_the_record(tmp_path):
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


def test_second_run_scores_only_missing_and_failed_pairs(tmp_path):
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


def test_interrupt_keeps_finished_records(tmp_path):
    def run(batches, *, minutes):
        yield of(batches[0].pairs[0])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_pairs([pair_of("a"), pair_of("b")], tmp_path, run)
    assert [record.model for record in FolderStore(tmp_path)] == ["a"]


def test_skipped_private_pairs_have_a_reason(tmp_path):
    pairs = [pair_of("a", private=True), pair_of("b")]
    made, _ = run_pairs(pairs, tmp_path, all_scored, why_no_private="there is no box")
    assert {record.model: record.status for record in made} == {"a": "skipped:there is no box", "b": "scored"}
    made, _ = run_pairs(pairs[:1], tmp_path, all_scored)
    assert [record.status for record in made] == ["scored"]


def test_unreached_pairs_are_returned(tmp_path):
    def run(batches, *, minutes):
        assert minutes == 7
        yield of(batches[0].pairs[0])

    made, unscored = run_pairs([pair_of("a"), pair_of("b")], tmp_path, run, minutes=7)
    assert [record.model for record in made] == ["a"]
    assert list(unscored) == [pair_of("b")]


def test_revisions_are_read_before_the_run(tmp_path):
    """A plugin may write into its folder while it runs."""
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
def test_jobs_sets_the_number_of_concurrent_batches(jobs):
    running, most, full = set(), [], threading.Event()

    def run(batch, library, limits, *, isolation, minutes, is_over):
        assert (library, isolation) == ("x", "box")
        running.add(batch.model)
        if len(running) == jobs:
            full.set()
        assert full.wait(60)
        time.sleep(0.1)  # long enough for an excess batch to start
        most.append(len(running))
        yield from map(of, batch.pairs)
        running.remove(batch.model)

    outcomes = list(run_here(batches(*"abcde"), "x", jobs=jobs, isolation="box", run=run))
    assert sorted((each.record.model, each.record.benchmark) for each in outcomes) == [
        (model, benchmark) for model in "abcde" for benchmark in ("b0", "b1")
    ]
    assert max(most) == jobs


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("y"), MemoryError(), SystemError("z")])
def test_failing_batch_does_not_affect_others(error):
    def run(batch, *_, **__):
        yield of(batch.pairs[0])
        if batch.model == "a":
            raise error
        yield of(batch.pairs[1])

    records = [outcome.record for outcome in run_here(batches(*"ab"), "x", run=run)]
    statuses = {record.model + record.benchmark: record.status for record in records}
    problem = f"failed:{type(error).__name__}"
    assert statuses == {"ab0": "scored", "ab1": problem, "bb0": "scored", "bb1": "scored"}


def test_starting_pairs_are_reported_in_order():
    started = []

    def run(batch, *_, **__):
        for pair in batch.pairs:
            assert started[-1] == pair
            yield of(pair)

    batch = Batch(tuple(pair_of("m", name) for name in "abc"))
    assert len(list(run_here([batch, Batch((pair_of("n"),))], "x", run=run, start=started.append))) == 4
    assert [(pair.model, pair.benchmark) for pair in started] == [("m", "a"), ("m", "b"), ("m", "c"), ("n", "b")]


def test_no_batch_starts_after_the_time_limit(monkeypatch):
    now, started = [100.0], []
    monkeypatch.setattr(campaign, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def run(batch, *_, minutes, **__):
        started.append(minutes)
        now[0] += 0.3
        yield from map(of, batch.pairs)

    outcomes = list(run_here(batches(*"abc"), "x", minutes=5.2 / 60, run=run))
    assert {each.record.model for each in outcomes} == {"a"}
    assert started == [pytest.approx(5.2 / 60)]


def test_closing_ends_running_batches_and_starts_no_more():
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
