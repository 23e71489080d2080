"""Represent a checked plugin, and findings about it: as values, text, JSON, GitHub annotations, and for the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from brainscore_ci.planning.areas import PluginName, is_test_file
from brainscore_ci.planning.metadata import read_values
from brainscore_ci.reporting.results import MOST_FINDINGS, AddedPlugin, CheckResult, FoundProblem, Results
from brainscore_ci.reporting.step import annotation
from brainscore_core.errors import count
from brainscore_core.plugin_management.source import PluginSource, SourceFile, read_files
from brainscore_core.untrusted import MOST_LINE, MOST_MESSAGE, MOST_NAME, MOST_PATH

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

    from brainscore_core.plugin_management.index import Plugin

Severity = Literal["error", "hint"]
_MOST_ANNOTATIONS = 10  # GitHub shows at most this many per kind and step
_COMMANDS: Mapping[Severity, Literal["error", "notice"]] = {"error": "error", "hint": "notice"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding of a static check."""

    path: str  # file or folder, with ``/``; relative to its repository, if any
    line: int
    rule: str  # such as ``'literal-registration'``
    message: str
    fix: str
    severity: Severity = "error"  # errors prevent a merge; hints may be intended

    @property
    def is_error(self) -> bool:
        """Whether it prevents a merge."""
        return self.severity == "error"

    def __str__(self) -> str:
        return printable(f"{self.path}:{self.line}: {self.rule}: {self.message}: {self.fix}")


def printable(text: str) -> str:
    """Return a text on one line without control characters, which could act on a terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings by place and drop duplicates."""
    return sorted(dict.fromkeys(findings), key=lambda one: (one.path, one.line, one.rule, one.message))


def as_text(findings: Sequence[Finding], checked: Sequence[str]) -> str:
    """Return errors, then hints, each on one line, and a summary."""
    errors = [str(finding) for finding in in_order(findings) if finding.is_error]
    hints = [str(finding) for finding in in_order(findings) if not finding.is_error]
    blocks = [
        "\n".join([title, *(f"  {line}" for line in lines)])
        for title, lines in (("Errors", errors), ("Suggestions", hints))
        if lines
    ]
    plugins = count(len(checked), "plugin") if len(checked) > 5 else printable(", ".join(checked)) or "0 plugins"
    counts = [count(len(lines), one) for one, lines in (("error", errors), ("suggestion", hints))]
    return "\n\n".join([*blocks, f"{', '.join(counts)} in {plugins}"])


def as_json(findings: Sequence[Finding], checked: Sequence[str]) -> str:
    """Return findings and their numbers as JSON."""
    ordered = in_order(findings)
    errors = sum(finding.is_error for finding in ordered)
    content = {
        "errors": errors,
        "hints": len(ordered) - errors,
        "checked": list(checked),
        "findings": [asdict(finding) for finding in ordered],
    }
    return json.dumps(content, indent=1)


def github_annotations(findings: Sequence[Finding]) -> list[str]:
    """Return workflow commands that show the first errors and hints next to the code of a pull request."""
    lines = []
    for severity, command in _COMMANDS.items():
        group = [finding for finding in in_order(findings) if finding.severity == severity]
        for finding in group[:_MOST_ANNOTATIONS]:
            message = f"{finding.message}: {finding.fix}"
            lines.append(annotation(command, message, file=finding.path, line=finding.line, title=finding.rule))
        left_out = len(group) - _MOST_ANNOTATIONS
        if left_out > 0:
            lines.append(f"::notice title=check::{left_out} more {severity}s are in the log of this step")
    return lines


# -- The checked plugin and its surroundings ---------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckedPlugin(PluginSource):
    """One plugin on disk."""

    plugin: Plugin
    location: str  # its folder for people, relative to its repository, if any
    # Its Python files before the change; empty if it is new, None if unknown
    earlier: Mapping[str, bytes] | None = None

    @property
    def folder(self) -> str:
        """Folder of its kind, such as ``'models'``."""
        return self.plugin.root.folder

    def where(self, file: str = "") -> str:
        """Return the path of a file for people."""
        return f"{self.location}/{file}" if file else self.location

    def finding(
        self, rule: str, message: str, fix: str, file: str = "", line: int = 1, *, hint: bool = False
    ) -> Finding:
        """Return a finding in a file of this plugin, or in its folder."""
        severity: Severity = "hint" if hint else "error"
        return Finding(path=self.where(file), line=line, rule=rule, message=message, fix=fix, severity=severity)

    @cached_property
    def python(self) -> Mapping[str, SourceFile]:
        """Parsable files, without tests and scripts that make data or install something."""
        aside = {path for path in self.files if "data_packaging" in PurePosixPath(path).parts[:-1]} | {"setup.py"}
        return {
            path: file
            for path, file in self.files.items()
            if file.tree is not None and path not in aside and not is_test_file(path)
        }


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Facts about all plugins and the library."""

    # Kind -> identifier -> places that register it, such as ``models/pixels/__init__.py:9``
    identifiers: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    computing: frozenset[str] = frozenset()  # kinds with computed identifiers, which are not all known
    # Normalised name of each distribution that the libraries require -> versions
    dependencies: Mapping[str, SpecifierSet] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()  # parents of benchmarks in the libraries' ``hierarchy.toml``
    # Name of a folder -> the plugins of that name that are checked together, in the order of their findings
    together: Mapping[str, Sequence[CheckedPlugin]] = field(default_factory=dict)

    def known(self, kind: str) -> Mapping[str, tuple[str, ...]]:
        """Return the identifiers of a kind and the places that register them."""
        return self.identifiers.get(kind, {})


def read_checked_plugin(plugin: Plugin, location: str, earlier: Mapping[str, bytes] | None = None) -> CheckedPlugin:
    """Read a plugin; see `CheckedPlugin`."""
    return CheckedPlugin(plugin.module, read_files(plugin.directory), plugin, location, earlier)


# -- Findings for the report, with the metadata of new plugins ---------------------------------------------------------


def as_results(findings: Sequence[Finding], new: Sequence[AddedPlugin] = ()) -> Results:
    """Return findings as results; all are counted, the first 500 kept, errors before hints."""
    n_errors = sum(finding.is_error for finding in findings)
    first = sorted(findings, key=lambda found: not found.is_error)[:MOST_FINDINGS]
    problems = [
        FoundProblem(
            path=finding.path[:MOST_PATH],
            line=finding.line,
            rule=finding.rule[:MOST_NAME],
            message=finding.message[:MOST_MESSAGE],
            fix=finding.fix[:MOST_MESSAGE],
            is_error=finding.is_error,
        )
        for finding in first
    ]
    check = CheckResult(n_errors=n_errors, n_hints=len(findings) - n_errors, findings=tuple(problems), new=tuple(new))
    return Results(check=check)


def describe_new(source: CheckedPlugin) -> AddedPlugin | None:
    """Return access, licence and citation of a new plugin; None if it is not new."""
    if source.earlier != {}:
        return None
    files = (source.files.get(name) for name in ("metadata.yml", "metadata.yaml"))
    values = next((read_values(file.content) for file in files if file and file.content), {})
    doi = f"doi.org/{values['doi']}" if values.get("doi") else ""
    return AddedPlugin(
        plugin=PluginName(source.folder, source.plugin.name),
        access=_text(values.get("access")),
        licence=_text(values.get("licence")),
        citation=_text(", ".join(str(part) for part in (values.get("citation"), doi) if part)),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)[:MOST_LINE]
