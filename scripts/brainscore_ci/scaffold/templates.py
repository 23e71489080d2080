"""Find what a library gives new plugins to start with: the files in its folder ``plugin_templates``, and settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from brainscore_core.errors import ConfigurationError

__all__ = ["FOLDER", "Recordings", "TemplateDefaults", "fill", "read_defaults"]

FOLDER = "plugin_templates"
"""Folder in the package of a library; one folder of files for each kind, and ``settings.toml``."""


@dataclass(frozen=True, kw_only=True)
class Recordings:
    """What a benchmark is written for: recordings, or choices of people.

    Attributes
    ----------
    identifier : str
        Of the data.
    regions : tuple of str
        That are recorded from; empty: not known, or none.
    trials : int or None
        How often each stimulus was shown; None: not known.
    is_here : bool
        Whether they are made by code, so that tests need no network.
    fitting : str
        Stimulus set that models learn from; empty: none.
    """

    identifier: str
    regions: tuple[str, ...] = ()
    trials: int | None = None
    is_here: bool = True
    fitting: str = ""


@dataclass(frozen=True, kw_only=True)
class TemplateDefaults:
    """What is written where nobody says otherwise.

    Attributes
    ----------
    region, metric, parent, parent_of_behavior : str
        Of a benchmark; `parent` of one whose region is no category.
    regions : tuple of str
        That models can be recorded from.
    tasks : mapping of str to str
        Of behavioural benchmarks -> the usual metric; empty: none.
    designs : mapping of str to str
        Metric -> design of the benchmark, the part of the name of a folder of templates after ``benchmark_``.
    quantities : mapping of str to str
        What other metrics return -> design.
    no_design : mapping of str to str
        Metric -> why it has none.
    simulated : mapping of str to Recordings
        Design -> data for a benchmark without its own; ``''`` for designs of neural benchmarks without an entry.
    trials : int
        Repetitions of each stimulus in the synthetic data of the templates.
    time_bins : tuple of (int, int)
        Of synthetic data over time, ms.
    """

    region: str
    regions: tuple[str, ...]
    metric: str
    parent: str
    parent_of_behavior: str
    tasks: Mapping[str, str]
    designs: Mapping[str, str]
    quantities: Mapping[str, str]
    no_design: Mapping[str, str]
    simulated: Mapping[str, Recordings]
    trials: int
    time_bins: tuple[tuple[int, int], ...]


def read_defaults(library: Path) -> TemplateDefaults:
    """Read the settings beside the templates of a library.

    Parameters
    ----------
    library : Path
        Folder of its package.

    Raises
    ------
    ConfigurationError
        If it has no templates, or their settings lack something.
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
        parent=benchmark["parent"],
        parent_of_behavior=benchmark["parent_of_behavior"],
        tasks=benchmark["tasks"],
        designs={metric: design for design, metrics in benchmark["designs"].items() for metric in metrics},
        quantities=benchmark["quantities"],
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
    """Return the files of a new plugin: name -> text, with values in the place of ``$placeholders``.

    Parameters
    ----------
    library : Path
        Folder of its package.
    folders : sequence of str
        Of the templates.
    """
    return {
        template.name.removesuffix(".txt"): Template(template.read_text(encoding="utf-8")).substitute(values)
        for folder in folders
        for template in sorted((library / FOLDER / folder).iterdir())
    }
