"""Read a library's templates of plugins and their settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from brainscore_core.errors import ConfigurationError

FOLDER = "plugin_templates"
"""Folder of a library's package with template folders and ``settings.toml``."""


@dataclass(frozen=True, kw_only=True)
class Recordings:
    """Recordings, or choices of people, for a benchmark."""

    identifier: str
    regions: tuple[str, ...] = ()  # empty: unknown or none
    trials: int | None = None  # presentations of each stimulus; None if unknown
    is_here: bool = True  # whether code makes them, so that tests need no network
    fitting: str = ""  # stimulus set that models learn from


@dataclass(frozen=True, kw_only=True)
class TemplateDefaults:
    """Defaults of a library's templates."""

    region: str
    regions: tuple[str, ...]
    metric: str
    metric_of_few: str  # usual metric of data with fewer stimuli than ``metric`` accepts
    metric_over_time: str
    parent: str  # applies if the benchmark's region is no category
    parent_of_behavior: str
    tasks: Mapping[str, str]  # behavioural task -> usual metric; empty if there is none
    designs: Mapping[str, str]  # metric -> benchmark design, the name of a template folder after ``benchmark_``
    quantities: Mapping[str, str]  # quantity of other metrics -> design
    least_stimuli: Mapping[str, int]  # metric -> fewest stimuli it accepts; others accept three
    no_design: Mapping[str, str]  # metric -> why it has no design
    # Design -> data for a benchmark without its own; ``''`` for other neural designs
    simulated: Mapping[str, Recordings]
    trials: int  # of each stimulus in synthetic data
    time_bins: tuple[tuple[int, int], ...]  # ms


def read_defaults(library: Path) -> TemplateDefaults:
    """Read the settings beside a library's templates.

    Raises `ConfigurationError` if it has no templates, or their settings are incomplete.
    """
    file = library / FOLDER / "settings.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        return _defaults(table["benchmark"], table["data"])
    except OSError as error:
        raise ConfigurationError(
            f"{library.name} has no templates of plugins ({file}: {error.strerror}); copy a plugin that is like yours."
        ) from None
    except (KeyError, ValueError, TypeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def _defaults(benchmark: Mapping[str, Any], data: Mapping[str, Any]) -> TemplateDefaults:
    simulated = {name: table for name, table in benchmark["simulated"].items() if isinstance(table, dict)}
    return TemplateDefaults(
        region=benchmark["region"],
        regions=tuple(benchmark["regions"]),
        metric=benchmark["metric"],
        metric_of_few=benchmark["metric_of_few"],
        metric_over_time=benchmark["metric_over_time"],
        parent=benchmark["parent"],
        parent_of_behavior=benchmark["parent_of_behavior"],
        tasks=benchmark["tasks"],
        designs={metric: design for design, metrics in benchmark["designs"].items() for metric in metrics},
        quantities=benchmark["quantities"],
        least_stimuli=benchmark["least_stimuli"],
        no_design=benchmark["no_design"],
        simulated={name: _simulated(table) for name, table in {"": benchmark["simulated"], **simulated}.items()},
        trials=data["trials"],
        time_bins=tuple((start, end) for start, end in data["time_bins"]),
    )


def _simulated(table: Mapping[str, Any]) -> Recordings:
    return Recordings(
        identifier=table["data"],
        regions=tuple(table.get("regions", ())),
        trials=table.get("trials"),
        fitting=table.get("fitting", ""),
    )


def fill(library: Path, folders: Sequence[str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a plugin: name -> text."""
    return {
        template.name.removesuffix(".txt"): Template(template.read_text(encoding="utf-8")).substitute(values)
        for folder in folders
        for template in sorted((library / FOLDER / folder).iterdir())
    }
