"""A library that the processes of pairs run, made of the text of its program."""

import dataclasses
import os
import sys
import textwrap

import pytest

from brainscore_core.records.record import ScoreRecord


@pytest.fixture
def install_library(tmp_path, monkeypatch):
    """Return a function that makes the package ``lively`` importable for other processes, beside a record of .5."""

    def install(program):
        package = tmp_path / "lib/lively"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text(textwrap.dedent(program))
        template = dataclasses.replace(ScoreRecord.without_score("scored", model="", benchmark=""), score=0.5)
        template.write(package / "record.json")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package.parent), *filter(None, sys.path)]))
        for name in [name for name in os.environ if name.startswith(("AWS_", "GITHUB_"))]:
            monkeypatch.delenv(name)
        return package

    return install
