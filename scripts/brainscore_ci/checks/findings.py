"""Represent findings of the static checks: as values, text, JSON and GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from brainscore_ci.reporting.annotations import annotation
from brainscore_core.errors import count

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
    """Return workflow commands that show the first errors and hints beside the code of a pull request."""
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
