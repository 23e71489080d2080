"""Say what a static check found: as a value, as text, and as annotations of GitHub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from brainscore_ci.reporting.annotations import annotation

__all__ = ["Finding", "Severity", "as_json", "as_text", "github_annotations", "in_order", "printable"]

Severity = Literal["error", "hint"]
_MOST_ANNOTATIONS = 10  # GitHub shows no more of one kind from one step
_COMMANDS: Mapping[Severity, Literal["error", "notice"]] = {"error": "error", "hint": "notice"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a static check found.

    Attributes
    ----------
    path : str
        File or folder, relative to the repository where it lies in one, with ``/``.
    line : int
        Counted from 1.
    rule : str
        Name of the rule, such as ``'literal-registration'``.
    message : str
        What was found, and what is expected.
    fix : str
        What to do about it.
    severity : {'error', 'hint'}
        Hints may be meant so; errors keep a plugin from being merged.
    """

    path: str
    line: int
    rule: str
    message: str
    fix: str
    severity: Severity = "error"

    @property
    def is_error(self) -> bool:
        """Whether it keeps a plugin from being merged."""
        return self.severity == "error"

    def __str__(self) -> str:
        return printable(f"{self.path}:{self.line}: {self.rule}: {self.message}: {self.fix}")


def printable(text: str) -> str:
    """Return a text on one line without control characters, which could talk to a terminal or a runner."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings sorted by place, each once."""
    return sorted(dict.fromkeys(findings), key=lambda one: (one.path, one.line, one.rule, one.message))


def as_text(findings: Sequence[Finding], checked: Sequence[str]) -> str:
    """Return errors, then hints, each on one line, and a summary.

    Parameters
    ----------
    checked : sequence of str
        Names of the plugins that were looked at.
    """
    errors = [str(finding) for finding in in_order(findings) if finding.is_error]
    hints = [str(finding) for finding in in_order(findings) if not finding.is_error]
    blocks = [
        "\n".join([title, *(f"  {line}" for line in lines)])
        for title, lines in (("Errors", errors), ("Hints (nothing has to be done about them)", hints))
        if lines
    ]
    plugins = f"{len(checked)} plugins" if len(checked) > 5 else printable(", ".join(checked)) or "0 plugins"
    counts = [f"{len(lines)} {one}{'s' * (len(lines) != 1)}" for one, lines in (("error", errors), ("hint", hints))]
    return "\n\n".join([*blocks, f"{', '.join(counts)} in {plugins}"])


def as_json(findings: Sequence[Finding], checked: Sequence[str]) -> str:
    """Return the same as JSON: ``errors``, ``hints`` (numbers), ``checked``, ``findings``."""
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
    """Return workflow commands that show findings beside the code in a pull request.

    At most ten errors and ten hints, because GitHub shows no more; another command tells how many are left out.
    """
    lines = []
    for severity, command in _COMMANDS.items():
        chosen = [finding for finding in in_order(findings) if finding.severity == severity]
        for finding in chosen[:_MOST_ANNOTATIONS]:
            message = f"{finding.message}: {finding.fix}"
            lines.append(annotation(command, message, file=finding.path, line=finding.line, title=finding.rule))
        left_out = len(chosen) - _MOST_ANNOTATIONS
        if left_out > 0:
            lines.append(f"::notice title=check::{left_out} more {severity}s are in the log of this step")
    return lines
