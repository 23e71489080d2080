"""Decide which files of a plugin can change its scores: all except unused tests, descriptions and packaging.

A model may read a table from ``tests/``, so a file is ignored only if no relevant file can name it; if the source
locates files by unwritten names, none is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.plugin_management.source import SourceFile

_DESCRIPTIONS = re.compile(r"(.*/)?([^/]*\.(md|rst|bib)|LICENSE|\.DS_Store)|metadata\.ya?ml", re.DOTALL)
_TESTS = re.compile(r"test.*\.py|conftest\.py")
_FOLDERS = frozenset({"test", "tests", "test_resources", "data_packaging"})

# `Path(__file__).parent / "a" / "b.csv"` and `Path(__file__).with_name("b.csv")` name files to read.
_WRITTEN_OUT = re.compile(
    rb"Path\(__file__\)(?:\.(?:resolve|absolute)\(\))?"
    rb"(?:\.with_name\(\s*[\"'][\w.-]+[\"']\s*\)|(?:\.parent)+\s*(?:/\s*[\"'][\w./-]+[\"']\s*)+)"
    rb"(?!\s*(?:/|\.(?!read_text|read_bytes|open\b)))"
)
# Ways to reach files or modules whose names are not written out.
_DOORS = re.compile(
    rb"__(?:file|path|spec|loader|cached|import|dict)__"
    rb"|\b(?:importlib|runpy|pkgutil|zipimport|subprocess)\b"
    rb"|\b(?:i?glob|rglob|iterdir|listdir|scandir|getcwd|popen|getsource(?:file|lines)?|getfile|currentframe)\b"
    rb"|\bos\.(?:walk|system)\b|\bsys\.(?:modules|path)\b|\bPath\.cwd\b|\binspect\.stack\b"
    rb"|(?<![\w.])(?:exec|eval|compile|globals|vars)\s*\("
    rb"|\bfind_plugin_directory\b"
    rb"|(?<!\.)\.\.[/\"']"
)

# Ways to comments, docstrings and layout of a source.
_READS_SOURCE = re.compile(rb"__doc__|\b(?:getsource|getdoc|getcomments|tokenize|docopt)|\.pyw?[\"']")

_SIGNS = (
    b"__file__", b"__path__", b"__spec__", b"__loader__", b"__cached__", b"__import__", b"__dict__", b"importlib",
    b"runpy", b"pkgutil", b"zipimport", b"subprocess", b"glob", b"iterdir", b"listdir", b"scandir", b"cwd", b"popen",
    b"getsource", b"getfile", b"currentframe", b"os.walk", b"os.system", b"sys.modules", b"sys.path", b"inspect.stack",
    b"exec", b"eval", b"compile", b"vars", b"find_plugin_directory", b"../", b'.."', b"..'",
)  # fmt: skip


@dataclass(frozen=True)
class Reach:
    """Which files of one plugin count; others may import modules of it, such as ``'tests.helper'``."""

    files: Mapping[str, SourceFile]
    imported: frozenset[str] = frozenset()

    def changes_scores(self, within: str) -> bool:
        """Return whether a file, possibly deleted, can change a score."""
        if not _may_be_aside(within) or self._counted is None:
            return True
        if within in self.files:
            return within in self._counted
        modules, texts = self._all_modules, [self.files[path].content or b"" for path in self._counted]
        return _is_named(within, modules, b"\0".join(texts))

    @cached_property
    def reads_source(self) -> bool:
        """Whether comments, docstrings and layout of the plugin's Python files may change a score."""
        return any(
            _READS_SOURCE.search(file.content or b"") is not None
            for path, file in self.files.items()
            if _is_source(path, file) and self.changes_scores(path)
        )

    @cached_property
    def _counted(self) -> frozenset[str] | None:
        """Files that count; None: all."""
        modules = {name.partition(".")[0] for name in self.imported}
        aside = {path for path in self.files if _may_be_aside(path)}
        stems = sorted({path.split("/")[0].removesuffix(".py") for path in aside})
        # Most files contain no such word and need no parsing.
        may_import = re.compile(rb"\b(?:%b)\b" % b"|".join(re.escape(os.fsencode(stem)) for stem in stems))
        content = b""
        waiting = [path for path in self.files if path not in aside]
        while waiting:
            for path in waiting:
                aside.discard(path)
                file = self.files[path]
                text = file.content or b""
                if _is_source(path, file):
                    if file.content is None or _finds_any(text):
                        return None
                    modules |= _modules(path, file) if stems and may_import.search(text) else set()
                content += b"\0" + text
            waiting = [path for path in aside if _is_named(path, modules, content)]
        return frozenset(self.files.keys() - aside)

    @cached_property
    def _all_modules(self) -> set[str]:
        sources = [(path, self.files[path]) for path in self._counted or ()]
        modules = [_modules(path, file) for path, file in sources if _is_source(path, file)]
        return {name.partition(".")[0] for name in self.imported}.union(*modules)


def _is_source(path: str, file: SourceFile) -> bool:
    return path.endswith(".py") and file.form == "file"


def _finds_any(content: bytes) -> bool:
    """Return whether a source reaches files or modules without naming them."""
    # Searching bytes is a hundred times faster than the pattern, which few files need.
    if not any(sign in content for sign in _SIGNS):
        return False
    rest = _WRITTEN_OUT.sub(lambda match: b" ".join(re.findall(rb"[\"'][\w./-]+[\"']", match[0])), content)
    return _DOORS.search(rest) is not None


def _may_be_aside(within: str) -> bool:
    """Return whether a file's name marks it as irrelevant for scores."""
    path = PurePosixPath(within)
    return (
        _DESCRIPTIONS.fullmatch(within) is not None
        or bool(_TESTS.fullmatch(path.parts[0]))
        or path.parts[0] in _FOLDERS
    )


def _is_named(within: str, modules: Iterable[str], content: bytes) -> bool:
    """Return whether a file, or its top folder, is imported or named."""
    path = PurePosixPath(within)
    first = path.parts[0]
    if first.removesuffix(".py") in modules or path.name.encode("utf-8", "surrogateescape") in content:
        return True
    return len(path.parts) > 1 and re.search(rb"[\"'/]%b[\"'/]" % re.escape(first.encode()), content) is not None


def _modules(path: str, file: SourceFile) -> set[str]:
    """Return the first part, inside the plugin, of every module that a file may import from it."""
    parents = path.split("/")[:-1]
    names: set[str] = set()
    for statement in file.facts.imports:
        if statement.level == 0:  # possibly the plugin itself by its whole name; otherwise harmless
            names |= set(statement.module.split("."))
        else:
            folder = parents[: len(parents) - statement.level + 1] if statement.level <= len(parents) + 1 else []
            names |= {*folder[:1], *statement.module.split(".")}
    return names
