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
    Path | None, typer.Option(metavar="FOLDER", help="folder of records (default: the scores folder)")
]
BenchmarksOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="BENCHMARK...",
        help="only these benchmarks (default: all with a record)",
        autocompletion=complete_benchmark,
    ),
]

MissingOption = Annotated[
    Literal["zero", "left-out", "complete"] | None,
    typer.Option(help="how averages treat a missing score: count it as 0, leave it out, or give the model no average"),
]

_MANY = "all; a pattern such as 'MajajHong2015*'; or @file, with one name per line"
_MODEL_HELP = f"a registered model such as pixels; {_MANY}; path.py:function (which returns a model); or model.onnx"
_OF_A_FILE, _MANY_PAIRS = "For models in files", "For several pairs"
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
            help=f"a benchmark such as SimulatedCortex2026.V1-pls; {_MANY}",
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
            help="file for the record, or folder if there are several (default: the scores folder; a model in a file "
            "then needs a --name)",
        ),
    ] = None
    failure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="if scoring fails, write a record of the error here"),
    ] = None
    layers: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="layers to compare, separated by commas", rich_help_panel=_OF_A_FILE),
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
        str | None,
        typer.Option(
            metavar="NAME", help="preprocessing of the model, such as imagenet-224", rich_help_panel=_OF_A_FILE
        ),
    ] = None
    identifier: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="name of the model in the record and on the board",
            rich_help_panel=_OF_A_FILE,
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="only show which pairs would be scored, and how", rich_help_panel=_MANY_PAIRS),
    ] = False
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume",
            help="leave out pairs with a record from the same code; --no-resume or --force: score all of them again",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = True
    force: Annotated[bool, typer.Option("--force", hidden=True)] = False
    retry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS...",
            help="score again pairs that failed with these errors, such as Timeout DownloadError; all: every failed "
            "pair",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="number of models to score at the same time (default: 1)",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="run elsewhere: local:N, tcp://ADDRESS, ssh:hosts.txt or slurm:profile.yml (default: this machine)",
            show_default=False,
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="time limit for each pair (default: four times the minutes that its plugins state, at least 10)",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="memory limit for each pair (default: twice the memory that its plugins state, at least 4)",
            rich_help_panel=_MANY_PAIRS,
        ),
    ] = None
    isolation: Annotated[
        Literal["auto", "box", "none"] | None,
        typer.Option(
            help="box: run models isolated, without network; none: in a plain process, for public data or your own "
            "models; auto: in a box if available (default: this process for one pair, auto for several)",
            show_default=False,
        ),
    ] = None
    offline: Annotated[
        bool,
        typer.Option(
            "--offline",
            help="use only data and weights on this machine; packages are still installed",
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
                raise ConfigurationError(
                    f"--region-layer {entry} names no layer; expected REGION=LAYER, such as V4=stages.2."
                )
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
