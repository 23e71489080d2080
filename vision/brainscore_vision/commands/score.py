"""The command ``brainscore score``: score models on benchmarks."""

from collections.abc import Sequence
from typing import Any

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError
from brainscore_core.scoring.pairs import is_pattern, select
from brainscore_vision.commands.options import CONDA, ScoreOptions, is_file
from brainscore_vision.loading import find_plugin_directory, known_identifiers

__all__ = ["ScoreCommand", "score"]


class ScoreCommand(command_line.SpreadingCommand):
    """A command with an option whose value is optional."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer's base class of contexts is not public
        """Read the arguments."""
        arguments = [
            f"{CONDA}=True" if argument == CONDA and following.startswith("-") else argument
            for argument, following in zip(args, [*args[1:], "-"], strict=True)
        ]
        return super().parse_args(ctx, arguments)


def score(options: ScoreOptions) -> int:
    """Score models on benchmarks.

    Prints a summary of one pair or a table of several, and writes the full record of each as JSON. If a model cannot
    have a score, both say why, and the exit code is 4. Several pairs are scored in their own processes; after an
    interruption, the same command continues.
    """
    files = [model for model in options.model if is_file(model)]
    registered = [model for model in options.model if not is_file(model)]
    _check_options(options, files, registered)
    from brainscore_vision.commands.work import campaign, here

    is_one = len(options.model) == len(options.benchmark) == 1
    if is_one and not options.of_many and not any(map(is_pattern, [*options.model, *options.benchmark])):
        return here.score_one(options)
    if options.failure is not None:
        raise ConfigurationError("--failure is for one model and one benchmark; the table says what went wrong.")
    models, benchmarks = _selected("model", registered), _selected("benchmark", options.benchmark)
    codes = set()
    if models:
        codes.add(campaign.score_many(models, benchmarks, options))
    if files:
        codes.add(here.score_files(files, benchmarks, options))
    return codes.pop() if len(codes) == 1 else command_line.FAILED if command_line.FAILED in codes else max(codes)


def _check_options(options: ScoreOptions, files: Sequence[str], registered: Sequence[str]) -> None:
    if options.of_files and registered:
        raise ConfigurationError(
            f"The options {', '.join(options.of_files)} are for models in files (path.py:function, model.onnx); "
            f"{registered[0]!r} names a registered model, which brings its own. Leave them out."
        )
    if options.identifier is not None and len(files) > 1:
        raise ConfigurationError(f"--name is for one model; {len(files)} are given. Score each with its own name.")
    if files and options.of_many:
        raise ConfigurationError(
            f"{options.of_many[0]} is for registered models; {files[0]!r} is a file, which is scored in this process. "
            "Leave it out, or score the registered models with another command."
        )
    if options.cluster is not None and options.jobs is not None:
        raise ConfigurationError("--jobs is for this machine; how much a cluster does at a time its workers say.")


def _selected(kind: str, names: Sequence[str]) -> list[str]:
    # The names of libraries are listed for a pattern such as 'timm:resnet*' only.
    identifiers = known_identifiers(kind, schemes=any(":" in name and is_pattern(name) for name in names))
    for name in names:
        if not is_pattern(name, identifiers):
            find_plugin_directory(kind, name)  # explains a wrong name better than a list of names can
    return select(names, identifiers, kind, exists=lambda name: ":" in name and bool(find_plugin_directory(kind, name)))
