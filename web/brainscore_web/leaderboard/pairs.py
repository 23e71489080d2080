"""Keep the error of the difference of each pair of models in two bytes, so that a page compares any models.

What a page needs to compare models is the error of each difference and what it is worth, on every benchmark and every
average. Sketches of influences say both, but they are random bytes, three kilobytes for each model and benchmark. Two
bytes for each pair are a fourth of that for 741 models, and nothing is computed in the browser; compressed they are
less.

An error is rounded by at most 0.7 %, a third of what the sketches of records leave uncertain. Degrees of freedom are
rounded down.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint16]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brainscore_core.statistics.joint_errors import JointErrors

    Floats = npt.NDArray[np.float64]
    Places = npt.NDArray[np.intp]

__all__ = [
    "BLOCK",
    "FREEDOMS",
    "LARGEST",
    "SMALLEST",
    "Codes",
    "TileFile",
    "codes_in",
    "decode",
    "encode",
    "n_blocks",
    "tile_file",
    "tile_names",
    "tiles",
]

BLOCK = 16
"""A file holds the pairs of so many models with as many others on all nodes: of two models a page loads one, and what a
new record changes are the files of one block. `static/compare.js` has the same number."""

SMALLEST, LARGEST = 1e-5, 10.0
"""Between which errors are told apart; what lies outside is rounded to these, but 0 stays 0."""

FREEDOMS = (
    *(1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14),
    *(16, 18, 20, 24, 28, 32, 40, 50, 64, 90, 128, 200, 300, 500, 1000, float("inf")),
)
"""Degrees of freedom that are told apart. `static/compare.js` has the same table."""

_NO_ERROR, _ZERO, _FIRST, _LAST = 0, 1, 2, 1023
_FREEDOM_BITS, _NOT_MATCHED = 10, 1 << 15
_LEVEL = 1
"""Of compression: higher ones take twice the time for a fortieth less."""


class TileFile(TypedDict):
    """What the page gets of the pairs of two blocks of models: places of nodes, and base64 of zlib of their codes."""

    nodes: list[int]
    codes: str


def encode(joint: JointErrors) -> Codes:
    """Return the code of each pair of models.

    Parameters
    ----------
    joint : JointErrors
        Of all models of the board on one benchmark or average; one without a score has no error.

    Returns
    -------
    ndarray of uint16, shape (n_models, n_models)
        Symmetric. 0 where a pair has no error; else bits 0 to 9 hold the error, bits 10 to 14 the place in `FREEDOMS`,
        bit 15 whether not all is known about what both scores share: what is not known is taken as independent, and the
        error is usually too large.
    """
    errors, freedom = joint.pair_errors, joint.pair_freedom
    steps = _LAST - _FIRST
    with np.errstate(invalid="ignore", divide="ignore"):
        on_scale = np.log(errors / SMALLEST) / np.log(LARGEST / SMALLEST) * steps
    known = np.isfinite(errors)
    placed = np.where(errors == 0, _ZERO, np.clip(np.rint(np.where(known & (errors > 0), on_scale, 0)), 0, steps) + 2)
    level = np.searchsorted(np.array(FREEDOMS), np.where(np.isnan(freedom), np.inf, freedom), side="right") - 1
    codes = placed.astype(np.uint16) | (np.maximum(level, 0).astype(np.uint16) << _FREEDOM_BITS)
    codes |= np.where(joint.is_matched, 0, _NOT_MATCHED).astype(np.uint16)
    found: Codes = np.where(known, codes, _NO_ERROR).astype(np.uint16)
    return found


def decode(codes: Codes) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return the errors, degrees of freedom and whether pairs are matched, each in the shape of `codes`.

    Returns
    -------
    errors : ndarray
        Standard errors of differences; NaN where there is none.
    freedom : ndarray
        One of `FREEDOMS`; NaN where there is no error.
    is_matched : ndarray of bool
        False where what both scores share is not known, or there is no error.
    """
    places = (codes & (2**_FREEDOM_BITS - 1)).astype(np.int64)
    errors = SMALLEST * (LARGEST / SMALLEST) ** ((places - _FIRST) / (_LAST - _FIRST))
    errors = np.where(places == _ZERO, 0.0, np.where(codes == _NO_ERROR, np.nan, errors))
    freedom = np.array(FREEDOMS)[(codes >> _FREEDOM_BITS) & 31]
    return errors, np.where(codes == _NO_ERROR, np.nan, freedom), (codes != _NO_ERROR) & (codes < _NOT_MATCHED)


def n_blocks(n_models: int) -> int:
    """Return how many blocks the models of a board are."""
    return -(-n_models // BLOCK)


def tile_names(n_models: int) -> list[str]:
    """Return the names of all tiles, ``'<block>-<block>'``, the lower one first; in the order of `tiles`."""
    first, second = np.triu_indices(n_blocks(n_models))
    return [f"{a}-{b}" for a, b in zip(first.tolist(), second.tolist(), strict=True)]


def tiles(codes: Codes, places: Places, n_models: int) -> Codes:
    """Return the codes of all pairs of blocks of models of the board.

    Parameters
    ----------
    codes : ndarray of uint16, shape (n_of_node, n_of_node)
    places : ndarray of int, shape (n_of_node,)
        Of these models on the board.
    n_models : int
        Of the board.

    Returns
    -------
    ndarray of uint16, shape (n_tiles, BLOCK, BLOCK)
        Rows are models of the first block, columns those of the second. 0 for a model that has none.
    """
    n = n_blocks(n_models)
    whole = np.zeros((n * BLOCK, n * BLOCK), dtype=np.uint16)
    whole[np.ix_(places, places)] = codes
    found: Codes = whole.reshape(n, BLOCK, n, BLOCK).transpose(0, 2, 1, 3)[np.triu_indices(n)]
    return found


def tile_file(nodes: Sequence[int], codes: Codes) -> TileFile:
    """Return what ``data/pairs/<tile>.js`` holds.

    Parameters
    ----------
    nodes : sequence of int
        Places of nodes of the board.
    codes : ndarray of uint16, shape (n_nodes, BLOCK, BLOCK)
        Of this tile on each; nodes on which all are 0 are left out.
    """
    there = np.flatnonzero(codes.any(axis=(1, 2)))
    content = zlib.compress(codes[there].astype("<u2").tobytes(), _LEVEL)
    return {"nodes": [nodes[place] for place in there.tolist()], "codes": base64.b64encode(content).decode("ascii")}


def codes_in(file: TileFile) -> dict[int, Codes]:
    """Return the codes of each node that a tile holds, each of shape (BLOCK, BLOCK)."""
    content = zlib.decompress(base64.b64decode(file["codes"]))
    return dict(zip(file["nodes"], np.frombuffer(content, "<u2").reshape(-1, BLOCK, BLOCK), strict=True))
