"""Declare the options of ``brainscore score``, and those that several commands have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from brainscore_core.errors import ConfigurationError
from brainscore_vision.catalogue.completion import complete_benchmark, complete_model

if TYPE_CHECKING:
    from brainscore_core.statistics.averages import Missing

__all__ = ["CONDA", "BenchmarksOption", "MissingOption", "RecordsOption", "ScoreOptions", "is_file", "missing_rule"]

RecordsOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="where the records are (default: the scores folder)")
]
BenchmarksOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BENCHMARK...", help="only these (default: all with a record)", autocompletion=complete_benchmark
    ),
]

MissingOption = Annotated[
    Literal["zero", "left-out", "complete"] | None,
    typer.Option(help="how a missing score counts in an average: as 0, not at all, or so that the model has none"),
]

_MANY = "all; a pattern such as 'MajajHong2015*'; or @file, with a name on each line"
_MODEL_HELP = f"a registered model such as pixels; {_MANY}; path.py:function, which returns a model; or model.onnx"
_OF_A_FILE, _MANY_PAIRS = "Of a model that a file holds", "Of many pairs"
CONDA = "--conda_active"  # with or without a value, because scripts written for the published system pass it


def missing_rule(missing: str | None) -> Missing | None:
    """Return the rule that a `MissingOption` names."""
    return None if missing is None else cast("Missing", missing.replace("-", " "))


def is_file(model: str) -> bool:
    """Return whether a model is named by its file, ``path.py:function`` or ``model.onnx``."""
    return model.endswith(".onnx") or re.fullmatch(r".+\.py(:.*)?", model) is not None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """The options of ``brainscore score``."""

    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "--models",
            "--model_identifier",
            metavar="MODEL...",
            help=_MODEL_HELP,
            show_default=False,
            autocompletion=complete_model,
        ),
    ]
    benchmark: Annotated[
        list[str],
        typer.Option(
            "--benchmark",
            "--benchmarks",
            "--benchmark_identifier",
            metavar="BENCHMARK...",
            help=f"such as SimulatedCortex2026.V1-pls; {_MANY}",
            show_default=False,
            autocompletion=complete_benchmark,
        ),
    ]
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            "--records",
            metavar="PATH",
            help="where to write the record, of several pairs the folder for them (default: the scores folder; a model "
            "in a file needs a --name for that)",
        ),
    ] = None
    failure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="where to write a record that says what went wrong, if something does"),
    ] = None
    layers: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="layers to compare, with commas between them", rich_help_panel=_OF_A_FILE),
    ] = None
    region_layer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REGION=LAYER...",
            help="layer of a region, such as V4=stages.2 (default: chosen on public recordings, or on simulated ones)",
            show_default=False,
            rich_help_panel=_OF_A_FILE,
        ),
    ] = None
    preprocessing: Annotated[
        str | None, typer.Option(metavar="NAME", help="such as imagenet-224", rich_help_panel=_OF_A_FILE)
    ] = None
    identifier: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="its name in the record and on the board", rich_help_panel=_OF_A_FILE
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="only say which pairs would be scored, and how", rich_help_panel=_MANY_PAIRS),
    ] = False
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume",
            help="leave out what has a record of the same code; --no-resume or --force: score all of it again",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = True
    force: Annotated[bool, typer.Option("--force", hidden=True)] = False
    retry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS...",
            help="score again what failed so, such as Timeout DownloadError; all: whatever failed",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="how many models are at work at a time (default: 1)", rich_help_panel=_MANY_PAIRS
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="where else: local:N, tcp://ADDRESS, ssh:hosts.txt or slurm:profile.yml (default: this machine)",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="after which a pair is stopped (default: four times what its plugins state, at least 10)",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="with which a pair is stopped (default: twice what its plugins state, at least 4)",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    isolation: Annotated[
        Literal["auto", "box", "none"] | None,
        typer.Option(
            help="where models run: in a box without network, or, with public data or a model of your own, in a plain "
            "process (default: one pair in this process; auto for many, in a box where there can be one)",
            show_default=False,
        ),
    ] = None
    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="only with data and weights that are here; packages are installed",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = False
    conda_active: Annotated[str, typer.Option(CONDA, hidden=True)] = "False"

    @property
    def of_files(self) -> dict[str, Any]:  # arguments of as_brain_model
        """Arguments of `as_brain_model` for models in files."""
        layers = None if self.layers is None else _names(self.layers)
        regions = {}
        for entry in self.region_layer or []:
            region, _, text = entry.partition("=")
            names = _names(text)
            if not (region and names):
                raise ConfigurationError(f"--region-layer {entry} names no layer; expected is such as V4=stages.2.")
            regions[region] = names[0] if len(names) == 1 else names
        values = {
            "layers": layers,
            "region_layer_map": regions or None,
            "preprocessing": self.preprocessing,
            "identifier": self.identifier,
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def scores_again(self) -> bool:
        """Whether pairs with a current record are scored again."""
        return self.force or not self.resume

    @property
    def of_many(self) -> list[str]:
        """Names of the given options that only many pairs have."""
        values = {
            "--dry-run": self.dry_run,
            "--no-resume": self.scores_again,
            "--retry": self.retry,
            "--jobs": self.jobs,
            "--cluster": self.cluster,
            "--timeout": self.timeout,
            "--memory": self.memory,
            "--isolation": self.isolation not in (None, "none"),
            "--offline": self.offline,
        }
        return [name for name, value in values.items() if value]
