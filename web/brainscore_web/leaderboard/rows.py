"""Write the rows of tables of scores as HTML, and numbers as all pages write them.

A site of 741 models and 289 benchmarks has 570,000 of these rows. Each is one formatted text here; as macros of the
templates they took ten times as long. Texts of others are escaped, as the templates do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

__all__ = ["count", "history_rows", "interval", "node_rows", "rank", "score"]

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
    """Return a score as text, as `BrainScore.format` writes it; empty without one."""
    return "" if value is None else f"{value:.3f}".replace("-", _MINUS)


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """Return an interval as text."""
    if low is None or high is None:
        return "no interval"
    between = " to " if low < 0 or high < 0 else _DASH
    return f"{low:.{digits}f}{between}{high:.{digits}f}".replace("-", _MINUS)


def count(value: int | None) -> str:
    """Return a number of things as text; empty if it is not known."""
    return "" if value is None else f"{value:,}"


def rank(column: Mapping[str, Any], at: int) -> Markup:
    """Return the rank of a model with its interval; empty without one."""
    own, low = column["rank"][at], column["rank_low"][at]
    if own is None:
        return Markup()
    between = "" if low is None else f' <span class="quiet-text">({low}{_DASH}{column["rank_high"][at]})</span>'
    return Markup(f"{own}{between}")  # noqa: S704  # of numbers alone


def node_rows(
    board: Mapping[str, Any], node: int, column: Mapping[str, Any], detail: Mapping[str, Any] | None, root: str
) -> tuple[list[str], list[str]]:
    """Return the rows that tables have of one node, each a row for each model.

    Parameters
    ----------
    board : dict
        As in ``data/board.js``.
    node : int
        Place of the node.
    column, detail : dict
        As in ``data/columns`` and ``data/detail``; an average has no detail.
    root : str
        What every link of this site starts with.

    Returns
    -------
    (list of str, list of str)
        Rows of the tables of models, and rows of the table of the node.
    """
    models, nodes = board["models"], board["nodes"]
    of_node, has_average = _head_of_node(nodes, node, root), nodes["leaf"][node] or nodes["counts"][node]
    of_models, of_benchmark = [], []
    for at, value in enumerate(column["value"]):
        head = f'<th scope="row"><a href="{root}models/{models["slug"][at]}.html">{escape(models["name"][at])}</a></th>'
        if value is None:
            reason = escape(_reason(column["code"][at], detail, at))
            told = reason if has_average else "these have no average"
            of_models.append(f'{of_node}<td colspan="6" class="reason">{told}</td></tr>\n')
            of_benchmark.append(f'<tr>{head}<td class="reason">{reason}</td></tr>\n')
            continue
        above = '<span class="badge">above ceiling</span> ' if value > 1 else ""
        cells = f"<td>{above}{score(value)}</td>{_interval_cell(column, detail, at)}"
        ranked = f"<td>{rank(column, at)}</td>"
        if detail is None:
            n, missing = column["n"][at], column["missing"][at]
            of = f"<td>{n - missing} of {n} benchmarks"
            note = ' <span class="quiet-text">(missing ones count as 0)</span>' if missing else ""
            ends = f"<td></td><td></td>{of}{note}</td>", f"{of}</td>"
        else:
            ends = (_origin_cells(detail, at),) * 2
        of_models.append(f"{of_node}{cells}{ranked}{ends[0]}</tr>\n")
        of_benchmark.append(f"<tr>{ranked}{head}{cells}<td>{column['group'][at]}</td>{ends[1]}</tr>\n")
    return of_models, of_benchmark


def history_rows(board: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the rows that tell when each score of a model was made; entries as in ``data/models``."""
    names, told = [escape(name) for name in board["nodes"]["name"]], []
    for entry in entries:
        created, version = escape((entry["created"] or "")[:10]), "" if entry["version"] is None else entry["version"]
        name, value = names[entry["benchmark"]], score(entry["score"]) or "none"
        told.append(f'<tr><td>{created}</td><th scope="row">{name}</th><td>{version}</td><td>{value}</td></tr>')
    return "".join(told)


def _head_of_node(nodes: Mapping[str, Sequence[Any]], node: int, root: str) -> str:
    parent = "" if nodes["leaf"][node] else " parent"
    badge = ' <span class="badge">simulated</span>' if nodes["simulated"][node] and nodes["leaf"][node] else ""
    link = f'<a href="{root}benchmarks/{nodes["slug"][node]}.html">{escape(nodes["name"][node])}</a>'
    return f'<tr class="depth-{min(nodes["depth"][node], _DEEPEST)}{parent}"><th scope="row">{link}{badge}</th>'


def _interval_cell(column: Mapping[str, Any], detail: Mapping[str, Any] | None, at: int) -> str:
    if column["low"][at] is not None:
        return f"<td>{interval(column['low'][at], column['high'][at], 3)}</td>"
    return f'<td class="reason">{"none" if detail is None else escape(detail["reason"][at] or "none stated")}</td>'


def _origin_cells(detail: Mapping[str, Any], at: int) -> str:
    """Raw score, ceiling and the size of the measurement."""
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
    """Say why there is no score, with what the record says."""
    told = None
    if detail is not None and code in "nfq":
        status = detail["status"][at]
        told = detail["message"][at] or detail["reason"][at] or (status if status != "scored" else None)
    word = _WORDS.get(code, "")
    return f"{word}: {told}" if told else word
