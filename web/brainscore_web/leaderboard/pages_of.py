"""Render the pages: one for the table, for each model, for each benchmark, and those that compare, explore and tell.

Templates are in ``pages/``. All of them get `root` (``''`` or ``'../'``, in front of every link), `page` (which one
this is) and `site` (`revision`, `newest`, `n_models`, `n_benchmarks`). ``index.html`` also gets `columns` (names) and
`rows` (`rank`, `name`, `slug`, `cells`), the best models as text, which are there without a script; ``model.html`` gets
`model` (`ModelEntry`), `slug` and `name`; ``benchmark.html`` gets `benchmark` (`BenchmarkEntry`), `slug`, `name` and
`node`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from brainscore_web.leaderboard.tree import top_of

if TYPE_CHECKING:
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.data_files import Board

__all__ = ["first_rows", "write_pages"]

_PAGES = Path(__file__).parent / "pages"
_SINGLE = ("index", "compare", "explore", "status")
_MOST_ROWS = 50


def write_pages(write: Callable[[str, str], None], board: Board, catalogue: Catalogue) -> None:
    """Render every page whose template is there."""
    environment = Environment(
        loader=FileSystemLoader(_PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    there = set(environment.list_templates())
    site = {
        "revision": board.revision,
        "newest": board.newest,
        "n_models": len(board.models),
        "n_benchmarks": len(board.leaves),
    }
    for name in _SINGLE:
        if f"{name}.html" in there:
            more = first_rows(board) if name == "index" else {}
            write(
                f"{name}.html", environment.get_template(f"{name}.html").render(root="", page=name, site=site, **more)
            )
    for name, contexts in (("model", _models(board)), ("benchmark", _benchmarks(board, catalogue))):
        if f"{name}.html" in there:
            template = environment.get_template(f"{name}.html")
            for context in contexts:
                write(f"{name}s/{context['slug']}.html", template.render(root="../", page=name, site=site, **context))


def first_rows(board: Board) -> dict[str, Any]:
    """Return `columns` and `rows` of the best models, by the first root that has an average."""
    top = [place for place in top_of(board.nodes) if board.nodes[place].counts and not board.nodes[place].leaf]
    if not top:
        return {"columns": [], "rows": []}
    slug_of = {entry.identifier: (entry, slug) for entry, slug in zip(board.models, board.slugs, strict=True)}
    shown = {place: dict(zip(board.columns[place].models, board.columns[place].value, strict=True)) for place in top}
    first = board.columns[top[0]]
    ranked = [each for each in zip(first.rank, first.models, strict=True) if each[0] is not None]
    rows = []
    for rank, model in sorted(ranked, key=lambda each: (each[0] or 0, each[1]))[:_MOST_ROWS]:
        entry, slug = slug_of[model]
        values = [shown[place].get(model) for place in top]
        cells = ["" if value is None else f"{value:.3f}" for value in values]
        rows.append({"rank": rank, "name": entry.name or model, "slug": slug, "cells": cells})
    return {"columns": [board.nodes[place].name for place in top], "rows": rows}


def _models(board: Board) -> Iterator[dict[str, Any]]:
    for entry, slug in zip(board.models, board.slugs, strict=True):
        yield {"model": entry, "slug": slug, "name": entry.name or entry.identifier}


def _benchmarks(board: Board, catalogue: Catalogue) -> Iterator[dict[str, Any]]:
    for place in sorted(board.leaves):
        node = board.nodes[place]
        entry = catalogue.benchmark[node.identifier]
        yield {"benchmark": entry, "slug": node.slug, "name": node.name, "node": node}
