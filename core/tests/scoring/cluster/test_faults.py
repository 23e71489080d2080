"""If the scheduler, the disk or the clock fails, a campaign loses no record and continues from there."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest

from brainscore_core.errors import ClusterError, RecordsError
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import FolderStore, reuse
from brainscore_core.scoring.campaign import run_pairs
from brainscore_core.scoring.cluster import run_on_cluster
from brainscore_core.scoring.isolation.box import why_no_box

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow


def pairs_of(records):
    return [(each.model, each.benchmark) for each in records]


def test_campaign_continues_after_a_scheduler_restart(cluster, batches, library):
    said, made, before = [], [], []

    def restart():
        library.wait_for(3)
        arrived = pairs_of(made)
        cluster.kill("scheduler")
        cluster.kill("worker")
        before.extend(pair for pair in library.begun_pairs() if pair not in arrived)
        cluster.start_scheduler()
        cluster.start_worker()

    thread = threading.Thread(target=restart, daemon=True)
    thread.start()
    todo = batches(["slow1", "slow1-too"], 4)
    running = run_on_cluster(todo, library.name, cluster=cluster.address, tell=said.append)
    made.extend(outcome.record for outcome in running)  # as they arrive
    thread.join()
    assert Counter(pairs_of(made)) == Counter(pairs_of(pair for batch in todo for pair in batch.pairs))
    assert {record.status for record in made} == {"scored"}
    # Only pairs that had begun without an outcome are begun again.
    assert Counter(library.begun_pairs()) - Counter(pairs_of(made)) <= Counter(before)
    assert any("was lost; waiting" in line for line in said)
    assert any("is back" in line for line in said)


def test_killed_worker_leaves_no_process(cluster, batches, library):
    """The judge, its box and the processes in the box all end."""
    psutil = pytest.importorskip("psutil")
    if why_no_box():
        pytest.skip(why_no_box())
    made = []
    scored = partial(run_on_cluster, batches(["boxed"], 1), library.name, cluster=cluster.address)
    thread = threading.Thread(target=lambda: made.extend(scored()), daemon=True)
    thread.start()
    library.wait_for(1)
    ((_, _, judge, worker),) = library.begun()
    started, until = {}, time.monotonic() + 60
    while "sleep" not in started.values():
        assert time.monotonic() < until, started
        time.sleep(0.05)
        with suppress(psutil.NoSuchProcess):  # a process that only started another one
            started = {each.pid: each.name() for each in psutil.Process(judge).children(recursive=True)}
    assert "bwrap" in started.values()
    library.go()
    os.kill(worker, signal.SIGKILL)
    library.wait_for_end([judge, *started])
    thread.join(120)
    assert [each.record.status for each in made] == ["scored"]


def test_lost_scheduler_is_reported_and_outcomes_are_kept(cluster, batches, library, monkeypatch):
    monkeypatch.setattr("brainscore_core.scoring.cluster.places._PATIENCE_S", 5.0)
    cluster.wait_for_workers(1)
    running = run_on_cluster(batches(["slow1"], 6), library.name, cluster=cluster.address)
    made = [next(running)]
    monkeypatch.setattr("brainscore_core.scoring.cluster.places._CONNECT_S", 1.0)  # nothing will listen from now on
    cluster.kill("scheduler")
    with pytest.raises(ClusterError, match=r"cannot be reached.*pairs have no record yet; run the same command"):
        made.extend(running)
    assert 1 <= len(made) < 6


def test_full_disk_is_reported_and_the_campaign_can_resume(batches, library, small_disk):
    folder = small_disk("size=32k")
    pairs = [pair for batch in batches(["a", "b", "c"], 8) for pair in batch.pairs]
    run = partial(run_on_cluster, library=library.name, cluster="local:1")
    score = partial(run_pairs, records=folder, run=run, revision_of=lambda kind, name: "r")
    with pytest.raises(RecordsError, match="No space left on device"):
        score(pairs)
    kept = set(pairs_of(FolderStore(folder)))
    assert 0 < len(kept) < len(pairs)
    subprocess.run(["mount", "-o", "remount,size=4m", folder], check=True)
    library.wait_for_end()
    n_begun = len(library.begun())
    is_scored = reuse([FolderStore(folder)], lambda kind, name: "r")
    made, left = score([pair for pair in pairs if is_scored(pair.model, pair.benchmark) is None])
    assert len(kept) + len(made) == len(pairs) == len(list(FolderStore(folder)))
    assert len(library.begun()) - n_begun == len(made)
    assert not left


JUMPS = """
    import os, time
    real = time.time
    started = time.monotonic()

    def jumping():  # an hour ahead, then a day back
        since = time.monotonic() - started
        return real() + (0 if since < 3 else 3_600 if since < 5 else -86_400)

    if os.environ.get("CLOCK_JUMPS"):
        time.time = jumping
"""


def test_clock_jump_loses_no_worker(library, tmp_path):
    """The clock of the scheduler, workers and judges jumps while they run."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(textwrap.dedent(JUMPS))
    script = tmp_path / "campaign.py"
    script.write_text(
        textwrap.dedent(
            """
            from brainscore_core.scoring.batches import make_batches
            from brainscore_core.scoring.cluster import run_on_cluster
            from brainscore_core.scoring.pairs import Pair

            if __name__ == "__main__":
                batches = make_batches(Pair("slow1", f"b{n}", minutes=1.0, memory_gb=0.1) for n in range(8))
                for each in run_on_cluster(batches, "lively", cluster="local:1", tell=print):
                    print("outcome", each.record.benchmark, each.record.status, flush=True)
            """
        )
    )
    path = os.pathsep.join([str(tmp_path / "site"), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": path, "CLOCK_JUMPS": "1"}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == sorted(f"outcome b{n} scored" for n in range(8))
    assert len(library.begun()) == 8


WRITER = """
    import dataclasses, sys
    from pathlib import Path
    from brainscore_core.records.record import ScoreRecord, record_path

    folder, name = Path(sys.argv[1]), sys.argv[2]
    record = ScoreRecord.without_score("failed:X", name * 900, model="same", benchmark="b")
    for n in range(150):
        record.write(record_path(folder, "same", "b"))
        dataclasses.replace(record, model=f"{name}{n}").write(record_path(folder, f"{name}{n}", "b"))
"""


def test_concurrent_writers_never_leave_a_partial_record(tmp_path):
    """As in a folder shared by many machines, there are no locks, and a reader never sees half a record."""
    script = tmp_path / "writer.py"
    script.write_text(textwrap.dedent(WRITER))
    folder = tmp_path / "records"
    writers = [subprocess.Popen([sys.executable, script, folder, name]) for name in "abcd"]
    store, seen = FolderStore(folder), set()
    target = record_path(folder, "same", "b")
    while any(writer.poll() is None for writer in writers):
        if target.exists():
            record = ScoreRecord.read(target)  # never CorruptFileError
            assert record.message == record.message[0] * 900
            seen.add(record.message[0])
    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(list(store)) == 4 * 150 + 1
    assert not [file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(".json")]
    assert not list(folder.rglob(".*"))
    assert len(seen) > 1, "the writers did not write at the same time"
