"""Open a cluster: a dask scheduler with workers on this machine, over SSH or as Slurm jobs, or a running one.

A cluster is named ``local``, ``local:4``, ``tcp://host:8786``, ``ssh:hosts.txt`` or ``slurm:profile.yml``. Connections
of clusters opened here are encrypted, with keys for one campaign, as any client of dask can run programs there.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import AfterValidator, Field, Strict, TypeAdapter, ValidationError

from brainscore_core.config import settings
from brainscore_core.errors import ClusterError, ConfigurationError, RequirementsError, did_you_mean, listed
from brainscore_core.testing.machine import has_gpu
from brainscore_core.untrusted import Flag, Untrusted

if TYPE_CHECKING:
    from distributed import Client

    from brainscore_core.scoring.batches import Batch

__all__ = [
    "KINDS",
    "Cluster",
    "Jobs",
    "SlurmProfile",
    "missing",
    "offer",
    "open_place",
    "parse_place",
    "read_profile",
    "wanted",
]


# -- resources ---------------------------------------------------------------------------------------------------------
#
# Match the resources that batches need and workers offer.


_MANY = 1e6  # a licence is not used up

_WORDS = {"memory_gb": "{} GB of memory", "gpu": "{} GPU", "private": "a licence for private data"}


def offer(memory_gb: float, *, gpus: int = 0, private: bool = False) -> dict[str, float]:
    """Return the resources of a worker, under the names of `wanted`."""
    return {"memory_gb": memory_gb, **({"gpu": float(gpus)} if gpus else {}), **({"private": _MANY} if private else {})}


def wanted(batch: Batch, offers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the resources that a worker must have for a batch; memory only if every worker in `offers` states it."""
    resources: dict[str, float] = {}
    if offers and all("memory_gb" in worker for worker in offers):
        resources["memory_gb"] = float(batch.memory_gb)
    if batch.gpus:
        resources["gpu"] = float(batch.gpus)
    if batch.private:
        resources["private"] = 1.0
    return resources


def missing(batch: Batch, offers: Sequence[Mapping[str, float]]) -> str:
    """Return why no worker, of at least one, can take a batch; empty if one can."""
    needs = wanted(batch, offers)
    if any(all(worker.get(name, 0.0) >= amount for name, amount in needs.items()) for worker in offers):
        return ""
    needed = " and ".join(_WORDS[name].format(f"{amount:g}") for name, amount in needs.items())
    most = {name: max(worker.get(name, 0.0) for worker in offers) for name in needs}
    has = " and ".join(_WORDS[name].format(f"{amount:g}") for name, amount in most.items() if amount)
    return (
        f"It needs a worker with {needed}; the workers of this cluster have at most {has or 'none of these'}. Start "
        "workers "
        f'with --resources "{" ".join(f"{name}={amount:g}" for name, amount in needs.items())}".'
    )


# -- the profile of a Slurm cluster ------------------------------------------------------------------------------------
#
# Read the profile of a Slurm cluster: resources and number of its jobs.


_MOST_BYTES = 2**16
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([MGT])i?B", re.IGNORECASE)
_TIME = re.compile(r"(?:(\d+)-)?(\d{1,3}):([0-5]\d)(?::([0-5]\d))?")
_WORD = re.compile(r"[A-Za-z0-9_.,:=/@+-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _size(value: str) -> str:
    if not _SIZE.fullmatch(value) or memory_gb_of(value) <= 0:
        raise ValueError("expected a size such as '16 GB'")
    return value


def _time(value: str) -> str:
    if not _TIME.fullmatch(value) or minutes_of(value) <= 0:
        raise ValueError(
            "expected 'hours:minutes:seconds' or 'days-hours:minutes:seconds' in quotes, such as '04:00:00'"
        )
    return value


def _word(value: str) -> str:
    if not _WORD.fullmatch(value):
        raise ValueError("expected letters, digits and any of _ . , : = / @ + -")
    return value


def _variables(value: Mapping[str, str]) -> Mapping[str, str]:
    for name, content in value.items():
        if not _VARIABLE.fullmatch(name) or "\n" in content:
            raise ValueError(f"expected variable names with values of one line each; {name!r} has another value")
    return value


def memory_gb_of(size: str) -> float:
    """Return a size such as ``'16 GB'`` in GB (10^9 bytes); a GiB counts as a GB, as in Slurm."""
    number, unit = _SIZE.fullmatch(size).groups()  # type: ignore[union-attr]  # checked when it was read
    return float(number) * {"m": 1e-3, "g": 1.0, "t": 1e3}[unit.lower()]


def minutes_of(walltime: str) -> float:
    """Return a Slurm time such as ``'1-12:00:00'`` in minutes."""
    days, hours, minutes, seconds = _TIME.fullmatch(walltime).groups()  # type: ignore[union-attr]  # as above
    return 1440 * int(days or 0) + 60 * int(hours) + int(minutes) + int(seconds or 0) / 60


_Word = Annotated[str, Strict(), AfterValidator(_word)]
_Few = Annotated[int, Strict(), Field(ge=0, le=10_000)]


@dataclass(frozen=True, kw_only=True)
class Jobs(Untrusted):
    """Number of concurrent jobs: at least `min`, even if little work remains."""

    min: _Few = 0
    max: Annotated[int, Strict(), Field(ge=1, le=10_000)]


@dataclass(frozen=True, kw_only=True)
class SlurmProfile(Untrusted):
    """Resources of a Slurm job; each job is one worker, which scores one pair at a time.

    Attributes
    ----------
    memory
        Such as ``'16 GB'``.
    walltime
        ``'04:00:00'``, or ``'1-12:00:00'`` with days.
    private
        Whether these machines may hold private measurements.
    queue, account
        Partition and account.
    python
        Interpreter with the library, at the same path on all nodes; None: the current one.
    interface
        Network interface between nodes and scheduler, such as ``'ib0'``.
    folder
        Folder visible to all nodes, for job logs and, during the campaign, connection keys; None: ``slurm`` in the
        Brain-Score home.
    directives
        Further options of ``sbatch``, such as ``'--constraint=avx512'``.
    """

    memory: Annotated[str, Strict(), AfterValidator(_size)]
    walltime: Annotated[str, Strict(), AfterValidator(_time)]
    jobs: Jobs
    cores: Annotated[int, Strict(), Field(ge=1, le=1024)] = 1
    gpus: Annotated[int, Strict(), Field(ge=0, le=64)] = 0
    private: Flag = False
    queue: _Word | None = None
    account: _Word | None = None
    python: _Word | None = None
    interface: _Word | None = None
    folder: _Word | None = None
    env: Annotated[Mapping[str, Annotated[str, Strict()]], AfterValidator(_variables)] = field(default_factory=dict)
    directives: Annotated[tuple[_Word, ...], Field(max_length=50)] = ()

    @property
    def memory_gb(self) -> float:
        """Memory of a job in GB (10^9 bytes)."""
        return memory_gb_of(self.memory)

    @property
    def minutes(self) -> float:
        """Walltime in minutes."""
        return minutes_of(self.walltime)


_PROFILE = TypeAdapter(SlurmProfile)
_KEYS = tuple(SlurmProfile.__dataclass_fields__)


def read_profile(path: Path) -> SlurmProfile:
    """Read a profile; `ConfigurationError` lists all invalid entries."""
    try:
        text = path.read_bytes()
        if len(text) > _MOST_BYTES:
            raise ConfigurationError(f"{path} has {len(text)} bytes; the profile of a cluster is a few lines of YAML.")
        content = yaml.safe_load(text)
    except OSError as error:
        raise ConfigurationError(
            f"The profile of the Slurm cluster cannot be read: {error}. `--cluster slurm:FILE` expects a YAML file "
            f"with the keys {', '.join(_KEYS)}."
        ) from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} has no keys; expected some of {', '.join(_KEYS)}.")
    try:
        return _PROFILE.validate_python(content)
    except ValidationError as error:
        raise ConfigurationError(
            f"{path} is not a valid profile of a Slurm cluster:{listed(_problems(error))}"
        ) from None


def _problems(error: ValidationError) -> list[str]:
    problems = []
    for problem in error.errors(include_url=False, include_context=False):
        place = ".".join(map(str, problem["loc"]))
        if problem["type"] == "unexpected_keyword_argument":
            keys = Jobs.__dataclass_fields__ if problem["loc"][0] == "jobs" else _KEYS
            problems.append(f"{place}: unknown key.{did_you_mean(problem['loc'][-1], keys)}")
        elif problem["type"] in ("missing", "missing_argument"):
            problems.append(f"{place}: is required.")
        else:
            problems.append(f"{place}: {problem['msg'].removeprefix('Value error, ')}, found {problem['input']!r}.")
    return problems


# -- places ------------------------------------------------------------------------------------------------------------


KINDS = {
    "local": "local or local:N, N processes on this machine",
    "tcp": "tcp://HOST:PORT, a running Dask scheduler",
    "tls": "tls://HOST:PORT, the same, encrypted",
    "ssh": "ssh:FILE, hosts to log in to, one per line",
    "slurm": "slurm:FILE, the profile of a Slurm cluster",
}
"""Kind of cluster -> form of its name."""

_MOST_HOSTS_BYTES = 2**20
_HOST = re.compile(
    r"(?:(?P<user>\w[\w.-]*)@)?(?P<name>\w[\w.-]*|[0-9a-f]*:[0-9a-f:.]+|\[[0-9a-f:.]+\])(?::(?P<port>\d{1,5}))?",
    re.ASCII | re.IGNORECASE,
)
_CONNECT_S = 30.0
_PATIENCE_S = 120.0

# After a lost worker the ledger decides what to repeat, where dask would run the whole piece again. As clocks may jump,
# a worker with a live connection is alive.
_SCHEDULING: Mapping[str, object] = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.default-task-durations": {"score_task": "1h"},  # otherwise few jobs are requested at first
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.admin.low-level-log-length": 100,  # old outcomes may take megabytes each
    "distributed.scheduler.http.routes": [],  # its pages are not used
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{_CONNECT_S:g}s",
}


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """An open cluster.

    Attributes
    ----------
    name
        As given by the user.
    connect
        Returns a new client; raises `ClusterError` if the scheduler cannot be reached.
    most_minutes
        Maximum length of a piece.
    slots
        Number of pieces worked on at a time with all workers present; None: the number of workers.
    tend
        Restarts lost workers, unless something else does.
    patience_s
        Longest time without any worker.
    offers
        Resources of the workers, see `brainscore_core.scoring.cluster.places`; empty: as they state themselves.
    is_ours
        Whether its scheduler ends with the campaign.
    """

    name: str
    connect: Callable[[], Client]
    most_minutes: float = float("inf")
    slots: int | None = None
    tend: Callable[[], object] = lambda: None
    patience_s: float = _PATIENCE_S
    offers: Sequence[Mapping[str, float]] = ()
    is_ours: bool = True


def parse_place(name: str) -> tuple[str, str]:
    """Return the kind of a cluster's name and the rest of the name; raise `ConfigurationError` if either is invalid."""
    kind, colon, rest = name.partition(":")
    good = {
        "local": not colon or re.fullmatch(r"[1-9]\d{0,3}", rest),
        "tcp": re.fullmatch(r"//[^/\s:]+:\d{1,5}|//\[[0-9a-fA-F:]+\]:\d{1,5}", rest),
        "tls": re.fullmatch(r"//[^/\s:]+:\d{1,5}|//\[[0-9a-fA-F:]+\]:\d{1,5}", rest),
        "ssh": rest,
        "slurm": rest,
    }
    if good.get(kind):
        return kind, rest
    expected = f"expected {KINDS[kind]}" if kind in KINDS else f"expected one of: {'; '.join(KINDS.values())}"
    hint = "" if kind in KINDS else did_you_mean(kind, KINDS)
    raise ConfigurationError(f"{name!r} is not a cluster; {expected}.{hint}")


@contextmanager
def open_place(name: str) -> Iterator[Cluster]:
    """Open a cluster by its name; close it after the block.

    Raises `RequirementsError` if a package is not installed, `ClusterError` if the cluster cannot be reached or
    started.
    """
    kind, rest = parse_place(name)
    opened = {"local": _local, "tcp": _running, "tls": _running, "ssh": _ssh, "slurm": _slurm}[kind]
    import_or_say("distributed", "distributed")
    import dask.config

    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_SCHEDULING))
        yield stack.enter_context(opened(name, rest))


def import_or_say(module: str, package: str) -> Any:  # a module that is installed with an extra only
    """Import a module of the extra ``cluster``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RequirementsError(
            f"Scoring on a cluster needs {package}, which cannot be imported ({error}): "
            "pip install 'brainscore-core[cluster]'."
        ) from error


# -- kinds of places ---------------------------------------------------------------------------------------------------


@contextmanager
def _local(name: str, rest: str) -> Iterator[Cluster]:
    """Start one worker with a thread for each concurrent pair, which has its own processes."""
    from distributed import LocalCluster
    from distributed.system import MEMORY_LIMIT  # of the machine, or of the container

    n = int(rest or os.cpu_count() or 1)
    # One pair at a time: all would use the first GPU.
    offered = offer(MEMORY_LIMIT / 1e9, gpus=int(has_gpu()), private=True)
    with LocalCluster(
        n_workers=1,
        threads_per_worker=n,
        processes=True,
        host="127.0.0.1",
        protocol="tls://",
        security=_new_keys(),
        memory_limit=0,  # each pair has its own limit
        dashboard_address="127.0.0.1:0",
        resources=offered,
        silence_logs="ERROR",
    ) as cluster:
        yield Cluster(name=name, connect=lambda: _client(cluster), slots=n, offers=[offered], tend=_tend(cluster))


@contextmanager
def _running(name: str, rest: str) -> Iterator[Cluster]:  # noqa: ARG001 - a kind of place
    yield Cluster(name=name, connect=lambda: _client(name), patience_s=_PATIENCE_S, is_ours=False)


@contextmanager
def _ssh(name: str, rest: str) -> Iterator[Cluster]:
    """Start a scheduler on the first host and a worker for each line."""
    import_or_say("asyncssh", "asyncssh")
    from distributed import SSHCluster

    hosts = read_hosts(Path(rest))
    all_of_them = [hosts[0], *hosts]
    try:
        cluster = SSHCluster(
            [name for name, _ in all_of_them],
            connect_options=[how for _, how in all_of_them],
            worker_options={"nthreads": 1, "memory_limit": 0, "resources": {}},
            scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        )
    except Exception as error:  # of asyncssh, of the network, of the hosts
        raise ClusterError(
            f"No cluster could be started on {', '.join(sorted({name for name, _ in hosts}))}: {type(error).__name__}: "
            f"{error}. Log in to each manually with `ssh HOST` (keys, not passwords), and check that {sys.executable} "
            "exists there, with the same version of the library."
        ) from error
    with cluster:
        yield Cluster(name=name, connect=lambda: _client(cluster), slots=len(hosts), tend=_tend(cluster))


@contextmanager
def _slurm(name: str, rest: str) -> Iterator[Cluster]:
    profile = read_profile(Path(rest))
    jobqueue = import_or_say("dask_jobqueue", "dask-jobqueue")
    folder = Path(profile.folder) if profile.folder else settings().home / "slurm"
    folder.mkdir(parents=True, exist_ok=True)
    with (
        _keys_in(folder) as keys,
        jobqueue.SLURMCluster(**slurm_options(profile, folder), security=keys, protocol="tls://") as cluster,
    ):
        cluster.adapt(minimum_jobs=profile.jobs.min, maximum_jobs=profile.jobs.max, interval="2s", wait_count=15)
        yield Cluster(
            name=name,
            connect=lambda: _client(cluster),
            most_minutes=profile.minutes / 4,  # work cut off by a job's end is repeated
            slots=profile.jobs.max,
            offers=[_offered(profile)],
            tend=_tend(cluster),  # a cancelled job stays in the list of those requested
            patience_s=float("inf"),  # jobs may wait for days
        )


def slurm_options(profile: SlurmProfile, folder: Path) -> dict[str, Any]:  # of dask-jobqueue
    """Return the arguments of dask-jobqueue for a profile."""
    resources = " ".join(f"{name}={amount:g}" for name, amount in _offered(profile).items())
    environment = {"OMP_NUM_THREADS": str(profile.cores), **profile.env}
    return {
        "job_name": "brainscore",
        "queue": profile.queue,
        "account": profile.account,
        "cores": 1,
        "processes": 1,
        "job_cpu": profile.cores,
        "memory": profile.memory,
        "walltime": profile.walltime,
        "python": profile.python,
        "interface": profile.interface,
        "shared_temp_directory": str(folder),
        "log_directory": str(folder),
        "local_directory": None,
        "job_script_prologue": [f"export {name}={shlex.quote(value)}" for name, value in environment.items()],
        "job_extra_directives": [*([f"--gres=gpu:{profile.gpus}"] if profile.gpus else []), *profile.directives],
        "worker_extra_args": ["--memory-limit", "0", "--no-dashboard", "--resources", shlex.quote(resources)],
        "scheduler_options": {"dashboard": False, "dashboard_address": "127.0.0.1:0"},
    }


def read_hosts(path: Path) -> list[tuple[str, dict[str, str | int]]]:
    """Read a file of hosts, one a line; empty lines and comments after ``#`` are skipped.

    Returns host names, each with user and port if the line has them (``user@host:port``), named as in
    `asyncssh.connect`.
    """
    try:
        text = path.read_bytes()[:_MOST_HOSTS_BYTES].decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The list of hosts cannot be read: {error}. Give its path: `--cluster ssh:FILE`."
        ) from error
    hosts: list[tuple[str, dict[str, str | int]]] = []
    for line in filter(None, (row.partition("#")[0].strip() for row in text.splitlines())):
        match = _HOST.fullmatch(line)
        if match is None:
            raise ConfigurationError(
                f"{path}: {line!r} is not a host name; expected one host per line, such as node1.example.org or "
                "me@node1.example.org:2222."
            )
        user, port = match["user"], match["port"]
        how = {**({"username": user} if user else {}), **({"port": int(port)} if port else {})}
        hosts.append((match["name"].strip("[]"), how))
    if not hosts:
        raise ConfigurationError(f"{path}: no host is listed; expected one per line, such as node1.example.org.")
    return hosts


# -- parts -------------------------------------------------------------------------------------------------------------


def _client(where: object) -> Client:
    from distributed import Client

    try:
        return Client(where, set_as_default=False, timeout=_CONNECT_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"The scheduler at {where} cannot be reached: {error}. Start one with `dask scheduler`, and workers with "
            "`dask worker ADDRESS --nthreads 1`."
        ) from error


def _tend(cluster: Any) -> Callable[[], object]:  # SpecCluster, whose attributes have no types
    """Return a callable that restarts lost workers."""
    return lambda: cluster.scale(len(cluster.worker_spec))


def _new_keys() -> Any:  # distributed.security.Security, which has no types
    import_or_say("cryptography", "cryptography")
    from distributed.security import Security

    return Security.temporary()


@contextmanager
def _keys_in(folder: Path) -> Iterator[Any]:
    """Give keys in files that workers elsewhere read and only this user may."""
    from distributed.security import Security

    keys = _new_keys()
    names = [f"tls_{role}_{part}" for role in ("client", "scheduler", "worker") for part in ("key", "cert")]
    with tempfile.TemporaryDirectory(prefix=".keys-", dir=folder) as private:  # mode 0700
        files = {name: Path(private) / name for name in ["tls_ca_file", *names]}
        for name, file in files.items():
            file.write_text(getattr(keys, name), encoding="ascii")
        yield Security(require_encryption=True, **{name: str(file) for name, file in files.items()})


def _offered(profile: SlurmProfile) -> dict[str, float]:
    return offer(profile.memory_gb, gpus=profile.gpus, private=profile.private)
