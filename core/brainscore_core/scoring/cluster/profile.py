"""Read the profile of a Slurm cluster: resources and number of its jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, Field, Strict, TypeAdapter, ValidationError

from brainscore_core.errors import ConfigurationError, did_you_mean, listed
from brainscore_core.untrusted import Flag, Untrusted

__all__ = ["Jobs", "SlurmProfile", "read_profile"]

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
            raise ValueError(f"expected names of variables with texts of one line; {name!r} has none")
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
            f"The profile of the Slurm cluster cannot be read: {error}. `--cluster slurm:FILE` names a file of YAML "
            f"with the keys {', '.join(_KEYS)}."
        ) from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is no YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} holds no keys; expected some of {', '.join(_KEYS)}.")
    try:
        return _PROFILE.validate_python(content)
    except ValidationError as error:
        raise ConfigurationError(f"{path} is no profile of a Slurm cluster:{listed(_problems(error))}") from None


def _problems(error: ValidationError) -> list[str]:
    problems = []
    for problem in error.errors(include_url=False, include_context=False):
        place = ".".join(map(str, problem["loc"]))
        if problem["type"] == "unexpected_keyword_argument":
            keys = Jobs.__dataclass_fields__ if problem["loc"][0] == "jobs" else _KEYS
            problems.append(f"{place}: there is no such key.{did_you_mean(problem['loc'][-1], keys)}")
        elif problem["type"] in ("missing", "missing_argument"):
            problems.append(f"{place}: has to be stated.")
        else:
            problems.append(f"{place}: {problem['msg'].removeprefix('Value error, ')}, found {problem['input']!r}.")
    return problems
