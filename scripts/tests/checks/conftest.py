"""Provide plugins written as files, and the findings of the static checks on them."""

import textwrap

import pytest

from brainscore_ci.checks import runner
from brainscore_ci.checks.files import check_defined_names
from brainscore_ci.checks.findings import Surroundings, read_checked_plugin
from brainscore_ci.checks.runner import check_source
from brainscore_core.plugin_management.index import Plugin, PluginIndex, PluginRoot

SOUND = {
    "__init__.py": """
        from brainscore_vision import benchmark_registry

        from .benchmark import make

        benchmark_registry["Author2024.IT-pls"] = make
        """,
    "benchmark.py": '''
        from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark

        BIBTEX = """@article{author2024,
          title={On {Brackets}},
          author={Author, A.},
          journal={J},
          year={2024}
        }"""


        def make():
            return NeuralBenchmark(
                identifier="Author2024.IT-pls", version=1, parent="IT", bibtex=BIBTEX, ceiling_func=float
            )
        ''',
    "test.py": """
        import pytest


        def test_it():
            assert 1 + 1 == pytest.approx(2)
        """,
}


@pytest.fixture(autouse=True)
def fragments(request, monkeypatch):
    """Let test plugins omit imports, except where the rule that every name is defined is tested."""
    if "defined_names" not in request.fixturenames:
        monkeypatch.setattr(runner, "RULES", tuple(rule for rule in runner.RULES if rule is not check_defined_names))


@pytest.fixture
def defined_names():
    """Turn on the rule that every name is defined."""


class Bench:
    """Writes plugins and checks them."""

    def __init__(self, path):
        self.path = path
        self.surroundings = Surroundings()

    def write(self, folder="benchmarks", name="author2024", **changes):
        """Write a sound benchmark with some files changed; `benchmark__py=None` leaves one out."""
        directory = self.path / folder / name
        files = dict(SOUND)
        for key, text in changes.items():
            files[key.replace("__", ".") if not key.startswith("__") else "__init__.py"] = text
        for file, text in files.items():
            if text is None:
                continue
            target = directory / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        return directory

    def source(self, folder="benchmarks", name="author2024", earlier=None):
        root = PluginRoot(folder=folder, path=self.path / folder, package=f"brainscore_vision.{folder}")
        found = [plugin for plugin in PluginIndex([root]).plugins(folder) if plugin.name == name]
        return read_checked_plugin(found[0] if found else Plugin(name=name, root=root), f"{folder}/{name}", earlier)

    def check(self, folder="benchmarks", name="author2024", earlier=None):
        return check_source(self.source(folder, name, earlier), self.surroundings)

    def errors(self, **changes):
        """Return (rule, path within the folder, line) of the errors of a benchmark with changed files."""
        self.write(**changes)
        return self.places(finding for finding in self.check() if finding.is_error)

    def hints(self, **changes):
        """Return the same for the hints."""
        self.write(**changes)
        return self.places(finding for finding in self.check() if not finding.is_error)

    @staticmethod
    def places(findings):
        return [(one.rule, one.path.removeprefix("benchmarks/author2024/"), one.line) for one in findings]


@pytest.fixture
def bench(tmp_path):
    """Return a folder to write plugins to."""
    return Bench(tmp_path)
