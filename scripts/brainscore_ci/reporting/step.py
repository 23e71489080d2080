"""Write to GitHub from a step of a workflow: log commands, its summary and its outputs; escape text for its log."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Plan
    from brainscore_ci.reporting.results import Results
    from brainscore_ci.reporting.verdict import Verdict


def annotation(
    level: Literal["error", "warning", "notice"],
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    title: str = "",
) -> str:
    """Return the log line that makes GitHub show a message, at a line of a file if given."""
    properties = {"file": file, "line": None if line is None else str(line), "title": title[:200] or None}
    parameters = ",".join(
        f"{key}={_data(value).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
        if value is not None
    )
    return f"::{level}{' ' if parameters else ''}{parameters}::{_data(message[:2000])}"


def annotate(plan: Plan, results: Results, verdict: Verdict, *, most: int = 10) -> list[str]:
    """Return annotations for the first problems, and the number of others, as GitHub shows ten per step."""
    planned = {task.plugin for task in plan.tests}
    annotations = [annotation("error", refusal.reason, file=refusal.path, title="refused") for refusal in plan.refused]
    for result in results.plugins:
        for failure in result.failures if result.plugin in planned else ():
            message = failure.message + (f"\nFix: {failure.fix}" if failure.fix else "")
            file = failure.file or "/"
            is_inside = not file.startswith(("/", "\\")) and ".." not in re.split(r"[/\\]", file)
            place = {"file": file, "line": failure.line} if is_inside else {}
            annotations.append(annotation("error", message, title=f"{result.plugin}: {failure.test}", **place))  # type: ignore[arg-type] # file and line
    annotations += [annotation("error", problem) for problem in verdict.problems]
    if len(annotations) > most:
        more = f"{len(annotations) - most + 1} more problems; the summary of this run lists them."
        annotations = [*annotations[: most - 1], annotation("error", more)]
    return annotations


def for_log(text: str) -> str:
    """Escape text for a GitHub log, where lines such as ``::error::`` and ``##[group]`` are commands."""
    text = "\n".join(text.splitlines()) + ("\n" if text.endswith("\n") else "")
    text = re.sub(r"^(\s*):(?=:)", "\\1:\u2060", text, flags=re.MULTILINE)
    return text.replace("##[", "##\u2060[")


def _data(text: str) -> str:
    text = "".join(character for character in text if character.isprintable() or character in "\r\n")
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# -- files that GitHub names in the environment of a step --------------------------------------------------------------


def append_summary(text: str) -> None:
    """Append Markdown to the summary of the step, if any."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(text)


def write_outputs(values: Mapping[str, str], file: Path) -> None:
    """Append outputs to the file in ``GITHUB_OUTPUT``, each on one line (`ValueError`)."""
    for name, value in values.items():
        if not re.fullmatch(r"[a-z_]+", name) or re.search(r"[\x00-\x1f\x7f\x85\u2028\u2029]", value):
            raise ValueError(f"The output {name!r} holds line breaks or other control characters: {value[:100]!r}.")
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{name}={value}\n" for name, value in values.items())
