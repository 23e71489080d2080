"""Render the pages from the templates in ``pages/``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from brainscore_web.leaderboard.rows import count, history_rows, interval, node_rows, rank, score, shown_value

_PAGES = Path(__file__).parent / "pages"


@dataclass(frozen=True)
class Rows:
    """The rows that tables have of one node, as HTML.

    Attributes
    ----------
    of_models
        For each model the row of its page.
    scores, without
        All rows of the node's own page: models with a score, those without rank last, and models without.
    digests
        For each model with a record the fields of `DIGESTS`.
    """

    of_models: list[str]
    scores: str
    without: str
    digests: list[tuple[str | None, ...] | None]


DIGESTS = {
    "weights": "weights",
    "model_revision": "plugin of the model",
    "environment": "environment",
    "library": "library",
}
"""Fields of a record that the page of a model lists as provenance -> in words."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.globals |= {function.__name__: function for function in (score, interval, count, shown_value)}
    return environment


class Pages:
    """The pages of one site, from the content of ``data/board.js``."""

    def __init__(self, board: Mapping[str, Any]) -> None:
        self.board = board

    def tiles(self, place: int) -> list[dict[str, Any]]:
        """Return the top averages of a model: ``node``, ``value`` and ``detail``, its rank or why it has none."""
        columns = {node: self.board["columns"][str(node)] for node in self.board["top"]}
        tiles = []
        for node, column in columns.items():
            value, why = shown_value(column, place)
            if not self.board["nodes"]["leaf"][node] and value is not None:
                detail = f"{why}, not ranked" if why else Markup("rank {}").format(rank(column, place))
                tiles.append({"node": node, "value": value, "detail": detail})
        return tiles

    def single(self, name: str, **variables: object) -> str:
        """Return a page that exists once, such as ``'compare'``."""
        return self._render(name, root="", **variables)

    def rows(self, node: int, column: Mapping[str, Any], detail: Mapping[str, Any] | None) -> Rows:
        """Return the rows of the node at a place, from its ``data/columns`` and, for a benchmark, ``data/detail``."""
        value = column["value"]
        places = range(len(value))
        of_models, of_benchmark = node_rows(self.board, node, column, detail, "../")
        ranked = sorted((place for place in places if value[place] is not None), key=lambda place: -value[place])
        beside = sorted(map(int, column["unranked"]), key=lambda place: -column["unranked"][str(place)][0])
        has_record = [detail is not None and detail["status"][place] is not None for place in places]
        return Rows(
            of_models,
            "".join(of_benchmark[place] for place in (*ranked, *beside)),
            "".join(of_benchmark[place] for place in places if shown_value(column, place)[0] is None),
            [tuple((detail or {})[name][place] for name in DIGESTS) if has_record[place] else None for place in places],
        )

    def benchmark(self, node: int, data: Mapping[str, Any], column: Mapping[str, Any], rows: Rows) -> str:
        """Return the page of a benchmark or an average."""
        tables = {"scores": Markup(rows.scores), "without": Markup(rows.without)}  # noqa: S704  # escaped by `rows`
        return self._render("benchmark", root="../", index=node, data=data, column=column, **tables)

    def model(
        self,
        place: int,
        data: Mapping[str, Any],
        rows: str,
        tiles: Sequence[Mapping[str, object]],
        digests: Mapping[str, Mapping[str | None, int]],
    ) -> str:
        """Return the page of a model from its ``data/models`` and its rows on all nodes.

        `digests` counts records: value of `DIGESTS` -> digest -> number.
        """
        earlier = [entry for entry in data["history"] if "replaced" in entry]
        now = [entry for entry in data["history"] if "replaced" not in entry]
        tables = {"rows": Markup(rows), "now": Markup(history_rows(self.board, now))}  # noqa: S704  # escaped
        history = {"earlier": earlier, "n_now": len(now)}
        return self._render(
            "model", root="../", index=place, data=data, tiles=tiles, digests=digests, **tables, **history
        )

    def _render(self, page: str, **variables: object) -> str:
        return _environment().get_template(f"{page}.html").render(page=page, board=self.board, **variables)
