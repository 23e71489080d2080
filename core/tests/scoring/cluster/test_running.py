"""Campaigns on real dask clusters: lost pairs are repeated and each pair gets one outcome."""

import time
from functools import partial

import pytest

from brainscore_core.records.record import record_path
from brainscore_core.records.values import read_values
from brainscore_core.scoring.campaign import run_pairs
from brainscore_core.scoring.cluster import run_on_cluster

pytest.importorskip("distributed")


def names(made):
    return sorted((each.record.model, each.record.benchmark) for each in made)


def test_every_pair_is_scored_once(batches, library):
    made = list(run_on_cluster(batches(["a", "b", "c"]), library.name, cluster="local:2"))
    assert {each.record.status for each in made} == {"scored"}
    assert len(made) == 9
    assert names(made) == sorted(library.begun_pairs())


@pytest.mark.slow
def test_values_arrive_with_their_record(batches, library, tmp_path):
    """Values of single neuroids are stored where the campaign runs, like its records."""
    run = partial(run_on_cluster, library=library.name, cluster="local:1")
    (batch,) = batches(["valued"], 2)
    made, _ = run_pairs(batch.pairs, tmp_path / "records", run, revision_of=lambda kind, name: "r")
    assert len(made) == 2
    for record in made:
        values = read_values(record_path(tmp_path / "records", "valued", record.benchmark), record.values)
        assert list(values["neuroid"]) == [0.0, 1.0, 2.0]


@pytest.mark.slow
def test_scheduler_is_not_queried_for_each_outcome(batches, library, monkeypatch):
    """A query would take longer than everything else done for a pair."""
    from distributed import Client

    asked, ask = [], Client.scheduler_info
    monkeypatch.setattr(Client, "scheduler_info", lambda *given, **more: (asked.append(1), ask(*given, **more))[1])
    started = time.monotonic()
    made = list(run_on_cluster(batches(["a", "b"], 40), library.name, cluster="local:2"))
    assert len(made) == 80
    assert len(asked) <= time.monotonic() - started + 2


@pytest.mark.slow
def test_outcomes_arrive_as_soon_as_they_are_ready(batches, library):
    """They do not wait for the end of the piece, so a lost worker loses none that has arrived."""
    (batch,) = batches(["waits-for-b1"], 3)
    running = run_on_cluster([batch], library.name, cluster="local:1")
    assert next(running).record.benchmark == "b0"
    assert len(library.begun()) <= 2
    library.go()
    assert [each.record.benchmark for each in running] == ["b1", "b2"]


@pytest.mark.slow
def test_killed_worker_costs_only_its_current_pair(batches, library):
    said = []
    running = run_on_cluster(batches(["once"], 3), library.name, cluster="local:1", tell=said.append)
    made = list(running)
    assert {each.record.status for each in made} == {"scored"}
    assert names(made) == [("once", f"b{n}") for n in range(3)]
    begun = library.begun_pairs()
    assert [begun.count(("once", f"b{n}")) for n in range(3)] == [2, 1, 1]
    assert "its worker was lost" in said[0]


@pytest.mark.slow
def test_pair_that_kills_its_worker_is_given_up_alone(batches, library):
    made = []
    for each in run_on_cluster(batches(["deadly-b1", "a"]), library.name, cluster="local:1", most_losses=2):
        made.append(each)
        if each.record.model == "deadly-b1":
            library.go()  # the outcome before it has arrived, so this pair is blamed for the loss
    status = {(each.record.model, each.record.benchmark): each.record for each in made}
    lost = status.pop(("deadly-b1", "b1"))
    assert lost.status == "failed:LostWorker"
    assert "given up after 2 times: its worker was lost" in lost.message
    assert {record.status for record in status.values()} == {"scored"}
    assert len(made) == 6


@pytest.mark.slow
def test_pair_that_needs_a_gpu_goes_to_a_worker_with_one(cluster, batches, library):
    """The other workers are idle, and there are more pairs than the worker with a GPU can run at a time."""
    cluster.start_worker("--no-nanny", "--resources", "gpu=1", name="with a GPU")
    cluster.start_worker("--no-nanny", "--resources", "memory_gb=64", name="without")
    cluster.wait_for_workers(3)  # the fixture's and these
    todo = [*batches(["slow1", "slow1-too"], 2, gpus=1), *batches(["a"], 1, gpus=2)]
    made = list(run_on_cluster(todo, library.name, cluster=cluster.address))
    statuses = {(each.record.model, each.record.benchmark): each.record.status for each in made}
    assert statuses.pop(("a", "b0")) == "failed:NoWorker"
    assert list(statuses.values()) == ["scored"] * 4
    assert {worker for *_, worker in library.begun()} == {cluster.programs["with a GPU"].pid}


@pytest.mark.slow
def test_unavailable_resources_are_explained_in_a_record(batches, library):
    (batch,) = batches(["a"], 2, memory_gb=1e6)
    made = list(run_on_cluster([batch], library.name, cluster="local:1"))
    assert {each.record.status for each in made} == {"failed:NoWorker"}
    assert "needs a worker with 1e+06 GB" in made[0].record.message
    assert library.begun() == []


@pytest.mark.slow
def test_closing_the_campaign_ends_its_processes(batches, library):
    running = run_on_cluster(batches(["waits-for-b1"], 2), library.name, cluster="local:1")
    next(running)
    library.wait_for(2)
    running.close()
    library.wait_for_end()


def test_no_batches_start_no_cluster():
    assert list(run_on_cluster([], "lively", cluster="local:1")) == []


@pytest.mark.slow
def test_no_pair_begins_after_the_time_limit(batches, library):
    made = list(run_on_cluster(batches(["slow30"], 4), library.name, cluster="local:1", minutes=0.05))
    assert len(made) < 4
    assert len(library.begun()) <= 1
