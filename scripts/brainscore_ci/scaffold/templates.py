"""Find what a library gives new plugins to start with: the files in its folder ``plugin_templates``, and settings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from brainscore_core.errors import ConfigurationError

__all__ = ["FOLDER", "Defaults", "Recordings", "fill", "read_defaults"]

FOLDER = "plugin_templates"
"""Folder in the package of a library; one folder of files for each kind, and ``settings.toml``."""


@dataclass(frozen=True)
class Recordings:
    """What a benchmark is written for.

    Attributes
    ----------
    identifier : str
        Of the data.
    regions : tuple of str
        That are recorded from, as far as it is known.
    trials : int
        How often each stimulus was shown.
    is_here : bool
        Whether they are made by code, so that tests need no network.
    """

    identifier: str
    regions: tuple[str, ...]
    trials: int
    is_here: bool


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """What is written where nobody says otherwise.

    Attributes
    ----------
    region, metric, parent : str
        Of a benchmark; the parent of one whose region is no category.
    simulated : Recordings
        For a benchmark without data of its own.
    trials : int
        Repetitions of each stimulus in the synthetic data of the templates.
    """

    region: str
    metric: str
    parent: str
    simulated: Recordings
    trials: int


def read_defaults(library: Path) -> Defaults:
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
        benchmark, simulated = table["benchmark"], table["benchmark"]["simulated"]
        return Defaults(
            region=benchmark["region"],
            metric=benchmark["metric"],
            parent=benchmark["parent"],
            simulated=Recordings(simulated["data"], tuple(simulated["regions"]), simulated["trials"], is_here=True),
            trials=table["data"]["trials"],
        )
    except OSError as error:
        raise ConfigurationError(
            f"{library.name} has no templates of plugins ({file}: {error.strerror}); copy a plugin that is like yours."
        ) from None
    except (KeyError, ValueError, TypeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {type(error).__name__}: {error}") from error


def fill(library: Path, folder: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a new plugin: name -> text, with values in the place of ``$placeholders``.

    Parameters
    ----------
    library : Path
        Folder of its package.
    folder : str
        Of the templates; those in ``common`` are added.
    """
    return {
        template.name.removesuffix(".txt"): Template(template.read_text(encoding="utf-8")).substitute(values)
        for group in (folder, "common")
        for template in sorted((library / FOLDER / group).iterdir())
    }
