"""A command line runs a command, which ends with one message and the right exit code."""

import json
import os
import pty
import re
import subprocess
import sys
from typing import Annotated

import pytest
import typer

from brainscore_core import __version__, command_line
from brainscore_core.errors import AssemblyError, DownloadError, RequirementsError, UnknownIdentifierError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownIdentifierError("no model 'x'"), 2),
        (DownloadError("no connection"), 3),
        (RequirementsError("no wheel"), 3),
        (AssemblyError("no dims"), 1),
        (ZeroDivisionError("by zero"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_error_gives_an_exit_code_and_no_traceback(error, code, capsys):
    def command():
        raise error

    app = command_line.make_app("Fail.")
    app.command("fail", cls=command_line.Command)(command)
    for outcome in (lambda: command_line.run(command), lambda: command_line.run_app(app, ["fail"], program="made")):
        assert outcome() == code
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "Traceback" not in captured.err
        assert len(captured.err.splitlines()) == 1
        assert str(error) in captured.err


def test_interrupt_within_eval_gives_the_usual_exit_code(tmp_path):
    lines = (
        "import sys",
        "from brainscore_core import command_line",
        "def interrupt(): raise KeyboardInterrupt",
        "sys.exit(command_line.run(lambda: eval('interrupt()')))",
    )
    (tmp_path / "interrupted.py").write_text("\n".join(lines))
    done = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert done.returncode == command_line.INTERRUPTED
    assert "Interrupted" in done.stderr


@pytest.fixture
def app():
    """Return an app with two commands; `add` has a repeatable option, `sub-tract` fails."""
    made = command_line.make_app("Calculate.")

    @made.command("add", cls=command_line.SpreadingCommand)
    def add(
        number: Annotated[list[int], typer.Option(metavar="N")],
        name: Annotated[str, typer.Option()] = "sum",
        unit: Annotated[str, typer.Option()] = "",
    ) -> int:
        """Add numbers."""
        print(f"{name} {sum(number)}{unit}")  # noqa: T201 - a command line talks
        return 7

    @made.command("sub-tract", cls=command_line.Command)
    def subtract() -> int:
        """Subtract."""
        raise ZeroDivisionError("by zero")

    return made


@pytest.fixture
def run(app):
    return lambda *arguments, **options: command_line.run_app(app, list(arguments), program="sums", **options)


@pytest.mark.parametrize("place", [0, 1])
def test_traceback_is_shown_on_request(run, capsys, place):
    arguments = ["sub-tract"]
    arguments.insert(place, "--traceback")
    assert run(*arguments) == 1
    assert "Traceback" in capsys.readouterr().err


def test_app_accepts_underscores_defaults_and_further_apps(run, capsys):
    assert run("sub_tract") == 1  # names with underscores are understood
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert run("--version") == 0
    assert capsys.readouterr().out == f"sums {__version__}\n"
    assert run("add", "--number", "1", defaults={"add": {"unit": " kg"}}) == 7
    assert capsys.readouterr().out == "sum 1 kg\n"
    other = command_line.make_app("Multiply.")
    other.command("multiply", cls=command_line.Command)(lambda: 3)
    assert run("multiply", further=[other]) == 3
    assert run("add", "--number", "1", further=[other]) == 7


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--number", "1", "--number", "2"], "sum 3"),
        (["--number", "1", "2", "3", "--name", "all"], "all 6"),
        (["--number=1", "--name", "all", "--number", "2", "3"], "all 6"),
    ],
)
def test_repeatable_options_take_several_values(run, capsys, arguments, printed):
    assert run("add", *arguments) == 7
    assert capsys.readouterr().out == f"{printed}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ad"], "No such command 'ad'. Did you mean 'add'? See sums --help."),
        (["add", "--nmber", "1"], "No such option: --nmber (Possible options: --name, --number). See sums add --help."),
        (["add"], "Missing option '--number'. See sums add --help."),
        (["add", "--number", "x"], "Invalid value for '--number': Input should be a valid integer"),
        (["add", "--number", "1", "--name", "a", "b"], "unexpected extra argument"),
    ],
)
def test_usage_error_is_one_line_that_points_to_help(run, capsys, arguments, said):
    assert run(*arguments) == command_line.WRONG_USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("Error: ")
    assert said in line


def test_help_is_shown_without_arguments(run, capsys):
    assert run() == command_line.WRONG_USAGE
    captured = capsys.readouterr()
    assert "Usage: sums" in captured.out
    assert "Subtract." in captured.out
    assert "130 interrupted" in " ".join(captured.out.split())  # however narrow the terminal is
    assert captured.err == ""


# Clear the screen, C1's introducer of colours, the clipboard (OSC 52), a name read backwards, an overwritten line.
HOSTILE = ("\x1b[2J", "\x9b31m", "\x1b]52;c;ZXZpbA==\x07", "\u202etxen\u2066", "kept\rgone", "\x7f", "\u2028")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_foreign_text_cannot_control_the_terminal(run, app, hostile, capsys):
    @app.command("said", cls=command_line.Command)
    def said() -> int:
        """Show, say and raise."""
        command_line.show(hostile)
        command_line.say(hostile)
        command_line.print_table(("NAME",), [(hostile,)])
        raise AssemblyError(hostile)

    assert run("said", "--traceback") == 1
    captured = capsys.readouterr()
    at_terminal = run_at_a_terminal(60, f"print_table(('NAME',), [({hostile!r},)])", raw=True)
    harmful = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
    assert not harmful.search(captured.out + captured.err)
    assert hostile not in at_terminal
    for text in (captured.out, captured.err, at_terminal):
        assert json.dumps(hostile)[1:-1] in text.replace(r"\"", '"')


ROWS = [("short", "1"), ("a-name-that-is-longer-than-half-of-the-terminal", "[bold]2[/bold]")]


def test_table_in_a_file_is_plain_and_complete(capsys):
    command_line.print_table(("NAME", "NUMBER"), ROWS)
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["NAME", "NUMBER"], *map(list, ROWS)]


def run_at_a_terminal(width, call, *, raw=False):
    """Return the lines that a call prints at a terminal, and its standard error; if `raw`, all that it prints."""
    code = f"from brainscore_core import command_line as c; c.{call}"
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=theirs, stderr=subprocess.PIPE, text=True, check=True, env=environment
    )
    os.close(theirs)
    printed = os.read(ours, 10_000).decode()
    os.close(ours)
    return printed if raw else (re.sub(r"\x1b\[\d*m|\r", "", printed).splitlines(), done.stderr)


@pytest.mark.parametrize(("width", "left_out"), [(60, []), (23, ["C"]), (22, ["C", "B"])])
def test_narrow_terminal_drops_spare_columns_with_a_note(width, left_out):
    cells = ("model-1", "0.1234", "0.5678", "note")
    call = f"print_table(('A', 'B', 'C', 'D'), [{cells!r}], spare=('C', 'B'))"
    lines, said = run_at_a_terminal(width, call)
    shown = [name for name in "ABCD" if name not in left_out]
    assert [line.split() for line in lines if line.strip(" ─")] == [
        shown, [cell for name, cell in zip("ABCD", cells, strict=True) if name in shown]
    ]  # fmt: skip
    assert said == (f"A wider terminal, or a file, also shows {', '.join(left_out)}.\n" if left_out else "")


def test_table_fits_the_terminal_and_ignores_markup():
    lines, _ = run_at_a_terminal(40, f"print_table(('NAME', 'NUMBER'), {ROWS!r})")
    assert max(map(len, lines)) <= 40
    assert any("[bold]2[/bold]" in line for line in lines)  # short cells are never folded
    assert len(lines) > 4  # the long name is folded


def test_notes_of_an_error_are_shown(capsys):
    def fail():
        error = AssemblyError("the stimuli differ.")
        error.add_note("These were arrays.")
        raise error

    assert command_line.run(fail) != 0
    assert "Error: the stimuli differ. These were arrays." in capsys.readouterr().err
