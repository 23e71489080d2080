"""Test that a command's outcome becomes one message and the right exit code."""

import argparse

import pytest

from brainscore_core import command_line
from brainscore_core.errors import AssemblyError, DownloadError, RequirementsError, UnknownIdentifierError


def parser_of(command):
    parser = argparse.ArgumentParser()
    command_line.add_traceback(parser)
    parser.set_defaults(command=command)
    return parser


def raising(error):
    def command(options):
        raise error

    return parser_of(command)


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
def test_errors_become_codes_without_traceback(error, code, capsys):
    assert command_line.run(raising(error), []) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert str(error) in captured.err


def test_traceback_is_shown_on_request(capsys):
    assert command_line.run(raising(ZeroDivisionError("by zero")), ["--traceback"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_the_code_of_the_command_is_returned():
    assert command_line.run(parser_of(lambda options: 7), []) == 7


def test_wrong_usage_is_left_to_argparse():
    with pytest.raises(SystemExit) as caught:
        command_line.run(parser_of(lambda options: 0), ["--nonsense"])
    assert caught.value.code == command_line.WRONG_USAGE
