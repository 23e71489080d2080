"""A campaign of 600 pairs is killed at random moments and resumed: no record is lost, partial or repeated."""

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import FolderStore
from brainscore_core.testing.machine import running_processes, wait_until

MODELS = [f"model{number}" for number in range(20)]
BENCHMARKS = [f"benchmark{number}" for number in range(30)]
N_KILLS = 20

# Each pair appends to a log, which is never rewritten, when it begins, and then takes a moment.
LIBRARY = """
    for benchmark in options.benchmark:
        tell("started", benchmark)
        note(f"{os.environ['BRAINSCORE_TEST_RUN']} {options.model} {benchmark} {os.getpid()}")
        time.sleep(0.02)
        number = int(options.model.removeprefix("model")) + int(benchmark.removeprefix("benchmark")) / 100
        write(benchmark, score=number)
        tell("ended", benchmark)
"""

COORDINATOR = """
    import sys
    from functools import partial
    from pathlib import Path
    from brainscore_core.scoring.campaign import run_here, run_pairs
    from brainscore_core.records.store import FolderStore, reuse
    from brainscore_core.scoring.pairs import Pair

    def revision_of(kind, identifier):
        return identifier

    records = Path(sys.argv[1])
    pairs = [Pair(f"model{m}", f"benchmark{b}") for m in range(20) for b in range(30)]
    is_scored = reuse([FolderStore(records)], revision_of)
    run = partial(run_here, library=sys.argv[2], jobs=2)
    todo = [pair for pair in pairs if is_scored(pair.model, pair.benchmark) is None]
    made, unscored = run_pairs(todo, records, run, revision_of=revision_of)
    sys.exit(0 if all(record.is_scored for record in made) and not unscored else 1)
"""


@pytest.fixture
def campaign(install_library, tmp_path, monkeypatch):
    """Return a function that starts the campaign in a new process group, and the log of pairs that have begun."""
    package = install_library(LIBRARY, f"fleeting{os.getpid()}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # killed processes leave files there

    def start(run):
        command = [sys.executable, "-c", textwrap.dedent(COORDINATOR), str(tmp_path / "records"), package.name]
        environment = {**os.environ, "BRAINSCORE_TEST_RUN": str(run)}
        return subprocess.Popen(command, env=environment, start_new_session=True)

    (package / "log").touch()
    return start, package / "log"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
def test_killed_campaign_loses_and_repeats_no_record(campaign, tmp_path):
    draw = random.Random(14)  # noqa: S311 - moments, no secrets
    (start, log), records = campaign, tmp_path / "records"
    judges = f"{log.parent.name} judge"
    recorded_before = []
    for run in range(N_KILLS):
        recorded_before.append({(each.model, each.benchmark) for each in FolderStore(records)})
        coordinator = start(run)
        begun = log.stat().st_size
        if draw.random() < 0.9:  # otherwise it is killed while it starts
            wait_until(lambda begun=begun: log.stat().st_size > begun)
        time.sleep(draw.uniform(0, 0.4))
        how = draw.choice(["coordinator", "all"])
        os.killpg(coordinator.pid, signal.SIGKILL)
        assert coordinator.wait() == -signal.SIGKILL, "it was done before it was killed"
        for pid in running_processes(judges) if how == "all" else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not running_processes(judges))  # they do not outlive the coordinator
    recorded_before.append({(each.model, each.benchmark) for each in FolderStore(records)})
    assert 0 < len(recorded_before[-1]) < 600
    assert list(tmp_path.glob("brainscore-batch-*")), "the last one was killed at work"
    assert start(N_KILLS).wait() == 0
    assert not list(tmp_path.glob("brainscore-batch-*")), "what was left there was not removed"

    executions = [tuple(line.split()) for line in log.read_text().splitlines()]
    twice = [line for line in executions if line[1:3] in recorded_before[int(line[0])]]
    assert twice == [], "a pair that had a record was run again"
    for before, after in itertools.pairwise(recorded_before):
        assert before <= after, "a record was lost"
    for model in MODELS:
        for benchmark in BENCHMARKS:
            record = ScoreRecord.read(record_path(records, model, benchmark))
            number = int(model.removeprefix("model")) + int(benchmark.removeprefix("benchmark")) / 100
            assert (record.model, record.benchmark, record.score) == (model, benchmark, number)
    whole = [file for file in records.glob("*/*") if not file.name.startswith(".")]
    assert len(whole) == 600
    assert all(json.loads(file.read_text()) for file in whole)
    print(f"{len(executions)} executions for 600 pairs, {N_KILLS} kills")  # noqa: T201 - shows the cost of the kills


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sessions")
def test_killed_worker_loses_only_its_current_pair(campaign, tmp_path):
    draw = random.Random(15)  # noqa: S311 - moments, no secrets
    start, log = campaign
    coordinator = start(0)
    killed = set()
    while coordinator.poll() is None:
        time.sleep(draw.uniform(0.1, 0.4))
        running = running_processes(f"{log.parent.name} judge")
        at_work = [pid for pid in running if f" {pid}\n" in log.read_text() and pid not in killed]
        if at_work and len(killed) < N_KILLS:
            pid = draw.choice(at_work)
            killed.add(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    statuses = {(each.model, each.benchmark): each.status for each in FolderStore(tmp_path / "records")}
    failures = [status for status in statuses.values() if status != "scored"]
    assert len(statuses) == 600
    assert set(failures) == {"failed:SIGKILL"}
    assert 0 < len(failures) <= len(killed)
    executed = [line.split()[1:3] for line in log.read_text().splitlines()]
    assert len(executed) == len(set(map(tuple, executed))), "a pair was run again"
    assert start(1).wait() == 0  # failures are retried
    assert {each.status for each in FolderStore(tmp_path / "records")} == {"scored"}
