"""Look at the built site, in docs/_build or $BRAINSCORE_SITE: what is on its pages, what a browser makes of them."""

import itertools
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

DOCS = Path(__file__).parents[1]
SITE = Path(os.environ.get("BRAINSCORE_SITE", DOCS / "_build"))
sys.path[:0] = [str(DOCS), str(DOCS / "_ext"), str(DOCS / "tests")]
LOADS = {
    "script": "src",
    "img": "src",
    "link": "href",
    "source": "src",
    "iframe": "src",
}
FIGURES = """() => [...document.querySelectorAll("figure.drawn")].map(figure => [
  [...figure.querySelectorAll("img")].filter(image => image.offsetParent).length,
  figure.querySelector("figcaption").offsetParent !== null,
])"""
LONG_LINES = """() => [...document.querySelectorAll("div[class*=highlight-] pre")]
  .filter(block => block.scrollWidth > block.clientWidth + 1).map(block => block.textContent.slice(0, 80))"""

pytestmark = pytest.mark.skipif(
    not SITE.is_dir(), reason=f"build the site first: nox -s docs ({SITE} is not there)"
)


class Tags(HTMLParser):
    """Collect all tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def pages():
    return sorted(SITE.rglob("*.html"))


@pytest.fixture(scope="module")
def tags():
    return {
        page.relative_to(SITE).as_posix(): Tags(page.read_text(encoding="utf-8")).found
        for page in pages()
    }


def test_no_page_loads_anything_from_elsewhere(tags):
    assert len(tags) > 80
    loaded = {
        (page, attrs.get(LOADS[tag]))
        for page, found in tags.items()
        for tag, attrs in found
        if tag in LOADS
    }
    assert [
        each for each in loaded if each[1] and re.match(r"(https?:)?//", each[1])
    ] == []
    styles = "".join(
        file.read_text(encoding="utf-8") for file in (SITE / "_static").rglob("*.css")
    )
    assert re.findall(r"(?:@import\s|url\()[\"']?https?:[^)\"']*", styles) == []


def test_every_picture_says_what_is_to_be_seen_and_every_figure_has_a_caption(tags):
    drawn = [
        attrs
        for found in tags.values()
        for tag, attrs in found
        if tag == "img" and "_images" in attrs["src"]
    ]
    n_drawn = 2 * len(list(DOCS.glob("figures/[a-z]*.py")))
    n_taken = len(list(DOCS.glob("_static/*/*.webp")))
    names = {attrs["src"].rpartition("/")[2] for attrs in drawn}
    n_run = sum(
        page.read_text().count("image: {alt:") for page in DOCS.glob("gallery/*.md")
    )
    assert len(names) == n_drawn + n_taken + n_run
    assert [attrs["src"] for attrs in drawn if len(attrs.get("alt", "")) < 40] == []
    for page in pages():
        for figure in re.findall(
            r"<figure.*?</figure>", page.read_text(encoding="utf-8"), re.DOTALL
        ):
            assert re.search(r'class="caption-text">.{20}', figure, re.DOTALL), page


def test_the_page_of_models_has_a_line_for_every_row_of_a_table():
    from facts import models

    lines = [line for line in models.table().splitlines() if line.startswith("| `")]
    page = (SITE / "reference/models.html").read_text(encoding="utf-8")
    written = page.partition('id="the-published-names"')[2].partition(
        'id="tables-of-models"'
    )[0]
    assert len(lines) > 680
    assert (
        written.count("<tr") - written.count("<thead") == len(lines) + 6
    )  # plugins, listed first


def test_formulas_are_written_as_mathml(tags):
    assert sum(tag == "math" for tag, _ in tags["explanation/scores.html"]) >= 5
    sources = [
        attrs["src"] for found in tags.values() for _, attrs in found if "src" in attrs
    ]
    assert not any("mathjax" in source.lower() for source in sources)


def test_navigation_is_by_kind_of_page(tags):
    text = (SITE / "index.html").read_text(encoding="utf-8")
    bar = text.partition("bd-navbar-elements")[2].partition("</ul>")[0]
    kinds = ["tutorials", "gallery", "how-to", "explanation", "reference"]
    assert re.findall(r'href="([a-z-]+)/index\.html"', bar) == kinds


def test_front_page_has_three_doors_and_a_score_with_its_interval(tags):
    text = (SITE / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"sd-card-title[^>]*>\s*([^<]+?)\s*<", text) == [
        "I have data",
        "I have a model",
        "I review",
    ]
    assert "0.63, from 0.58 to 0.69" in text


def test_every_module_of_the_reference_has_a_table_of_what_is_in_it():
    modules = [*(SITE / "reference/api").glob("*.html")]
    assert len(modules) > 60
    bare = [
        page.stem
        for page in modules
        if 'class="autosummary' not in page.read_text(encoding="utf-8")
    ]
    # Packages whose names are those of their modules.
    assert set(bare) <= {
        "brainscore_core.supported_data_standards.brainio.conventions",
        "brainscore_core.validation",
        "brainscore_vision.benchmark_helpers",
        "brainscore_vision.metric_helpers.arrays",
        "brainscore_vision.model_helpers.brain_transformation.layer_atlas",
    }


def test_the_way_of_a_pull_request_is_drawn_from_the_workflows():
    from figures import pull_request

    jobs = pull_request.measure()
    for workflow, needs in jobs.items():
        assert set(needs) == set(
            yaml.safe_load((pull_request.WORKFLOWS / f"{workflow}.yml").read_text())[
                "jobs"
            ]
        )
    assert set(pull_request.SAID) <= set(jobs["plugins"]) | set(jobs["score"])


@pytest.mark.parametrize(
    ("formula", "parts"),
    [
        (r"r^2 / \rho", ["<msup>", "&#x003C1;"]),
        (r"\frac{\mathrm{Var(true)}}{\mathrm{Var(total)}}", ["<mfrac>"]),
        (r"a &= b \\ c &= d", ["<mtable", "<mtr>"]),
    ],
)
def test_mathml(formula, parts):
    from formulas import mathml

    assert all(part in mathml(formula, display=True) for part in parts)
    assert 'display="inline"' in mathml(formula, display=False)


def test_a_formula_that_cannot_be_read_is_named():
    from formulas import mathml
    from sphinx.errors import ExtensionError

    with pytest.raises(ExtensionError, match=r"\\rhoo / 2"):
        mathml(r"\rhoo / 2", display=True)


@pytest.fixture(scope="module")
def look():
    look = pytest.importorskip("look")
    if look.find_chromium() is None:
        pytest.skip("needs Chromium: apt install chromium")
    with look.browser(SITE) as (chromium, address):
        yield lambda *page, **how: look.open_page(chromium, address, *page, **how)


def test_nothing_is_cut_off_or_fetched_in_a_browser(look):
    import look as looking

    wrong = {}
    for page in looking.PAGES:
        tab, wrong[page] = look(page, width=390)
        for theme, width in itertools.product(("light", "dark"), looking.WIDTHS):
            tab.emulate_media(color_scheme=theme)
            tab.set_viewport_size({"width": width, "height": 900})
            tab.wait_for_function(
                f"document.documentElement.dataset.theme == '{theme}'"
            )
            cut = [(width, theme, box) for box in tab.evaluate(looking.CUT_OFF)]
            wrong[page].extend(cut)
            shown = tab.evaluate(FIGURES)
            assert shown == [[1, True]] * len(shown), (
                "of each figure one picture, and the caption"
            )
            if width >= 820:
                assert tab.evaluate(LONG_LINES) == [], page
        tab.close()
    assert {page: found for page, found in wrong.items() if found} == {}


def test_front_page_fits_one_screen(look):
    tab, _ = look("index", width=1440)
    script = "() => [...document.querySelectorAll('.sd-card')].map(card => card.getBoundingClientRect().bottom)"
    bottom = max(tab.evaluate(script))
    assert bottom <= 900


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("explained_variance", "explained_variance"),
        ("ceiling", "explanation/ceilings.html"),
        ("install", "how-to/install.html"),
    ],
)
def test_search_finds_a_function_and_first_the_page_about_it(look, words, first):
    tab, _ = look("search", width=1440)
    tab.goto(f"{tab.url}?q={words}")
    tab.wait_for_function(
        "!document.querySelector('.search-summary, #search-results h2').textContent.includes('...')"
    )
    assert first in tab.get_attribute("#search-results li a", "href")


def test_nothing_keeps_people_out(look):
    import look as looking

    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    for number, page in enumerate(looking.PAGES):
        width, theme = ((390, "dark"), (1440, "light"))[number % 2]
        tab, _ = look(page, width=width, theme=theme)
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        found = axe.run(tab, options=options).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], page
        tab.close()


def test_names_in_docstrings_are_links_and_the_sidebar_lists_no_modules(tags):
    page = "reference/api/brainscore_core.statistics.averages.html"
    links = {attrs.get("href", "") for tag, attrs in tags[page] if tag == "a"}
    assert "#brainscore_core.statistics.averages.average_tree" in links
    text = (SITE / page).read_text(encoding="utf-8")
    sidebar = text.partition("bd-sidebar-primary")[2].partition("bd-main")[0]
    assert "metrics.html" in sidebar
    assert "brainscore_core.records" not in sidebar
