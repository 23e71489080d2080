"""Write the files of the site: data, pages, downloads, and static files."""

from __future__ import annotations

import json
import pickle
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from brainscore_core.errors import ConfigurationError
from brainscore_web.leaderboard import data_files
from brainscore_web.leaderboard.data_files import Board, script
from brainscore_web.leaderboard.pairs import BLOCK, tile_file, tile_names
from brainscore_web.leaderboard.tree import Node, top_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from brainscore_core.records.store import Run
    from brainscore_core.statistics.averages import Missing
    from brainscore_web.leaderboard.catalogue import Catalogue
    from brainscore_web.leaderboard.columns import Column
    from brainscore_web.leaderboard.computing import Scratch
    from brainscore_web.leaderboard.workers import Workers

    Floats = npt.NDArray[np.float64]

# -- Format numbers and the rows of score tables as HTML ---------------------------------------------------------------
# For these 570,000 rows, macros of templates took ten times as long.

_WORDS = {
    "n": "not applicable",
    "f": "failed",
    "q": "not run yet",
    "r": "running",
    "h": "private",
    "-": "no score below",
}
_DEEPEST = 5
_MINUS, _DASH = "\u2212", "\u2013"


def score(value: float | None) -> str:
    """Return a score as text, as `BrainScore.format` in the browser; empty for None."""
    return "" if value is None else f"{value:.3f}".replace("-", _MINUS)


def interval(low: float | None, high: float | None, digits: int = 2, *, bounded: bool = False) -> str:
    """Return an interval as text, with an asterisk if it is an upper bound, or "no interval"."""
    if low is None or high is None:
        return "no interval"
    between = " to " if low < 0 or high < 0 else _DASH
    return f"{low:.{digits}f}{between}{high:.{digits}f}{'*' * bounded}".replace("-", _MINUS)


def count(value: int | None) -> str:
    """Return a count as text; empty for None."""
    return "" if value is None else f"{value:,}"


def shown_value(column: Mapping[str, Any], at: int) -> tuple[float | None, str]:
    """Return the value of a model and an empty text, or a value next to the ranks and why it has no rank."""
    value = column["value"][at]
    return (value, "") if value is not None else tuple(column["unranked"].get(str(at), (None, "")))


def rank(column: Mapping[str, Any], at: int) -> Markup:
    """Return the rank of a model with its interval; empty without a rank."""
    own, low = column["rank"][at], column["rank_low"][at]
    if own is None:
        return Markup()
    between = "" if low is None else f' <span class="quiet-text">({low}{_DASH}{column["rank_high"][at]})</span>'
    return Markup(f"{own}{between}")  # noqa: S704  # numbers only


def node_rows(
    board: Mapping[str, Any], node: int, column: Mapping[str, Any], detail: Mapping[str, Any] | None, root: str
) -> tuple[list[str], list[str]]:
    """Return the rows of one node: for each model the row in the model's table, and the row in the node's table.

    Board, column and detail are as in ``data``; an average has no detail. `root` is the prefix of all links.
    """
    models, nodes = board["models"], board["nodes"]
    parent = "" if nodes["leaf"][node] else " parent"
    badge = ' <span class="badge">simulated</span>' if nodes["simulated"][node] and nodes["leaf"][node] else ""
    link = f'<a href="{root}benchmarks/{nodes["slug"][node]}.html">{escape(nodes["name"][node])}</a>'
    has_average = nodes["leaf"][node] or nodes["counts"][node]
    average = f' data-average="{node}"' if parent and has_average else ""
    classes = f"depth-{min(nodes['depth'][node], _DEEPEST)}{parent}"
    of_node = f'<tr class="{classes}"{average}><th scope="row">{link}{badge}</th>'
    of_models, of_benchmark = [], []
    for at, value in enumerate(column["value"]):
        head = f'<th scope="row"><a href="{root}models/{models["slug"][at]}.html">{escape(models["name"][at])}</a></th>'
        beside, why = shown_value(column, at)
        if value is None and beside is not None:
            cells = f'<td class="part">{score(beside)}</td>'
            note = f'<td class="reason" colspan="5">{escape(why)}{"" if detail else " benchmarks"}, not ranked</td>'
            of_models.append(f"{of_node}{cells}{note}</tr>\n")
            of_benchmark.append(f"<tr><td></td>{head}{cells}{note}</tr>\n")
            continue
        if value is None:
            reason = escape(_reason(column["code"][at], detail, at))
            text = reason if has_average else "no average"
            of_models.append(f'{of_node}<td class="reason" colspan="6">{text}</td></tr>\n')
            of_benchmark.append(f'<tr>{head}<td class="reason">{reason}</td></tr>\n')
            continue
        above = '<span class="badge">above ceiling</span> ' if value > 1 else ""
        if column["low"][at] is None:
            why = "none" if detail is None else escape(detail["reason"][at] or "none stated")
            between = f'<td class="reason">{why}</td>'
        else:
            ends = column["low"][at], column["high"][at]
            between = f"<td>{interval(*ends, 3, bounded=column['bounded'][at] == '1')}</td>"
        cells = f"<td>{above}{score(value)}</td>{between}"
        ranked = f"<td>{rank(column, at)}</td>"
        if detail is None:
            of = f"<td>{column['n'][at]} of {column['n'][at]} benchmarks</td>"
            last = f"<td></td><td></td>{of}", of
        else:
            last = (_origin_cells(detail, at),) * 2
        of_models.append(f"{of_node}{cells}{ranked}{last[0]}</tr>\n")
        of_benchmark.append(f"<tr>{ranked}{head}{cells}<td>{column['group'][at]}</td>{last[1]}</tr>\n")
    return of_models, of_benchmark


def history_rows(board: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the rows of a model's history; entries as in ``data/models``."""
    names, rows = [escape(name) for name in board["nodes"]["name"]], []
    for entry in entries:
        created, version = escape((entry["created"] or "")[:10]), "" if entry["version"] is None else entry["version"]
        name, value = names[entry["benchmark"]], score(entry["score"]) or "none"
        rows.append(f'<tr><td>{created}</td><th scope="row">{name}</th><td>{version}</td><td>{value}</td></tr>')
    return "".join(rows)


def _origin_cells(detail: Mapping[str, Any], at: int) -> str:
    if detail["raw"][at] is None and detail["n_stimuli"][at] is None:
        stated = f'<td colspan="2" class="reason">{"private" if detail["status"][at] else "not stated"}</td>'
    else:
        stated = f"<td>{score(detail['raw'][at])}</td><td>{score(detail['ceiling'][at])}</td>"
    sizes = [
        f"{count(detail[f'n_{name}'][at])} {name}"
        for name in ("stimuli", "neuroids", "subjects")
        if detail[f"n_{name}"][at] is not None
    ]
    return f"{stated}<td>{', '.join(sizes)}</td>"


def _reason(code: str, detail: Mapping[str, Any] | None, at: int) -> str:
    message = None
    if detail is not None and code in "nfq":
        status = detail["status"][at]
        message = detail["message"][at] or detail["reason"][at] or (status if status != "scored" else None)
    word = _WORDS.get(code, "")
    return f"{word}: {message}" if message else word


# -- Render the pages from the templates in ``pages/`` -----------------------------------------------------------------

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
"""Fields of a record that the page of a model lists as provenance -> description."""


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


# -- write the files ---------------------------------------------------------------------------------------------------

Counts = dict[str, Counter[str | None]]
"""Value of `DIGESTS` -> digest -> number of records of a model."""

_STATIC = Path(__file__).parent / "static"
_SINGLE = ("index", "compare", "explore", "status")
_FOLDERS = ("columns", "zero", "left-out", "detail", "models", "benchmarks", "pairs")
_MODELS_AT_ONCE = 50
_TILES_AT_ONCE = 100
"""100 tiles of 350 nodes take 18 MB."""


@dataclass(frozen=True)
class _Site:
    """Context of the files of all nodes and models; `content` is that of ``data/board.js``."""

    folder: Path
    content: dict[str, Any]
    scratch: Scratch

    def write(self, path: str, content: str | bytes) -> None:
        (self.folder / path).write_bytes(_encoded(content) if isinstance(content, str) else content)


@lru_cache(maxsize=1)
def _site(file: Path) -> _Site:
    """Read the context, once per process."""
    site: _Site = pickle.loads(file.read_bytes())  # noqa: S301  # written by `write_site`
    return site


@dataclass(frozen=True)
class _NodeTask:
    """A node whose files are to be written; `is_top`: its column is in ``data/board.js``.

    `others` are the columns of an average if missing scores count as 0 or are left out.
    """

    site: Path
    place: int
    node: Node
    column: Column
    others: dict[Missing, Column]
    data: dict[str, Any]
    is_top: bool


@dataclass(frozen=True)
class _NodeRows:
    """Contribution of a node to files of the whole site: rows of the downloads.

    For each model with a record, `digests` are those that its page lists.
    """

    digests: list[tuple[str | None, ...] | None]
    csv: bytes
    json: bytes


@dataclass(frozen=True)
class _ModelTask:
    place: int
    data: dict[str, Any]
    digests: dict[str, dict[str | None, int]]


def write_site(
    folder: Path,
    board: Board,
    scratch: Scratch,
    catalogue: Catalogue,
    workers: Workers,
    *,
    pictures: Path | None,
    run: Run | None,
) -> None:
    """Write all files into an empty folder; the catalogue has every model and benchmark."""
    for name in (*(f"data/{kind}" for kind in _FOLDERS), "models", "benchmarks", "static"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    site = _Site(folder, data_files.board_content(board), scratch)
    file = scratch.folder / "site"
    file.write_bytes(pickle.dumps(site, pickle.HIGHEST_PROTOCOL))
    similarity = workers.submit(_write_similarity, folder, *data_files.scores_of_leaves(board))
    counts = _write_nodes(file, site, board, catalogue, workers)
    parquet = workers.submit(data_files.write_parquet, *(folder / f"data/scores.{end}" for end in ("csv", "parquet")))
    _write_models(file, board, counts, workers)
    _write_tiles(file, board, workers)
    _write_single(site, board, run, has_parquet=parquet.result())
    for static in sorted(_STATIC.glob("*.*")):
        shutil.copyfile(static, folder / "static" / static.name)
    if pictures is not None:
        for picture in sorted({name for entry in catalogue.benchmarks for name in entry.stimuli}):
            source, target = pictures / picture, folder / "stimuli" / picture
            if not source.is_file():
                raise ConfigurationError(f"The catalogue names the picture {source}, which does not exist.")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    site.write(".nojekyll", "")  # else GitHub's pages leave out some files
    similarity.result()
    _site.cache_clear()


def _write_single(site: _Site, board: Board, run: Run | None, *, has_parquet: bool) -> None:
    site.write("data/board.js", script("board", site.content))
    site.write("data/board.json", _json(site.content))
    status = data_files.status_content(board, run)
    site.write("data/status.js", script("status", status))
    site.write("data/dates.js", script("dates", data_files.dates_content(board)))
    site.write("datapackage.json", _json(data_files.data_package(site.content["made"], has_parquet=has_parquet)))
    more: dict[str, dict[str, object]] = {
        "status": {"data": status},
        "index": {"has_parquet": has_parquet, "scored": data_files.scored_counts(status)},
    }
    pages = Pages(site.content)
    for page in _SINGLE:
        site.write(f"{page}.html", pages.single(page, **more.get(page, {})))


def _write_similarity(folder: Path, places: list[int], scores: Floats) -> None:
    content = script("similarity", data_files.similarity_content(places, scores))
    (folder / "data/similarity.js").write_bytes(_encoded(content))


def _write_nodes(file: Path, site: _Site, board: Board, catalogue: Catalogue, workers: Workers) -> list[Counts]:
    top = set(top_of(board.nodes))
    tasks = (
        _NodeTask(
            file,
            place,
            node,
            board.columns[place],
            board.averages.get(place, {}),
            data_files.benchmark_content(board, place, catalogue.benchmark),
            place in top,
        )
        for place, node in enumerate(board.nodes)
    )
    counts: list[Counts] = [{what: Counter() for what in DIGESTS.values()} for _ in board.models]
    with ExitStack() as held:
        csv, json_ = (held.enter_context((site.folder / f"data/scores.{end}").open("wb")) for end in ("csv", "json"))
        csv.write(_encoded(data_files.table_csv([[*data_files.TABLE]])))
        separator = b"[\n"
        for rows in workers.map(_write_node, tasks):
            csv.write(rows.csv)
            if rows.json:
                json_.write(separator + rows.json)
                separator = b",\n"
            for of_model, digests in zip(counts, rows.digests, strict=True):
                for what, digest in zip(of_model, digests or (), strict=False):
                    of_model[what][digest] += 1
        json_.write(b"[\n\n]\n" if separator == b"[\n" else b"\n]\n")
    return counts


def _write_node(task: _NodeTask) -> _NodeRows:
    site, node = _site(task.site), task.node
    names, slug = site.content["models"]["id"], node.slug
    column = data_files.aligned(task.column, names, leaf=node.leaf)
    detail = None
    if not task.is_top:
        site.write(f"data/columns/{slug}.js", script(f"columns/{slug}", column))
    for rule, other in task.others.items():
        name = f"{rule.replace(' ', '-')}/{slug}"
        site.write(f"data/{name}.js", script(name, data_files.aligned(other, names, leaf=False)))
    csv = json_ = ""
    if node.leaf:
        detail = data_files.aligned_details(names, task.column.models, site.scratch.details(node.identifier))
        site.write(f"data/detail/{slug}.js", script(f"detail/{slug}", detail))
        table = data_files.table_rows(node, column, names)
        csv, json_ = data_files.table_csv(table), data_files.table_json(table)
    pages = Pages(site.content)
    rows = pages.rows(task.place, column, detail)
    site.write(f"data/benchmarks/{slug}.js", script(f"benchmarks/{slug}", task.data))
    site.write(f"benchmarks/{slug}.html", pages.benchmark(task.place, task.data, column, rows))
    site.scratch.put_rows(task.place, [_encoded(row) for row in rows.of_models])
    return _NodeRows(rows.digests, _encoded(csv), _encoded(json_))


def _write_models(file: Path, board: Board, counts: Sequence[Counts], workers: Workers) -> None:
    def task(place: int) -> _ModelTask:
        digests = {what: dict(count.most_common()) for what, count in counts[place].items() if count}
        return _ModelTask(place, data_files.model_content(board, place), digests)

    def shares() -> Iterator[tuple[Path, list[_ModelTask]]]:
        for start in range(0, len(board.models), _MODELS_AT_ONCE):
            yield file, [task(place) for place in range(start, min(start + _MODELS_AT_ONCE, len(board.models)))]

    for _ in workers.map(_write_model_pages, shares()):
        pass


def _write_model_pages(share: tuple[Path, list[_ModelTask]]) -> None:
    file, tasks = share
    site = _site(file)
    pages, slugs = Pages(site.content), site.content["models"]["slug"]
    places = range(tasks[0].place, tasks[-1].place + 1)
    of_nodes = [site.scratch.rows(node, places) for node in range(len(site.content["nodes"]["id"]))]
    for task, rows in zip(tasks, zip(*of_nodes, strict=True), strict=True):
        slug = slugs[task.place]
        site.write(f"data/models/{slug}.js", script(f"models/{slug}", task.data))
        page = pages.model(task.place, task.data, b"".join(rows).decode(), pages.tiles(task.place), task.digests)
        site.write(f"models/{slug}.html", page)


def _write_tiles(file: Path, board: Board, workers: Workers) -> None:
    n_tiles = len(tile_names(len(board.models)))
    coded = {
        place: node.identifier
        for place, (node, column) in enumerate(zip(board.nodes, board.columns, strict=True))
        if column.models
    }
    shares = (
        (file, range(start, min(start + _TILES_AT_ONCE, n_tiles)), coded) for start in range(0, n_tiles, _TILES_AT_ONCE)
    )
    for _ in workers.map(_write_some_tiles, shares):
        pass


def _write_some_tiles(share: tuple[Path, range, dict[int, str]]) -> None:
    file, numbers, coded = share
    site = _site(file)
    codes = np.array([site.scratch.codes(identifier, numbers) for identifier in coded.values()], dtype=np.uint16)
    names = tile_names(len(site.scratch.position))[numbers.start : numbers.stop]
    for at, name in enumerate(names):
        of_tile = codes.reshape(len(coded), len(names), BLOCK, BLOCK)[:, at]
        site.write(f"data/pairs/{name}.js", script(f"pairs/{name}", tile_file(list(coded), of_tile)))


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
