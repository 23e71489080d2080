"""Give tests a library of their own with a tree of plugins on disk."""

import importlib
import itertools
import os
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

_numbers = itertools.count()


class Library:
    """A package with the five registries and folders for plugins."""

    def __init__(self, folder: Path) -> None:
        self.name = f"library{next(_numbers)}"
        self.path = folder / self.name
        registries = "\n".join(
            f"{kind}_registry = {{}}" for kind in ("data", "stimulus_set", "metric", "benchmark", "model")
        )
        self.path.mkdir()
        (self.path / "__init__.py").write_text(registries)
        for kind in ("data", "metrics", "benchmarks", "models"):
            (self.path / kind).mkdir()
            (self.path / kind / "__init__.py").write_text("")

    @property
    def module(self):
        return importlib.import_module(self.name)

    def add(self, folder: str, plugin: str, source: str, *, registry: str | None = None, **files: str) -> Path:
        """Write a plugin; in ``source``, LIBRARY stands for the name of the package."""
        directory = self.path / folder / plugin
        directory.mkdir(parents=True, exist_ok=True)
        registry = registry or {"data": "data_registry"}.get(folder, f"{folder[:-1]}_registry")
        header = f"from LIBRARY import {registry}\n"
        (directory / "__init__.py").write_text((header + dedent(source)).replace("LIBRARY", self.name))
        for name, content in files.items():
            (directory / name.replace("__", ".")).write_text(dedent(content).replace("LIBRARY", self.name))
        return directory

    def settle(self) -> None:
        """Make every plugin look as if it had been written an hour ago."""
        hour_ago = time.time() - 3600
        for file in self.path.glob("*/*/__init__.py"):
            os.utime(file, (hour_ago, hour_ago))


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    made = Library(tmp_path)
    yield made
    for name in [name for name in sys.modules if name.partition(".")[0] == made.name]:
        del sys.modules[name]
