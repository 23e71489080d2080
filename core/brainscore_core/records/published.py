"""Read the scores of a published board, from its address or its folder, as records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from brainscore_core.errors import ConfigurationError, CorruptFileError
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import t_quantile
from brainscore_core.transfer.http import fetch_url
from brainscore_core.untrusted import parse, read_start

__all__ = ["is_address", "read_board"]

_MOST_BYTES = 512 * 2**20  # 741 models on 289 benchmarks take 50 MB
_STATUS = {"scored": "scored", "not applicable": "not_applicable", "failed": "failed:Published"}


def is_address(place: object) -> bool:
    """Return whether a place is an address on the web, not a folder."""
    return str(place).startswith(("https://", "http://"))


def read_board(board: str, folder: Path) -> tuple[dict[str, Any], list[ScoreRecord]]:  # JSON
    """Return a board's models, nodes and origin (``board.json``), and a record of each score; downloads go to `folder`.

    A published score has the error that its interval implies, but neither influences nor provenance, so errors of
    averages are upper bounds.

    Raises
    ------
    ConfigurationError
        If there is no board.
    CorruptFileError
        If it is not a board of this version.
    """
    content, rows = (_load(board, name, folder) for name in ("board.json", "scores.json"))
    try:
        versions = dict(zip(content["nodes"]["id"], content["nodes"]["version"], strict=True))
        return content, [_record(row, versions) for row in rows if row["status"] in _STATUS]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise CorruptFileError(f"{board} is not a leaderboard that this version can read ({error!r}).") from None


def _load(board: str, name: str, folder: Path) -> Any:  # JSON
    if is_address(board):
        base = board if board.endswith(".html") else f"{board.rstrip('/')}/"
        file = fetch_url(urljoin(base, f"data/{name}"), folder / name, sha256=None)
    else:
        file = Path(board) / "data" / name
    try:
        return parse(read_start(file, _MOST_BYTES), f"{name} of {board}", _MOST_BYTES)
    except OSError as error:
        raise ConfigurationError(
            f"{board} is not a leaderboard: {file} cannot be read ({error.strerror}). Pass the address of a "
            "leaderboard, or a folder built by: brainscore leaderboard build"
        ) from None


def _record(row: Mapping[str, Any], versions: Mapping[str, int | None]) -> ScoreRecord:
    has_error = row["low"] is not None and not row["bounded"]
    return ScoreRecord.without_score(
        _STATUS[row["status"]],
        "published without a message" if row["score"] is None else "",
        model=row["model"],
        benchmark=row["benchmark"],
        benchmark_version=versions[row["benchmark"]],
        score=row["score"],
        interval=(row["low"], row["high"]) if has_error else None,
        error=(row["high"] - row["low"]) / 2 / t_quantile(float("inf")) if has_error else None,
        simulated=row["simulated"],
        machine="unknown",
        versions={},
        source_revision=None,
    )
