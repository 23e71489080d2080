"""Test the pages of a user whose first scores are on simulated benchmarks, which count in no average."""

import dataclasses

import pytest

from brainscore_web.leaderboard.catalogue import BenchmarkEntry
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.site import read_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory, build_site):
    made = MadeUp.of("5x4", seed=2)
    simulated = [dataclasses.replace(each, simulated=True) for each in made.catalogue.benchmarks]
    unscored = [BenchmarkEntry(identifier=f"Later2030.{region}-pls", parent=region) for region in ("V1", "IT")]
    catalogue = dataclasses.replace(made.catalogue, benchmarks=(*simulated, *unscored))
    return build_site(tmp_path_factory.mktemp("first scores"), made, catalogue)


def scored(folder):
    """Return the benchmarks on which at least one model has a score."""
    board, status = (read_data(folder / f"data/{name}.js") for name in ("board", "status"))
    leaves = [name for name, leaf in zip(board["nodes"]["name"], board["nodes"]["leaf"], strict=True) if leaf]
    return [name for name, codes in zip(leaves, status["codes"], strict=True) if "s" in codes]


def test_simulated_columns_come_first_and_are_explained(open_page, folder):
    page = open_page((folder / "index.html").as_uri(), viewport={"width": 1440, "height": 900})
    page.wait_for_function("() => document.querySelectorAll('#rows [role=gridcell].score').length > 8")
    names = page.locator("#head th.score .name").all_inner_texts()
    assert [each.replace("\n", "") for each in names[: 1 + len(scored(folder))]] == ["Simulated", *scored(folder)]
    assert "simulated neurons" in page.locator(".intro").inner_text()
    best = page.locator("#rows [role=row]").first
    assert best.locator(".rank .value").inner_text() == "1"
    assert best.locator(".score .value").count() >= 1


def test_figures_show_simulated_scores(open_page, folder):
    slug = read_data(folder / "data/board.js")["models"]["slug"][0]
    page = open_page((folder / f"models/{slug}.html").as_uri())
    page.wait_for_function("() => document.querySelectorAll('#chart-distribution svg circle').length > 0")
    page = open_page((folder / "explore.html").as_uri())
    page.wait_for_function("() => /n = [1-9]/.test(document.getElementById('correlation').textContent)")
    chosen = [page.locator(f"#{name} option:checked").inner_text().strip() for name in ("x", "y", "score")]
    assert set(chosen) <= set(scored(folder))
    assert chosen[0] != chosen[1]
