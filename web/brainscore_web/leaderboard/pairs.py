"""Encode the error of the difference of each pair of models in two bytes, so that pages can compare any models.

For 741 models, this is a fourth of the size of the sketches of influences. Errors are rounded by at most 0.7 %, a
third of the uncertainty of the sketches; degrees of freedom are rounded down.
"""

# Why files of pairs
#
# Problem. The site is static, and a reader may compare any of 741 models on any of hundreds of benchmarks and averages.
# The error of a difference depends on both models, since errors on the same stimuli cancel: it cannot be computed from
# the two errors of the table. The whole has 274,170 pairs for each node.
#
# Sources. `brainscore_core.statistics.joint_errors` for the errors; tiles of web maps, which also give a page only what
# it shows.
#
# What else was tried or considered, and why not.
# - Sketches of influences, compared in the browser (considered): random bytes, 3 kB for each model and benchmark, four
#   times as much, and the statistics would exist twice.
# - A file for each model (tried): two bytes a pair, but every pair twice, and a new record changed every file. In tiles
#   of two blocks of models, a page of two models loads one file, and a new record changes the tiles of one block.
# - Independent errors (considered): a difference would look less certain than it is, and models that differ would tie.
# - Numbers as JSON (considered): several times the size. Codes are logarithmic in ten bits.
# - Keeping tiles between builds (tried): the job that publishes starts from nothing, so the state gained nothing and
#   could be wrong.
#
# Cost. O(m^2) codes for each node with m models, in time and bytes; rows are encoded 32 at a time, which stay in the
# processor's cache. 741 models have 1,128 tiles, and the site 0.47 GB (perf/RESULTS.md).
#
# Where it breaks. It is quadratic: twice the models, four times the bytes. A difference is rounded by up to 0.7 %,
# errors outside of 1e-5 to 10 are clipped, and degrees of freedom are rounded down. `static/compare.js` repeats `BLOCK`
# and `FREEDOMS`: change both.

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

BLOCK = 16
"""A file has all pairs between two blocks of 16 models, on all nodes. `static/compare.js` has the same number."""

SMALLEST, LARGEST = 1e-5, 10.0
"""Range of encoded errors; others are clipped to it, except 0."""

FREEDOMS = (
    *(1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14),
    *(16, 18, 20, 24, 28, 32, 40, 50, 64, 90, 128, 200, 300, 500, 1000, float("inf")),
)
"""Degrees of freedom that can be encoded. `static/compare.js` has the same table."""

_LEVELS = np.maximum(np.searchsorted(FREEDOMS, np.arange(2 * FREEDOMS[-2] + 1) / 2, side="right") - 1, 0)
"""Place in `FREEDOMS` for each half of a degree of freedom, since all of them are whole numbers of halves."""

_NO_ERROR, _ZERO, _FIRST, _LAST = 0, 1, 2, 1023
_FREEDOM_BITS, _NOT_MATCHED = 10, 1 << 15
_ROWS = 32
_LEVEL = 1
"""Compression level: higher levels take twice as long to save a fortieth."""


class TileFile(TypedDict):
    """Data of one tile: places of nodes, and their codes as base64 of zlib."""

    nodes: list[int]
    codes: str


def encode(joint: JointErrors) -> Codes:
    """Return the code of each pair of models, uint16 of shape (n_models, n_models), 0 without an error.

    Bits 0 to 9 hold the error, bits 10 to 14 the place in `FREEDOMS`. Bit 15 is set if part of the covariance is
    unknown and taken as 0, which usually makes the error too large.
    """
    n_models, steps = len(joint.apart), _LAST - _FIRST
    codes = np.empty((n_models, n_models), dtype=np.uint16)
    for start in range(0, n_models, _ROWS):  # a few rows at a time stay in the cache of the processor
        rows, rest = slice(start, start + _ROWS), slice(start, None)  # mirrored below the diagonal
        errors, freedom = joint.pair_errors[rows, rest], joint.pair_freedom[rows, rest]
        with np.errstate(invalid="ignore", divide="ignore"):
            on_scale = np.log(errors / SMALLEST) / np.log(LARGEST / SMALLEST) * steps
        is_finite = np.isfinite(errors)
        on_scale = np.clip(np.rint(np.where(is_finite & (errors > 0), on_scale, 0)), 0, steps) + _FIRST
        halves = np.minimum(2 * freedom, len(_LEVELS) - 1, where=np.isfinite(freedom), out=np.zeros_like(freedom))
        level = np.where(np.isfinite(freedom), _LEVELS[halves.astype(np.intp)], len(FREEDOMS) - 1)
        of_rows = np.where(errors == 0, _ZERO, on_scale).astype(np.uint16)
        of_rows |= level.astype(np.uint16) << _FREEDOM_BITS
        of_rows |= np.where(joint.is_matched[rows, rest], 0, _NOT_MATCHED).astype(np.uint16)
        of_rows[~is_finite] = _NO_ERROR
        codes[rows, rest], codes[rest, rows] = of_rows, of_rows.T
    return codes


def decode(codes: Codes) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return the errors, degrees of freedom and whether covariances are known, each in the shape of `codes`.

    Errors are standard errors of differences, degrees of freedom one of `FREEDOMS`; NaN without an error.
    """
    places = (codes & (2**_FREEDOM_BITS - 1)).astype(np.int64)
    errors = SMALLEST * (LARGEST / SMALLEST) ** ((places - _FIRST) / (_LAST - _FIRST))
    errors = np.where(places == _ZERO, 0.0, np.where(codes == _NO_ERROR, np.nan, errors))
    freedom = np.array(FREEDOMS)[(codes >> _FREEDOM_BITS) & 31]
    return errors, np.where(codes == _NO_ERROR, np.nan, freedom), (codes != _NO_ERROR) & (codes < _NOT_MATCHED)


def n_blocks(n_models: int) -> int:
    """Return the number of blocks of models."""
    return -(-n_models // BLOCK)


def tile_names(n_models: int) -> list[str]:
    """Return the names of all tiles, ``'<block>-<block>'``, the lower one first; in the order of `tiles`."""
    first, second = np.triu_indices(n_blocks(n_models))
    return [f"{a}-{b}" for a, b in zip(first.tolist(), second.tolist(), strict=True)]


def tiles(codes: Codes, places: Places, n_models: int) -> Codes:
    """Split the codes of a node into tiles, one for each pair of blocks of the board's models.

    Parameters
    ----------
    codes : ndarray of uint16, shape (n_of_node, n_of_node)
    places : ndarray of int, shape (n_of_node,)
        Places of the node's models on the board, which has `n_models`.

    Returns
    -------
    ndarray of uint16, shape (n_tiles, BLOCK, BLOCK)
        0 for models without a score.
    """
    n = n_blocks(n_models)
    whole = np.zeros((n * BLOCK, n * BLOCK), dtype=np.uint16)
    whole[np.ix_(places, places)] = codes
    by_block: Codes = whole.reshape(n, BLOCK, n, BLOCK).transpose(0, 2, 1, 3)[np.triu_indices(n)]
    return by_block


def tile_file(nodes: Sequence[int], codes: Codes) -> TileFile:
    """Return the content of ``data/pairs/<tile>.js``, without nodes whose codes are all 0.

    `nodes` are places on the board, `codes` are uint16 of shape (n_nodes, BLOCK, BLOCK).
    """
    coded = np.flatnonzero(codes.any(axis=(1, 2)))
    content = zlib.compress(codes[coded].astype("<u2").tobytes(), _LEVEL)
    return {"nodes": [nodes[place] for place in coded.tolist()], "codes": base64.b64encode(content).decode("ascii")}
