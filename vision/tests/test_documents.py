"""Run every Python snippet of the README and of the documentation, page by page, as a reader would."""

import re
from pathlib import Path

import pytest

import brainscore_vision

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITH_SNIPPETS = [page for page in PAGES if SNIPPET.search(page.read_text())]


@pytest.fixture(autouse=True)
def registries_as_before():
    """Undo what a page registers, so that it does not reach other tests."""
    registries = (brainscore_vision.metric_registry, brainscore_vision.model_registry)
    before = [dict(registry) for registry in registries]
    yield
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_run(page):
    names = {"__name__": "__main__"}
    for number, snippet in enumerate(SNIPPET.findall(page.read_text()), start=1):
        exec(compile(snippet, f"{page.name}, snippet {number}", "exec"), names)  # noqa: S102 - our own documents


def test_pages_with_snippets_were_found():
    assert {"README.md", "first_score.md", "scores.md"} <= {page.name for page in WITH_SNIPPETS}
