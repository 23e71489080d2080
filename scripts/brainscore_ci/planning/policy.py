"""Read the project's decisions from ``[tool.brainscore.ci]`` in ``pyproject.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from brainscore_ci.planning.areas import PluginName
from brainscore_core.errors import ConfigurationError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class MergePolicy:
    """What GitHub may merge without a person, see `reporting.merge`; nothing, unless it is enabled."""

    enabled: bool = False
    required_checks: tuple[str, ...] = ("gate", "library gate")
    most_files: int = 50
    most_bytes: int = 1_000_000
    most_per_day: int = 3  # of one author


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The project's decisions."""

    libraries: tuple[str, ...] = ()  # relative to the repository
    # Plugins to test if a change may concern all of them; at least one of each kind
    representatives: tuple[PluginName, ...] = ()
    # Plugins that the library's own tests need; the key `shipped` names the file that lists them
    shipped: tuple[PluginName, ...] = ()
    # A pull request shows its new benchmark with these models, and its new model on these benchmarks, whose data are
    # all public
    reference_models: tuple[str, ...] = ()
    reference_benchmarks: tuple[str, ...] = ()
    # Files and folders that the leaderboard depends on; a pull request that touches one gets a preview
    leaderboard: tuple[str, ...] = ()
    # Plugin folder -> usual minutes of its tests
    minutes: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"data": 1.0, "metrics": 1.0, "benchmarks": 2.0, "models": 2.0})
    )
    # Usual cost of a pair, and usual memory of a test or a score
    pair_minutes: float = 5.0
    memory_gb: float = 4.0
    # Intended minutes of one job of a matrix, and most jobs; GitHub allows 256
    shard_minutes: float = 30.0
    most_shards: int = 200
    most_previews: int = 12  # most pairs that a pull request scores
    # Most plugins to test since they use changed parts of the library; at night all are tested
    most_library_tests: int = 12
    merge: MergePolicy = MergePolicy()

    def test_minutes(self, folder: str) -> float:
        """Return the usual minutes of a plugin's tests."""
        return self.minutes.get(folder, 2.0)


def read_policy(repository: Path) -> Policy:
    """Read the policy of a repository, by default `Policy()`."""
    file = repository / "pyproject.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("brainscore", {}).get("ci", {})
    except FileNotFoundError:
        return Policy()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    return _read_table(table, Policy(), "tool.brainscore.ci", file)


Settings = TypeVar("Settings", Policy, MergePolicy)


def _read_table(table: Mapping[str, Any], default: Settings, name: str, file: Path) -> Settings:
    known = {entry.name.replace("_", "-"): getattr(default, entry.name) for entry in fields(default)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigurationError(f"[{name}] of {file} has the unknown key {key!r}.{did_you_mean(key, list(known))}")
        if key == "merge" and isinstance(value, dict):
            values[key] = _read_table(value, MergePolicy(), f"{name}.{key}", file)
            continue
        try:
            listed = (file.parent / value).read_text(encoding="utf-8").split() if key == "shipped" else value
            values[key.replace("-", "_")] = _convert(key, listed, known[key])
        except (OSError, TypeError, ValueError) as error:
            raise ConfigurationError(f"[{name}] of {file}: {key} = {value!r}: {error}") from error
    return replace(default, **values)


def _convert(name: str, value: Any, default: Any) -> Any:
    if name in {"representatives", "shipped"}:
        return tuple(PluginName.parse(text) for text in value)
    if isinstance(default, tuple):
        if not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
            raise TypeError("expected a list of texts")
        return tuple(value)
    if isinstance(default, Mapping):
        return MappingProxyType({**default, **{str(folder): float(minutes) for folder, minutes in value.items()}})
    if isinstance(default, bool) and isinstance(value, bool):
        return value
    if isinstance(default, bool) or isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise TypeError("expected true or false" if isinstance(default, bool) else "expected a number above 0")
    return type(default)(value)
