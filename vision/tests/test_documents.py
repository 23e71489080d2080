"""Run every Python snippet of the README and of the documentation, page by page, as a reader would."""

import re
from pathlib import Path

import pytest

import brainscore_vision
from brainscore_core.plugin_management.index import PluginIndex, library_roots
from brainscore_core.plugin_management.registry import KINDS

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "core", "scripts", "vision")
PAGES = [*(ROOT / folder / "README.md" for folder in FOLDERS), *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGE = "page_of_the_documentation"
WITH_SNIPPETS = [page for page in PAGES if SNIPPET.search(page.read_text())]


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    """Take out what a page registers; what it loads from plugins stays, as their modules stay imported."""
    yield
    for registry in (brainscore_vision.metric_registry, brainscore_vision.model_registry):
        for identifier in [name for name, factory in registry.items() if factory.__module__ == PAGE]:
            del registry[identifier]


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_run(page):
    names = {"__name__": PAGE}
    for number, snippet in enumerate(SNIPPET.findall(page.read_text()), start=1):
        exec(compile(snippet, f"{page.name}, snippet {number}", "exec"), names)  # noqa: S102 - our own documents


def test_pages_with_snippets_were_found():
    assert {"README.md", "first_score.md", "scores.md"} <= {page.name for page in WITH_SNIPPETS}


def test_reference_shows_every_identifier_of_a_metric():
    page = (ROOT / "docs/reference/metrics.md").read_text()
    index = PluginIndex(library_roots("brainscore_vision"))
    identifiers = index.identifiers(KINDS["metric"])
    assert len(identifiers) > 40
    assert [name for name in identifiers if f"`{name}`" not in page] == []
    modules = [plugin.module for plugin in index.plugins("metrics")]
    assert [module for module in modules if f".. automodule:: {module}." not in page] == []
