"""Convert findings for the report, with the metadata of new plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.metadata import read_values
from brainscore_ci.reporting.results import MOST_FINDINGS, AddedPlugin, CheckResult, FoundProblem, Results
from brainscore_core.untrusted import MOST_LINE, MOST_MESSAGE, MOST_NAME, MOST_PATH

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin


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
