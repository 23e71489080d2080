"""Jobs of a real Slurm: cancelled, killed or interrupted pairs are repeated, and every pair gets its record."""

import threading
import time

import pytest

from brainscore_core.scoring.cluster import run_on_cluster

pytestmark = pytest.mark.slow


@pytest.fixture
def profile(slurm, tmp_path):
    """Return a function that writes a profile for the node."""

    def write(walltime="01:00:00", jobs=2):
        file = tmp_path / "profile.yml"
        file.write_text(
            f"queue: main\nmemory: 500 MB\nwalltime: '{walltime}'\ninterface: lo\nfolder: {tmp_path / 'jobs'}\n"
            f"jobs: {{max: {jobs}}}\n"
        )
        return f"slurm:{file}"

    return write


def check(made, library, expected, said):
    """Assert that every pair has one score and that each lost worker explains at most two repeated pairs: the running
    one
    and one whose outcome had not arrived."""
    names = [(each.record.model, each.record.benchmark) for each in made]
    assert sorted(names) == sorted((pair.model, pair.benchmark) for batch in expected for pair in batch.pairs)
    assert {each.record.status for each in made} == {"scored"}
    n_losses = sum("its worker was lost" in line for line in said)
    assert len(library.begun()) <= len(names) + 2 * n_losses


def meanwhile(library, n_begun, act):
    """Call `act` in a thread when `n_begun` pairs have begun."""

    def wait_and_act():
        library.wait_for(n_begun)
        act()

    thread = threading.Thread(target=wait_and_act, daemon=True)
    thread.start()
    return thread


def test_campaign_continues_after_the_walltime(profile, batches, library):
    """Slurm ends a job at most 30 s after its limit of one minute; all pairs together take longer than that."""
    todo, said = batches(["slow14"], 8, minutes=0.24), []
    made = list(run_on_cluster(todo, library.name, cluster=profile(walltime="00:01:00", jobs=1), tell=said.append))
    assert len({worker for *_, worker in library.begun()}) > 1, "no job was ended"
    check(made, library, todo, said)


def test_jobs_score_every_pair(profile, batches, library, tmp_path):
    todo, said = batches(["a", "b"]), []
    made = list(run_on_cluster(todo, library.name, cluster=profile(), tell=said.append))
    assert said == []
    check(made, library, todo, said)
    assert not list((tmp_path / "jobs").glob(".keys-*")), "keys of a campaign go with it"


def test_campaign_continues_after_a_job_is_cancelled(slurm, profile, batches, library):
    todo, said = batches(["slow1", "slow1-too"], 4), []
    thread = meanwhile(library, 2, lambda: slurm.run("scancel", "--signal=KILL", "--full", slurm.jobs()[0]))
    made = list(run_on_cluster(todo, library.name, cluster=profile(), tell=said.append))
    thread.join()
    check(made, library, todo, said)


def test_campaign_continues_after_the_node_restarts(slurm, profile, batches, library):
    todo, said = batches(["slow1", "slow1-too"], 6), []

    def kill_and_start():
        slurm.kill_node()
        time.sleep(1)
        slurm.start_node()

    thread = meanwhile(library, 2, kill_and_start)
    made = list(run_on_cluster(todo, library.name, cluster=profile(), tell=said.append))
    thread.join()
    check(made, library, todo, said)
