"""Read a library's templates of plugins and their settings."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import yaml

from brainscore_core.errors import ConfigurationError, did_you_mean
from brainscore_core.plugin_management.source import read_files

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

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
    parent: str  # applies if the benchmark's region is not a category
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
    """Read the settings next to a library's templates.

    Raises `ConfigurationError` if it has no templates, or their settings are incomplete.
    """
    file = library / FOLDER / "settings.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        return _defaults(table["benchmark"], table["data"])
    except OSError as error:
        raise ConfigurationError(
            f"{library.name} has no templates of plugins ({file}: {error.strerror}); copy a similar plugin."
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


# -- Choose a new benchmark's design for its metric and data -----------------------------------------------------------

FOR_TASK: Mapping[str, str] = {
    "accuracy": "label",
    "label": "label",
    "probabilities": "probabilities",
    "odd_one_out": "odd_one_out",
}
"""Design of a behavioural benchmark -> task of its data."""


def design_of(metric: str, task: str | None, defaults: TemplateDefaults, plugin: Plugin | None) -> str:
    """Return the benchmark design for a metric.

    Raises `ConfigurationError` if the task is unknown, or the metric has no design or one for another task.

    Parameters
    ----------
    metric
        Identifier; empty for a task that counts answers.
    task
        Requested task; None: the metric's.
    plugin
        Plugin of the metric; None: it is started with the benchmark, from the templates.
    """
    if task is not None and task not in defaults.tasks:
        tasks = list(defaults.tasks)
        raise ConfigurationError(
            f"Unknown task {task!r}; expected one of {', '.join(tasks)}.{did_you_mean(task, tasks)}"
        )
    if not metric:
        return str(task)
    if metric in defaults.no_design:
        why = defaults.no_design[metric]
        raise ConfigurationError(f"No benchmark can be created with the metric {metric!r}: {why}.")
    design = defaults.designs.get(metric)
    if design is None:
        quantity = "dissimilarity_correlation" if plugin is None else declared_quantity(plugin)
        design = defaults.quantities.get(quantity or "")
    if design is None:
        raise ConfigurationError(
            f"The ceiling for the metric {metric!r} is unknown, because its class has the quantity {quantity!r}. Set "
            f"quantity: ClassVar = ... in the class ({', '.join(defaults.quantities)}), or copy a benchmark that is "
            "similar to yours."
        )
    if task is not None and FOR_TASK.get(design) != task:
        fitting = [name for name, its in defaults.designs.items() if FOR_TASK.get(its) == task]
        raise ConfigurationError(
            f"The metric {metric!r} is not for the task {task!r}; expected "
            f"{' or '.join(fitting) if fitting else 'none: leave --metric out'}."
        )
    return design


def declared_quantity(plugin: Plugin) -> str | None:
    """Return the ``quantity = "..."`` of a metric plugin's classes, if they agree."""
    quantities = set()
    for file in read_files(plugin.directory).values():
        for node in ast.walk(file.tree) if file.tree else ():
            if not isinstance(node, ast.ClassDef):
                continue
            for statement in node.body:
                targets: list[ast.expr] = statement.targets if isinstance(statement, ast.Assign) else []
                targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
                value = getattr(statement, "value", None)
                names = {target.id for target in targets if isinstance(target, ast.Name)}
                if "quantity" in names and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    quantities.add(value.value)
    return quantities.pop() if len(quantities) == 1 else None


def constants_of(plugin: Plugin) -> Mapping[str, Any]:
    """Return the constants in ``dataset.py`` of synthetic data; empty for other data."""
    file = read_files(plugin.directory).get("dataset.py")
    if file is None or b"brainscore_core.testing.synthetic" not in (file.content or b""):
        return {}
    return file.constants


def regions_of(plugin: Plugin) -> tuple[str, ...]:
    """Return the regions of data, from their source or ``metadata.yml``; empty if unknown."""
    region: Any = constants_of(plugin).get("REGION")
    if region is None:
        try:
            content = yaml.safe_load((plugin.directory / "metadata.yml").read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError):
            return ()
        region = content.get("region") if isinstance(content, dict) else None
    listed = region if isinstance(region, list) else [region] if region else []
    return tuple(str(region) for region in listed)


def trials_of(plugin: Plugin) -> int | None:
    """Return the presentations of each stimulus in synthetic data; None if unknown."""
    repetitions = constants_of(plugin).get("N_REPETITIONS")
    return repetitions if isinstance(repetitions, int) else None


def chosen_region(asked: str | None, recordings: Recordings, defaults: TemplateDefaults, *, is_named: bool) -> str:
    """Return a benchmark's region.

    `is_named`: whether the request names the data: then one of several regions must be chosen.

    Raises `ConfigurationError` if the data lack the region, or have several and none was requested.
    """
    regions = recordings.regions
    if asked is not None:
        expected = regions or defaults.regions
        if asked not in expected:
            whose = f"The data {recordings.identifier!r} are from" if regions else "Models can be recorded from"
            raise ConfigurationError(
                f"--region is {asked!r}. {whose} {' and '.join(expected)}.{did_you_mean(asked, expected)}"
            )
        return asked
    if is_named and len(regions) > 1:
        raise ConfigurationError(
            f"The data {recordings.identifier!r} are from {' and '.join(regions)}; a benchmark has one region. Choose "
            f"one: --region {regions[0]}"
        )
    return defaults.region if not regions or defaults.region in regions else regions[0]
