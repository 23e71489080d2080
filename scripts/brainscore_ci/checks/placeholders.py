"""Check that no template text remains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

_CITATION = "the citation", "cite the publication, or the source of the plugin"
_BUCKET = "the bucket", "upload the packaged files, and name the bucket and folder they are in"
PLACEHOLDERS: Mapping[str, tuple[str, str]] = {
    "Title of the publication": _CITATION,
    "Author, First": _CITATION,
    "Name of the journal": _CITATION,
    "Your Paper Title": _CITATION,
    'bucket="..."': _BUCKET,
    '/..."': _BUCKET,
    "/...'": _BUCKET,
    "a guess: write how wide": ("the width of the stimuli", "write VISUAL_DEGREES as it was in the experiment"),
}
"""Text of a template or tutorial -> its meaning and its replacement."""


def check_placeholders(source: CheckedPlugin, _: Surroundings) -> Iterator[Finding]:
    """Refuse placeholder texts, with one finding for all that one answer replaces."""
    places: dict[tuple[str, str], dict[str, int]] = {}
    for path, file in source.files.items():
        if not path.endswith((".py", ".yml", ".yaml", ".bib")) or file.content is None:
            continue
        for number, line in enumerate(file.text.splitlines(), 1):
            for meaning in (meaning for text, meaning in PLACEHOLDERS.items() if text in line):
                places.setdefault(meaning, {}).setdefault(path, number)
    for (name, fix), lines in places.items():
        (path, number), *others = lines.items()
        also = "".join(f", also in {other}:{line}" for other, line in others)
        yield source.finding("placeholder", f"{name} is a placeholder{also}", fix, path, number)


RULES = (check_placeholders,)
