"""Test what is said where no worker can be started over SSH."""

import pytest

from brainscore_core.errors import ClusterError
from brainscore_core.scoring.cluster import run_on_cluster

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")


@pytest.mark.slow
def test_a_host_that_cannot_be_reached(tmp_path, batches, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("no-such-host.invalid\n")
    with pytest.raises(ClusterError, match=r"No cluster could be started on no-such-host.invalid.*Log in"):
        list(run_on_cluster(batches(["a"]), "lively", cluster=f"ssh:{hosts}"))
