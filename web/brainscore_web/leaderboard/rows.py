"""Format numbers and the rows of score tables as HTML.

For these 570,000 rows, macros of templates took ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup, escape

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
    """Return the value of a model and an empty text, or a value beside the ranks and why it has no rank."""
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
    """Return the rows of one node: for each model the row of the model's table, and that of the node's table.

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
