"""Run a command line: typer parses it, an error becomes one line and an exit code for its kind.

A package makes an app (`make_app`) and adds commands: functions that return the exit code, with ``cls=Command`` or, if
an option takes several values (``--model a b``), ``cls=SpreadingCommand``.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from brainscore_core._version import __version__
from brainscore_core.config import PLUGINS_VARIABLE, plugin_paths
from brainscore_core.errors import (
    BrainScoreError,
    ChecksumError,
    ConfigurationError,
    CorruptFileError,
    DownloadError,
    IsolationError,
    MissingStimulusError,
    RequirementsError,
    UnknownIdentifierError,
    harmless,
)
from brainscore_core.own_code import place_in_plugin

FAILED, WRONG_USAGE, NOT_AVAILABLE, NO_SCORE, INTERRUPTED = 1, 2, 3, 4, 130
EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or unknown name, 3 data, weights or requirements not available, "
    "4 done, but without a score (the record gives the reason), 130 interrupted."
)
_USAGE_ERRORS = (UnknownIdentifierError, ConfigurationError)
_AVAILABILITY_ERRORS = (
    *(ChecksumError, CorruptFileError, DownloadError, IsolationError, MissingStimulusError, RequirementsError),
)
_TRACEBACK, _PLUGINS, _OF_EVERY = "--traceback", "--plugins", "Common options"
_GAP = 2  # characters between a table's columns
_NEVER_FOLDED = 14  # characters, such as in an interval
_OPEN = "brainscore: the repeatable option that a line ends with"  # in the notes of a context


class Command(TyperCommand):
    """A command whose function returns the exit code; its errors become one line and an exit code (see `run`)."""

    def get_params(self, ctx: Any) -> list[Any]:  # typer's base classes of contexts and parameters are not public
        """Return the parameters, including the common options, for help and completion."""
        of_all = [option for option in ctx.find_root().command.params if {_TRACEBACK, _PLUGINS} & {*option.opts}]
        return [*super().get_params(ctx), *of_all]

    def invoke(self, ctx: Any) -> int:  # see above
        """Return the exit code."""
        with_traceback = bool(ctx.find_root().obj)
        return run(lambda: super(Command, self).invoke(ctx) or 0, show_traceback=with_traceback)


class SpreadingCommand(Command):
    """A command whose repeatable options take several values: ``--model a b`` for ``--model a --model b``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # see above
        """Read the arguments, those of repeatable options spread."""
        repeatable = {
            name: parameter
            for parameter in self.params
            if getattr(parameter, "multiple", False)
            for name in parameter.opts
        }
        options = [argument for argument in args if argument.startswith("-")]
        ctx.meta[_OPEN] = repeatable.get(options[-1]) if options else None
        return super().parse_args(ctx, list(_spread(args, set(repeatable))))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:  # see above
        """Complete further values of a repeatable option too."""
        still_open = ctx.meta.get(_OPEN)
        if still_open is None or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return still_open.shell_complete(ctx, incomplete)


def _spread(arguments: Sequence[str], repeatable: set[str]) -> Iterator[str]:
    option, n_values = "", 0
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            option, n_values = argument if argument in repeatable else "", 0
        elif option:
            n_values += 1
            if n_values > 1:
                yield option
        yield argument


class _Group(TyperGroup):
    """Commands that are also found by their former names with underscores."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # see above
        return super().get_command(ctx, cmd_name) or super().get_command(ctx, cmd_name.replace("_", "-"))


def make_app(description: str, *, completion: bool = False) -> typer.Typer:
    """Return an app without commands; with `completion` it offers to install completion for the shell."""
    return typer.Typer(
        cls=_Group,
        help=description,
        epilog=EXIT_CODES,
        no_args_is_help=True,
        add_completion=completion,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )


Options = TypeVar("Options")


def command_of(options: type[Options], run: Callable[[Options], int]) -> Callable[..., int]:
    """Return a command whose options are the fields of a keyword-only dataclass; its help is the docstring of `run`.

    Each field is annotated with its `typer.Option`.
    """

    def command(**values: Any) -> int:  # the fields
        return run(options(**values))

    kinds = get_type_hints(options, include_extras=True)
    defaults = {field.name: field.default for field in dataclasses.fields(options)}  # type: ignore[arg-type]  # see above
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is dataclasses.MISSING else default,
            annotation=kinds[name],
        )
        for name, default in defaults.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as typer reads it
    command.__annotations__, command.__doc__ = kinds, run.__doc__
    return command


def run_app(
    app: typer.Typer,
    arguments: Sequence[str] | None = None,
    *,
    program: str,
    further: Sequence[typer.Typer] = (),
    defaults: Mapping[str, Mapping[str, object]] | None = None,
    completion: bool = False,
) -> int:
    """Read a command line, run its command, and return the exit code (see `EXIT_CODES`).

    The help of `app` is the program's, with the commands of `further` apps below; ``--version`` names the `program`;
    `defaults` maps commands to defaults of their options.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with_traceback = _TRACEBACK in words
    words = [part for part in words if part != _TRACEBACK]

    whole = make_app(str(app.info.help), completion=completion)
    whole.callback()(_program_options)
    for part in (app, *further):
        whole.add_typer(part)

    def read_and_invoke() -> int:
        command = typer.main.get_command(whole)
        try:
            with _finding_plugins(words):
                code = command.main(
                    words, prog_name=program, standalone_mode=False, obj=with_traceback, default_map=defaults
                )
        except typer.TyperException as error:
            if error.format_message():  # of a call without any arguments, the help was the answer
                path = getattr(getattr(error, "ctx", None), "command_path", "")
                message = " ".join(error.format_message().split())
                sentence = message if message.endswith((".", "?")) else f"{message}."
                say(f"Error: {sentence} See {path} --help." if path else f"Error: {sentence}")
            return WRONG_USAGE
        return code or 0

    return run(read_and_invoke, show_traceback=with_traceback)


@contextmanager
def _finding_plugins(words: list[str]) -> Iterator[None]:
    """Take ``--plugins PATH`` out of the words, and let this process and its children find the plugins there.

    Without it, the paths of a ``pyproject.toml`` are passed on: other processes run in other folders.
    """
    paths: list[str | Path] = []
    while option := next((word for word in words if word.partition("=")[0] == _PLUGINS), None):
        place = words.index(option)
        value = option.partition("=")[2] or "".join(words[place + 1 : place + 2])
        if not value:
            raise ConfigurationError(f"{_PLUGINS} needs a path: a folder with plugins, or a checkout.")
        del words[place : place + (1 if "=" in option else 2)]
        paths += [Path(path).expanduser().absolute() for path in value.split(os.pathsep) if path]
    earlier = os.environ.get(PLUGINS_VARIABLE)
    if not paths and earlier is None:
        paths = [*plugin_paths()[1]]
    if paths:
        os.environ[PLUGINS_VARIABLE] = os.pathsep.join(map(str, paths))
    try:
        yield
    finally:
        if paths:
            os.environ.pop(PLUGINS_VARIABLE)
            os.environ.update({} if earlier is None else {PLUGINS_VARIABLE: earlier})


def _show_version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        show(f"{context.find_root().info_name} {__version__}")
        raise typer.Exit


def _program_options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="show the version and exit")
    ] = False,
    _plugins: Annotated[
        Path | None,
        typer.Option(
            _PLUGINS,
            metavar="PATH",
            help="folder or checkout with more plugins (separate several as in PATH)",
            expose_value=False,
            rich_help_panel=_OF_EVERY,
        ),
    ] = None,
    _traceback: Annotated[
        bool,
        typer.Option(
            _TRACEBACK, help="show the full traceback of an error", expose_value=False, rich_help_panel=_OF_EVERY
        ),
    ] = False,
) -> None:
    """Accept the options of a program; `run_app` has read the common ones."""


def run(command: Callable[[], int], *, show_traceback: bool = False) -> int:
    """Run a command and return its exit code; print an error as one line, or with a traceback, on standard error."""
    try:
        return command()
    except typer.TyperException:
        raise
    except KeyboardInterrupt:
        # An interrupt within `exec` of a text, as of dataclasses, makes Python end by the signal instead of our code,
        # until the next `exec` that succeeds.
        exec("")  # noqa: S102
        say("Interrupted. No partial files are left; run the same command again to continue.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe (`| head`) has gone. Keep the interpreter from flushing at exit.
        sys.stderr.close()
        return 0
    except Exception as error:  # noqa: BLE001 - the outermost frame: people get one message, not a traceback
        return _explain(error, show_traceback=show_traceback)


def say(message: str) -> None:
    """Print a message on standard error, apart from the result, without characters that act on a terminal."""
    print(harmless(message), file=sys.stderr)  # noqa: T201 - a command line talks


def show(result: str, *, end: str = "\n") -> None:
    """Print a result, or a part of one, without characters that act on a terminal."""
    print(harmless(result), end=end)  # noqa: T201 - the one place for results


def _explain(error: Exception, *, show_traceback: bool) -> int:
    if show_traceback:
        say("".join(traceback.format_exception(error)).rstrip())
    # These errors name the missing data; the plugin's line would add nothing.
    place = None if isinstance(error, _AVAILABILITY_ERRORS) else place_in_plugin(error)
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))  # added by the callers that it passed
    if isinstance(error, BrainScoreError):
        is_located = place is None or f"{place.file.name}:{place.line}" in str(error)
        say(f"Error: {error}{'' if is_located else f' At {place}'}{notes}")
    else:
        where = f" At {place}." if place else ""
        hint = "" if show_traceback else " Run with --traceback for details."
        say(f"Error: {type(error).__name__}: {error}.{where}{notes}{hint}")
    return exit_code_of(error)


def exit_code_of(error: Exception) -> int:
    """Return the exit code for the kind of an error (see `EXIT_CODES`)."""
    if isinstance(error, _USAGE_ERRORS):
        return WRONG_USAGE
    return NOT_AVAILABLE if isinstance(error, _AVAILABILITY_ERRORS) else FAILED


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, spare: Sequence[str] = ()) -> None:
    """Print a table: at a terminal, drawn and folded to its width; elsewhere, plain columns that are never cut.

    If a terminal is too narrow, `spare` columns are dropped in order, and named.
    """
    rows = [[harmless(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        lines = [header, *rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            show("  ".join(cells).rstrip())
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = shutil.get_terminal_size().columns
    columns = list(zip(header, *rows, strict=True))
    left_out = []
    for name in spare:
        if sum(max(map(len, column)) + _GAP for column in columns) > width:
            columns = [column for column in columns if column[0] != name]
            left_out.append(name)
    table = Table(box=SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False)
    for column in columns:
        is_short = max(map(len, column)) <= _NEVER_FOLDED  # keep numbers whole, fold long texts
        table.add_column(column[0], overflow="fold", no_wrap=is_short)
    for row in zip(*(cells for _, *cells in columns), strict=True):
        table.add_row(*(Text(cell) for cell in row))  # as text: nothing in a cell is markup
    Console(width=width).print(table)
    if left_out:
        say(f"A wider terminal, or a file, also shows {', '.join(left_out)}.")
