"""Fixtures: a temporary library with plugin folders on disk, and wheels to install."""

import base64
import hashlib
import importlib
import itertools
import os
import sys
import time
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

_numbers = itertools.count()


def make_wheel(folder: Path, name: str, version: str = "1.0", requires: tuple[str, ...] = ()) -> Path:
    """Write a wheel with one module, whose VERSION is the wheel's version."""
    folder.mkdir(exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    header = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: more\n"
    files = {
        # A wheel named like the library gives its module another name, which would otherwise hide the real library.
        f"{module if name != 'brainscore-core' else 'of_' + module}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": header + "".join(f"Requires-Dist: {required}\n" for required in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {file: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()) for file, text in files.items()}
    record = "".join(f"{file},sha256={digests[file].decode().rstrip('=')},{len(files[file])}\n" for file in files)
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            wheel.writestr(file, text)
    return path


class Library:
    """A package with the five registries and the plugin folders."""

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
        """Write a plugin; LIBRARY in ``source`` is replaced with the name of the package."""
        directory = self.path / folder / plugin
        directory.mkdir(parents=True, exist_ok=True)
        registry = registry or {"data": "data_registry"}.get(folder, f"{folder[:-1]}_registry")
        header = f"from LIBRARY import {registry}\n"
        (directory / "__init__.py").write_text((header + dedent(source)).replace("LIBRARY", self.name))
        for name, content in files.items():
            (directory / name.replace("__", ".")).write_text(dedent(content).replace("LIBRARY", self.name))
        return directory

    def settle(self) -> None:
        """Set the modification time of every plugin to one hour ago."""
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
