"""Check that no template text remains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.checks.plugin import CheckedPlugin, Surroundings

QUESTIONS: Mapping[str, str] = {
    "access": "<public or private>",
    "licence": "<SPDX expression, such as CC-BY-4.0 or MIT>",
    "contact": "<e-mail address, or GitHub name with @>",
    "citation": "<Author, First (2024). Title of the publication. Name of the journal>.",
}
"""Key of ``metadata.yml`` -> what stands there until somebody replaces it."""

_CITATION = "the citation", "cite the publication, or the source of the plugin"
_LICENCE = "the licence", "write its SPDX expression, such as CC-BY-4.0, MIT or LicenseRef-<name>"
_CONTACT = "the contact", "write an e-mail address, or a GitHub name such as '@octocat'"
_ACCESS = "the access", "write public or private"
_UPLOAD = (
    "what an upload knows (bucket, access, contact)",
    "upload the packaged files with --to and the data plugin's folder, or write all three",
)
PLACEHOLDERS: Mapping[str, tuple[str, str]] = {
    "Title of the publication": _CITATION,
    "Author, First": _CITATION,
    "Name of the journal": _CITATION,
    "Your Paper Title": _CITATION,
    QUESTIONS["licence"]: _LICENCE,
    QUESTIONS["contact"]: _CONTACT,
    QUESTIONS["access"]: _ACCESS,
    'bucket="..."': _UPLOAD,
    '/..."': _UPLOAD,
    "/...'": _UPLOAD,
    "a guess: write how wide": ("the width of the stimuli", "write VISUAL_DEGREES as it was in the experiment"),
}
"""Text of a template or tutorial -> its meaning and its replacement."""


def check_placeholders(source: CheckedPlugin, surroundings: Surroundings) -> Iterator[Finding]:
    """Refuse placeholder texts, with one finding for all that one answer replaces.

    Plugins of one name, such as data and their benchmark, share their facts: the first of them has the findings.
    """
    together = surroundings.together.get(source.plugin.name, (source,))
    if source is not together[0]:
        return
    places: dict[tuple[str, str], dict[str, tuple[CheckedPlugin, str, int]]] = {}
    for plugin in together:
        for path, file in plugin.files.items():
            if not path.endswith((".py", ".yml", ".yaml", ".bib")) or file.content is None:
                continue
            where = path if plugin is source else plugin.where(path)
            for number, line in enumerate(file.text.splitlines(), 1):
                for meaning in (meaning for text, meaning in PLACEHOLDERS.items() if text in line):
                    places.setdefault(meaning, {}).setdefault(where, (plugin, path, number))
    if _UPLOAD in places:
        places[_UPLOAD] |= places.pop(_ACCESS, {}) | places.pop(_CONTACT, {})
    for (name, fix), found in places.items():
        (_, (plugin, path, number)), *others = found.items()
        also = "".join(f", also in {where}:{line}" for where, (_, _, line) in others)
        yield plugin.finding("placeholder", f"{name} is a placeholder{also}", fix, path, number)


RULES = (check_placeholders,)
