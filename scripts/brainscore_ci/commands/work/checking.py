"""Check plugins without importing them, and print the problems."""

from __future__ import annotations

from pathlib import Path

from brainscore_ci.checks import findings, handed_over, runner
from brainscore_core.command_line import FAILED, show
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_path


def check(
    names: list[str],
    *,
    changed: bool,
    base: str | None,
    library: str | None,
    github: bool,
    as_json: bool,
    fix: bool,
    results: Path | None,
) -> int:
    """See the command."""
    if bool(names) == changed:
        raise ConfigurationError(
            "Say which plugins to check: their names, such as brainscore check mymodel2024, or --changed for all that "
            "differ from main."
        )
    if github and as_json:
        raise ConfigurationError("--github and --json exclude each other: leave one out.")
    place = runner.workplace(Path.cwd(), library)
    if changed:
        checked = runner.check_changed(place, base or "main", fix=fix)
    else:
        checked = runner.check_named(place, names, base, fix=fix)
    form = findings.as_json if as_json else findings.as_text
    lines = [form(checked.findings, checked.plugins)]
    if not as_json:
        lines = [*(f"fixed {findings.printable(file)}" for file in checked.fixed), *lines]
    if github:
        lines += findings.github_annotations(checked.findings)
    show("\n".join(lines))
    if results is not None:
        with atomic_path(results / "check.json") as temporary:
            temporary.write_text(handed_over.as_results(checked.findings, checked.new).to_json(), encoding="utf-8")
    return FAILED if checked.has_errors else 0
