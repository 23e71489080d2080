"""Fixtures for tests of clusters: a library that scores quickly, a dask cluster and a Slurm with one node."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import textwrap
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from brainscore_core.scoring.batches import make_batches
from brainscore_core.scoring.pairs import Pair
from brainscore_core.testing.machine import free_port, running_processes, wait_until

# A library whose models behave as their names say; the start of every pair is logged.
LIBRARY = """
    def worker():
        pid = os.getppid()
        of_dask = re.compile(b"dask|spawn_main")
        while pid > 1 and not of_dask.search(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()):
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return pid

    for benchmark in options.benchmark:
        tell("started", benchmark)
        note(f"{options.model} {benchmark} {os.getpid()} {worker()}", here / "begun.txt")
        if options.model in (f"waits-for-{benchmark}", f"deadly-{benchmark}"):
            for _ in range(6000):
                if not (here / "go").exists():
                    time.sleep(0.1)
        if options.model == f"deadly-{benchmark}" or options.model == "once" and not (here / "go").exists():
            (here / "go").touch()
            os.kill(worker(), signal.SIGKILL)
            time.sleep(60)
        if options.model == "boxed" and not (here / "go").exists():
            from brainscore_core.scoring.isolation.box import Box, start_boxed

            with start_boxed(["/bin/sh", "-c", "sleep 600; true"], Box()):
                time.sleep(600)
        if options.model.startswith("slow"):
            time.sleep(float(options.model.removeprefix("slow").partition("-")[0]))
        target = write(benchmark)
        if options.model == "valued":
            import numpy
            from brainscore_core.records.values import write_values

            write(benchmark, values=write_values(target, {"neuroid": numpy.arange(3.0)}))
        tell("ended", benchmark)
"""


def pair_of(model, benchmark="b", minutes=1.0, memory_gb=0.1, **options):
    return Pair(model, benchmark, minutes, memory_gb, **options)


@dataclass(frozen=True)
class Library:
    """The name of an importable library and its folder."""

    name: str
    folder: Path

    def begun(self):
        """Return the model, benchmark, process and worker of each pair that has begun, in order of their start."""
        log = self.folder / "begun.txt"
        lines = log.read_text().splitlines() if log.exists() else []
        return [(*line.rsplit(" ", 3)[:2], *map(int, line.rsplit(" ", 2)[1:])) for line in lines]

    def begun_pairs(self):
        """Return the pairs that have begun."""
        return [each[:2] for each in self.begun()]

    def wait_for(self, n):
        """Wait until `n` pairs have begun."""
        wait_until(lambda: len(self.begun()) >= n, f"fewer than {n} pairs were begun")

    def go(self):
        """Let waiting models continue."""
        (self.folder / "go").touch()

    def wait_for_end(self, pids=None):
        """Wait until processes have ended, by default those of all pairs that have begun and their workers."""
        pids = pids or [pid for _, _, *pids in self.begun() for pid in pids]
        wait_until(lambda: not {*pids} & {*running_processes()}, f"some of {pids} go on")


@pytest.fixture
def pair():
    """Return a function that makes a pair."""
    return pair_of


@pytest.fixture
def batches():
    """Return a function that makes batches of models x benchmarks."""

    def make(models, n_benchmarks=3, **options):
        return make_batches(pair_of(model, f"b{n}", **options) for model in models for n in range(n_benchmarks))

    return make


@pytest.fixture
def library(install_library):
    """Make the library importable in the processes of pairs on every worker."""
    package = install_library(LIBRARY)
    return Library(package.name, package)


# -- dask --------------------------------------------------------------------------------------------------------------


class Cluster:
    """A scheduler and a worker as separate processes, like those of `dask scheduler` and `dask worker`."""

    def __init__(self, folder):
        self.folder = folder
        self.port = None
        self.programs = {}

    @property
    def address(self):
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self):
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        options = ["--host", "127.0.0.1", "--port", self.port or 0, "--scheduler-file", file, "--no-dashboard"]
        environment = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        self.start("scheduler", *options, "--dashboard-address", "127.0.0.1:0", **environment)
        wait_until(lambda: file.exists() and file.read_text().endswith("}"), "no scheduler")
        self.port = int(json.loads(file.read_text())["address"].rpartition(":")[2])

    def start_worker(self, *more, name="worker"):
        options = ["--nthreads", 1, "--memory-limit", 0, "--no-dashboard", "--local-directory", self.folder]
        self.start("worker", self.address, *options, *more, name=name)

    def wait_for_workers(self, number):
        import distributed  # slow to import, and most tests do not need it

        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=100)

    def start(self, what, *options, name=None, **environment):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *map(str, options)]
        self.programs[name or what] = subprocess.Popen(
            command, env={**os.environ, **environment}, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def kill(self, name):
        program = self.programs.pop(name)
        os.killpg(program.pid, 9)
        program.wait()


@pytest.fixture
def cluster(library, tmp_path):
    """Start a scheduler and a worker that can import the library."""
    made = Cluster(tmp_path)
    made.start_scheduler()
    made.start_worker()
    yield made
    for name in list(made.programs):
        made.kill(name)


# -- Slurm -------------------------------------------------------------------------------------------------------------

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue")

_CONFIGURATION = """
    ClusterName=test
    SlurmctldHost={host}(127.0.0.1)
    AuthType=auth/munge
    AuthInfo=socket={folder}/munge/socket
    CryptoType=crypto/munge
    SlurmUser=root
    SlurmctldPort={ports[0]}
    SlurmdPort={ports[1]}
    StateSaveLocation={folder}/state
    SlurmdSpoolDir={folder}/spool
    SlurmctldPidFile={folder}/slurmctld.pid
    SlurmdPidFile={folder}/slurmd.pid
    SlurmctldLogFile={folder}/slurmctld.log
    SlurmdLogFile={folder}/slurmd.log
    ProctrackType=proctrack/linuxproc
    TaskPlugin=task/none
    SelectType=select/cons_tres
    SelectTypeParameters=CR_Core_Memory
    MpiDefault=none
    ReturnToService=2
    KillWait=2
    SlurmdTimeout=10
    SchedulerParameters=sched_interval=1,batch_sched_delay=0
    NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=8000 State=UNKNOWN
    PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """A cluster with one node, run by this user without systemd.

    The node may claim more cores and memory than the machine has; the jobs of these tests need little.
    """

    def __init__(self, folder):
        self.folder = folder
        for name in ("state", "spool", "munge"):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        (folder / "munge").chmod(0o700)
        (folder / "munge/key").write_bytes(secrets.token_bytes(1024))
        (folder / "munge/key").chmod(0o600)
        self.configuration = folder / "slurm.conf"
        host, ports = socket.gethostname().partition(".")[0], [free_port(), free_port()]
        text = textwrap.dedent(_CONFIGURATION).format(host=host, folder=folder, ports=ports, cores=os.cpu_count())
        self.configuration.write_text(text)

    def start(self):
        munge = self.folder / "munge"
        files = {"key-file": "key", "socket": "socket", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={munge / name}" for option, name in files.items()]
        self.run("munged", "--force", *options, f"--pid-file={self.folder / 'munged.pid'}")
        self.run("slurmctld", "-f", self.configuration)
        self.start_node()

    def start_node(self):
        self.run("slurmd", "-f", self.configuration)
        up = {"idle", "mixed", "allocated"}
        wait_until(lambda: up & set(self.run("sinfo", "-h", "-o", "%T").split()), f"see {self.folder}/slurmctld.log")

    def kill_node(self):
        """Kill the daemon that runs jobs, and thus its jobs, as if the node had lost power."""
        os.kill(int((self.folder / "slurmd.pid").read_text()), 9)

    def jobs(self, state="RUNNING"):
        """Return the ids of the jobs in a state."""
        return self.run("squeue", "-h", "-o", "%A", "-t", state).split()

    def run(self, *command):
        environment = {**os.environ, "SLURM_CONF": str(self.configuration)}
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def stop(self):
        """End the daemons, and the steps and processes of jobs; all have the configuration in their environment."""
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if f"SLURM_CONF={self.configuration}".encode() in environment.read_bytes():
                    os.kill(int(environment.parent.name), 9)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Start a Slurm with one node; skip the test where that is not possible."""
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"other: no Slurm here, {', '.join(missing)} missing (Debian: apt install slurm-wlm munge)")
    if os.geteuid() != 0:
        pytest.skip("other: a Slurm of one's own needs root")
    node = Slurm(tmp_path / "slurm")
    monkeypatch.setenv("SLURM_CONF", str(node.configuration))
    try:
        node.start()
        yield node
    finally:
        node.stop()
