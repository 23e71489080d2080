"""Score how similar two representations are after the rotation or reflection that brings them closest.

With centred responses X and Y over the same stimuli and the sum of singular values ``|.|_*``:

    ``score = |X^T Y|_* / (|X| |Y|)``, or with ``scale='angle'``: ``score = 1 - 2 arccos(|X^T Y|_* / (|X| |Y|)) / pi``

The arc cosine is a distance of shapes (Williams et al. 2021), suitable for clustering models.

- Input: as for all metrics.
- Output: Score in [0, 1]; 1 only for responses that are equal up to rotation, shift and scale; NaN if a side does not
  vary.
- Invariances: those of `cka`, and exchanging both sides.
- When: a distance is wanted, or `cka`, whose squares let the largest dimensions decide, is too coarse. Unrelated
  responses score above 0: compare models on the same stimuli and neuroids only, with several times as many stimuli as
  neuroids. No ceiling is right at every level of noise.

References
----------
Williams et al. (2021), NeurIPS, arXiv:2110.14739. Schoenemann (1966), doi:10.1007/BF02289451.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.cka import centre_columns
from brainscore_vision.metric_helpers.arrays.influence import Influences
from brainscore_vision.metric_helpers.labelled.alignment import matching_order
from brainscore_vision.metric_helpers.labelled.rdms import read_responses
from brainscore_vision.metric_helpers.uncertainty.errors import attach_geometry_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

# Compare two sets of responses after the rotation that brings them closest.
#
# With centred responses X (n stimuli x p) and Y (n x q), the best rotation or reflection aligns them up to ``|X^T
# Y|_*``, the sum of singular values (Schoenemann 1966, doi:10.1007/BF02289451), relative to both sizes:
#
# ``similarity = |X^T Y|_* / (|X| |Y|)``
#
# Its arc cosine is a metric; the distance of unit-size shapes after rotation is ``sqrt(2 - 2 similarity)`` (Williams et
# al. 2021, arXiv:2110.14739, equations 5 and 6).


def procrustes_influences(first: ArrayLike, second: ArrayLike) -> tuple[float, Influences | None]:
    """Compute the similarity after the best rotation, and to first order how it moves with stimuli and neuroids.

    The smaller side is padded with silent neuroids. The similarity is in [0, 1], NaN where a side does not vary;
    symmetric; invariant to rotations, reflections, shifts and scaling of either side.

    With sides of unit size, the rotated source ``X W`` and the similarity s, growth of response ``y_ij`` moves s by
    ``c_ij = y_ij ((X W)_ij - s y_ij)``; a stimulus, which counts in both sides, by ``sum_j y_ij (X W)_ij - s (|x_i|^2 +
    |y_i|^2) / 2``; and a duplicated neuroid by ``sum_i c_ij / 2``.

    Examples
    --------
    >>> round(procrustes_influences([[0., 0.], [1., 0.], [0., 2.]], [[5., 1.], [5., 3.], [1., 1.]])[0], 12)
    1.0
    """
    sides = _shapes(first, second)
    if sides is None:
        return float("nan"), None
    x, y = sides
    left, sizes, right = np.linalg.svd(x.T @ y, full_matrices=False)
    value = min(float(sizes.sum()), 1.0)
    aligned = sizes > sizes[0] * max(x.shape) * np.finfo(float).eps
    rotated = (x @ left[:, aligned]) @ right[aligned]
    together = y * rotated
    own = np.einsum("ij,ij->i", x, x) + np.einsum("ij,ij->i", y, y)
    cells = together - value * y**2
    n, q = y.shape
    neuroids = np.sqrt(q / (q - 1)) * cells.sum(axis=0) / 2 if q > 1 else np.zeros(1)
    stimuli = np.sqrt(n / (n - 1)) * (together.sum(axis=1) - value * own / 2)
    return value, Influences(stimuli=stimuli, neuroids=neuroids, cells=cells)


def _shapes(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats] | None:
    """Centre both sides to unit size; the first with at most as many columns as stimuli."""
    x, y = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
        raise ValueError(
            f"Expected two arrays of shape (n_stimuli, n_neuroids) over the same stimuli; got {x.shape} and {y.shape}."
        )
    x, y = centre_columns(x), centre_columns(y)
    largest = [np.abs(side).max(initial=0.0) for side in (x, y)]
    if min(largest) == 0:
        return None
    x, y = x / largest[0], y / largest[1]  # squares of very small responses would underflow
    if x.shape[1] > len(x):
        factor = np.asarray(np.linalg.qr(x.T, mode="r"))
        x = factor.T  # rotated, without empty directions
    return x / np.linalg.norm(x), y / np.linalg.norm(y)


_SCALES = ("cosine", "angle")


class Procrustes(Metric):
    """Similarity of shapes."""

    quantity: ClassVar = "share"

    def __init__(self, scale: Literal["cosine", "angle"] = "cosine") -> None:
        if scale not in _SCALES:
            raise ValueError(f"scale must be one of {', '.join(_SCALES)}; got {scale!r}.")
        self._scale = scale

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare; attrs also hold ``angle``, between the shapes, in radians. The error is to first order."""
        first, second = (read_responses(side, role=role) for side, role in ((source, "source"), (target, "target")))
        order = matching_order(second.stimuli, first.stimuli, what=Defaults.stimulus_coord)
        if len(order) < 2:
            raise AssemblyError("Comparing shapes needs at least two stimuli, got 1. Average over repetitions only.")
        cosine, influences = procrustes_influences(first.values[order], second.values)
        angle = float(np.arccos(cosine))
        score = Score(cosine if self._scale == "cosine" else 1 - 2 * angle / np.pi)
        score.attrs.update(n_stimuli=len(order), **second.notes, angle=angle, quantity=self.quantity)
        if influences is not None and self._scale == "angle":
            influences *= 2 / (np.pi * np.sqrt(1 - cosine**2)) if cosine < 1 else 0.0
        return attach_geometry_error(score, influences, second.stimuli, second.neuroids, scale="fisher")
