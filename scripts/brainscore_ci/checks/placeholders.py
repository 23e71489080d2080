"""Check that no template text remains: merging would publish it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

__all__ = ["PLACEHOLDERS", "RULES"]

PLACEHOLDERS: Mapping[str, str] = {
    "Title of the publication": "write the title of the publication, or cite the source of the plugin",
    "Author, First": "name the authors",
    "Name of the journal": "name the journal, or where else it appeared",
    "name@example.org": "say whom to ask: an e-mail address or a GitHub name",
    'bucket="..."': "upload the packaged files, and name the bucket they are in",
}
"""Template text -> what to write instead."""


def check_placeholders(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Refuse placeholder texts."""
    for path, file in source.files.items():
        if not path.endswith((".py", ".yml", ".yaml", ".bib")) or file.content is None:
            continue
        for number, line in enumerate(file.text.splitlines(), 1):
            for text, fix in PLACEHOLDERS.items():
                if text in line:
                    yield source.finding("placeholder", f"{text!r} is a placeholder", fix, path, number)


RULES = (check_placeholders,)
