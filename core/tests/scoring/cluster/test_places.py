"""Names of clusters, and the options that jobs and hosts get."""

import re
import socket
import sys

import pytest

from brainscore_core.errors import ClusterError, ConfigurationError, RequirementsError
from brainscore_core.scoring.cluster.places import (
    Jobs,
    SlurmProfile,
    open_place,
    parse_place,
    read_hosts,
    slurm_options,
)


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("local", ("local", "")),
        ("local:4", ("local", "4")),
        ("tcp://10.0.0.3:8786", ("tcp", "//10.0.0.3:8786")),
        ("tls://head.example.org:8786", ("tls", "//head.example.org:8786")),
        ("tcp://[::1]:8786", ("tcp", "//[::1]:8786")),
        ("ssh:hosts.txt", ("ssh", "hosts.txt")),
        ("slurm:/a b/c.yml", ("slurm", "/a b/c.yml")),
    ],
)
def test_place_names_are_parsed(name, parsed):
    assert parse_place(name) == parsed


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("slrum:x.yml", "is not a cluster; .*local or local:N.*Did you mean 'slurm'?"),
        ("local:0", "expected local or local:N"),
        ("local:many", "expected local or local:N"),
        ("tcp://host", "expected tcp://HOST:PORT"),
        ("tcp:host:8786", "expected tcp://HOST:PORT"),
        ("slurm", "expected slurm:FILE"),
        ("ssh:", "expected ssh:FILE"),
        ("", "expected one of"),
        ("pbs:x", "expected one of"),
    ],
)
def test_rejects_malformed_place_names(name, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_place(name)


def test_missing_package_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = re.escape("needs distributed, which cannot be imported") + ".*" + re.escape("'brainscore-core[cluster]'")
    with pytest.raises(RequirementsError, match=message), open_place("local:1"):
        pass


def test_missing_file_is_reported_before_anything_starts(tmp_path):
    for kind in ("ssh", "slurm"):
        with pytest.raises(ConfigurationError, match="cannot be read"), open_place(f"{kind}:{tmp_path / 'none'}"):
            pass


def test_unreachable_scheduler_is_reported(monkeypatch):
    monkeypatch.setattr("brainscore_core.scoring.cluster.places._CONNECT_S", 0.3)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # but nothing listens
        address = f"tcp://127.0.0.1:{held.getsockname()[1]}"
        with (
            open_place(address) as place,
            pytest.raises(ClusterError, match=f"at {address} cannot be reached.*dask sch"),
        ):
            place.connect()


def test_hosts_file_is_read(tmp_path):
    file = tmp_path / "hosts.txt"
    file.write_text("# two of them\nnode1.example.org\n\n  me@node2:2222  # the fast one\n10.0.0.3:22\n::1\n[::1]:22\n")
    assert read_hosts(file) == [
        ("node1.example.org", {}),
        ("node2", {"username": "me", "port": 2222}),
        ("10.0.0.3", {"port": 22}),
        ("::1", {}),
        ("::1", {"port": 22}),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no host is listed"),
        ("# a\n", "no host"),
        ("a b\n", "'a b' is not a host name"),
        ("-oProxyCommand=x", "is not a host name"),
        ("me@-x", "is not a host name"),
        ("node1:ssh", "is not a host name"),
    ],
)
def test_rejects_malformed_hosts(tmp_path, content, said):
    file = tmp_path / "hosts.txt"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=said):
        read_hosts(file)


def test_slurm_options_follow_the_profile(tmp_path):
    profile = SlurmProfile(
        memory="16 GB",
        walltime="04:00:00",
        jobs=Jobs(max=3),
        cores=8,
        gpus=2,
        private=True,
        env={"HF_HOME": "/a b'c", "OMP_NUM_THREADS": "4"},
        directives=("--constraint=fast",),
    )
    options = slurm_options(profile, tmp_path)
    assert options["job_cpu"] == 8
    assert (options["cores"], options["processes"]) == (1, 1)  # one pair at a time, with all cores
    assert options["job_extra_directives"] == ["--gres=gpu:2", "--constraint=fast"]
    assert options["job_script_prologue"] == ["export OMP_NUM_THREADS=4", "export HF_HOME='/a b'\"'\"'c'"]
    assert options["worker_extra_args"][-1] == "'memory_gb=16 gpu=2 private=1e+06'"


def test_job_script_has_the_directives_of_slurm(tmp_path):
    jobqueue = pytest.importorskip("dask_jobqueue")
    profile = SlurmProfile(memory="16 GB", walltime="04:00:00", jobs=Jobs(max=3), cores=8, queue="main", account="lab")
    options = {
        **slurm_options(profile, tmp_path),
        "scheduler_options": {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"},
    }
    with jobqueue.SLURMCluster(**options) as cluster:
        script = cluster.job_script()
    for line in ("-p main", "-A lab", "-n 1", "--cpus-per-task=8", "--mem=15G", "-t 04:00:00"):
        assert f"#SBATCH {line}" in script
    assert "export OMP_NUM_THREADS=8" in script
    assert re.search(r"dask_worker tcp://\S+ .*--nthreads 1 .*--resources memory_gb=16\n", script)
