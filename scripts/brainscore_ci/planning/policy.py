"""Hold what a project has decided about its integration: ``[tool.brainscore.ci]`` of its ``pyproject.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from brainscore_ci.planning.areas import PluginName
from brainscore_core.errors import ConfigurationError, did_you_mean

__all__ = ["Policy", "read_policy"]


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a project has decided.

    Attributes
    ----------
    libraries : tuple of str
        Folders of the packages that hold plugins, relative to the repository.
    representatives : tuple of PluginName
        Plugins that are tested where a change may concern all: at least one of each kind.
    reference_models, reference_benchmarks : tuple of str
        Identifiers. A new benchmark is shown with the scores of these models, a new model with its scores on these
        benchmarks; all data of these benchmarks are public.
    leaderboard : tuple of str
        Files and folders, relative to the repository, with which the leaderboard changes: of a pull request that
        touches one, there is a preview.
    minutes : mapping of str to float
        Folder of plugins -> minutes that their tests usually take.
    pair_minutes : float
        Minutes that scoring a pair usually takes.
    memory_gb : float
        Memory that a test or a score usually takes.
    shard_minutes : float
        How long one job of a matrix should take.
    most_shards : int
        Jobs of a matrix at the most; GitHub's limit is 256.
    most_previews : int
        Pairs that a pull request scores at the most.
    """

    libraries: tuple[str, ...] = ()
    representatives: tuple[PluginName, ...] = ()
    reference_models: tuple[str, ...] = ()
    reference_benchmarks: tuple[str, ...] = ()
    leaderboard: tuple[str, ...] = ()
    minutes: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType({"data": 1.0, "metrics": 1.0, "benchmarks": 2.0, "models": 2.0})
    )
    pair_minutes: float = 5.0
    memory_gb: float = 4.0
    shard_minutes: float = 30.0
    most_shards: int = 200
    most_previews: int = 12

    def test_minutes(self, folder: str) -> float:
        """Return how long the tests of a plugin in a folder usually take."""
        return self.minutes.get(folder, 2.0)


def read_policy(repository: Path) -> Policy:
    """Read the policy of a repository; one without ``[tool.brainscore.ci]`` gets the defaults.

    Raises
    ------
    ConfigurationError
        If the table holds an unknown key or a value of the wrong type.
    """
    file = repository / "pyproject.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("brainscore", {}).get("ci", {})
    except FileNotFoundError:
        return Policy()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    known = {each.name: each for each in fields(Policy)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in known:
            hint = did_you_mean(key, [each.replace("_", "-") for each in known])
            raise ConfigurationError(f"[tool.brainscore.ci] of {file} has the unknown key {key!r}.{hint}")
        try:
            values[name] = _convert(name, value)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"[tool.brainscore.ci] of {file}: {key} = {value!r}: {error}") from error
    return Policy(**values)


def _convert(name: str, value: Any) -> Any:
    default = getattr(Policy(), name)
    if name == "representatives":
        return tuple(PluginName.parse(text) for text in value)
    if isinstance(default, tuple):
        if not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
            raise TypeError("expected a list of texts")
        return tuple(value)
    if isinstance(default, Mapping):
        return MappingProxyType({**default, **{str(folder): float(minutes) for folder, minutes in value.items()}})
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise TypeError("expected a number above 0")
    return type(default)(value)
