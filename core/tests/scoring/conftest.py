"""A library for the processes of pairs, made from the text of its program."""

import dataclasses
import os
import sys
import textwrap

import pytest

from brainscore_core.records.record import ScoreRecord

# The common start of these programs reads the options and defines how to write a record and report an event.
JUDGE = """
import argparse, json, os, pathlib, re, signal, subprocess, sys, time
from urllib.parse import quote

here = pathlib.Path(__file__).parent

def note(line, file=here / "log"):
    with open(file, "a") as stream:
        stream.write(f"{line}\\n")

if sys.argv[1] == "prepare":
    note(f"prepare {sys.argv[3]}, offline: {os.environ.get('BRAINSCORE_OFFLINE')}")
    sys.exit()
parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["judge"])
parser.add_argument("--benchmark", nargs="+", required=True)
for option in ("--model", "--records", "--events", "--isolation"):
    parser.add_argument(option, required=True)
options = parser.parse_args()
template = json.loads((here / "record.json").read_text())  # importing takes long

def write(benchmark, **changes):
    target = pathlib.Path(options.records, quote(benchmark, safe=" "), quote(options.model, safe=" ") + ".json")
    target.parent.mkdir(parents=True, exist_ok=True)
    record = {**template, "model": options.model, "benchmark": benchmark, **changes}
    target.with_suffix(".new").write_text(json.dumps(record))
    target.with_suffix(".new").rename(target)
    return target

def tell(step, benchmark):
    note(json.dumps([step, benchmark]), options.events)
"""


@pytest.fixture
def install_library(tmp_path, monkeypatch):
    """Return a function that makes a package with a program and a record of score .5, importable in other processes."""

    def install(program, name="lively"):
        package = tmp_path / "lib" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text(JUDGE + textwrap.dedent(program))
        template = dataclasses.replace(ScoreRecord.without_score("scored", model="m", benchmark="b"), score=0.5)
        template.write(package / "record.json")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package.parent), *filter(None, sys.path)]))
        for variable in [variable for variable in os.environ if variable.startswith(("AWS_", "GITHUB_"))]:
            monkeypatch.delenv(variable)
        return package

    return install
