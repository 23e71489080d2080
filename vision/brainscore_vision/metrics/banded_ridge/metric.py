r"""Score how well responses are predicted by several bands of features together, and how much each band contributes.

Bands are sets of the source's neuroids, distinguished by a coordinate, such as layers (``band_coord='layer'``). Ridge
regression has a penalty for each, chosen per neuroid by leaving one training stimulus out:

.. math:: \min_{W, c} \|y - \sum_b X_b w_b - c\|^2 + \alpha \sum_b (s_b / \omega_b) \|w_b\|^2

where s_b is the mean squared size of a training stimulus in the band, and the weights :math:`\omega_b` sum to 1.
Candidates are all equal, each band alone, and ``n_draws`` at random.

Variance is partitioned by the product measure: ``attrs['variance_by_band']``, dims (band, split, neuroid), holds
:math:`R^2_b = \sum_i \hat y_{bi} (2 y_i - \hat y_i) / \sum_i y_i^2` of the test stimuli, with means removed. Over
bands they sum to R^2.

- Input: as for `ridge`, and on the source's neuroids the coordinate that names their band.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid).
- Invariances: order of stimuli and of neuroids; rotations, shifts and scaling of each band as a whole; shift and
  positive scaling of each neuroid of the target.
- When: you ask how much each of several kinds of features explains. With one band it is `ridgecv`, whose alphas have
  the unit of the features; four take seven to nine times as long (`perf/costs.py`).
- Ceiling: `internal_consistency`, as for `ridge`.

References
----------
Dupré la Tour et al. (2022), doi:10.1016/j.neuroimage.2022.119728;
Nunez-Elizalde et al. (2019), doi:10.1016/j.neuroimage.2019.04.012.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_vision.metric_helpers.arrays.regression.banded import ALPHAS, band_weights
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, stack
from brainscore_vision.metric_helpers.regression.estimators import BandedRidge, PearsonR
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression
from brainscore_vision.metric_helpers.regression.sides import Side

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from brainscore_core.metrics import Quantity, Score
    from brainscore_vision.metric_helpers.regression.problem import Rows
    from brainscore_vision.metric_helpers.regression.sides import Features
    from brainscore_vision.metric_helpers.uncertainty.intervals import HeldOut


class BandedRidgeCorrelation(CrossRegressedCorrelation):
    """Cross-validated banded ridge regression, then correlation per neuroid.

    Parameters
    ----------
    band_coord
        Coordinate of the source's neuroids that names their band.
    alphas : array-like
        Penalties to choose from, in units of the mean squared size of a stimulus in a band.
    n_draws, seed
        Random candidates for the weights of the bands, and their seed.
    """

    quantity: ClassVar[Quantity | None] = "correlation"

    def __init__(
        self,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
        *,
        band_coord: str = "layer",
        alphas: ArrayLike = ALPHAS,
        n_draws: int = 10,
        seed: int = 0,
        backend: str | None = None,
    ) -> None:
        alone = BandedRidge([0], alphas=alphas)  # replaced by one with the bands of the source
        super().__init__(XarrayRegression(alone), XarrayCorrelation(PearsonR()), crossvalidation_kwargs)
        self._crossvalidation_kwargs = crossvalidation_kwargs
        self._band_coord = band_coord
        self._alphas = alphas
        self._n_draws = n_draws
        self._seed = seed
        self._backend = backend

    def __call__(self, source: Features, target: Features) -> Score:
        """Compare; attrs also hold ``variance_by_band``, ``bands`` (their names), ``band_coord`` and ``band_seed``."""
        estimator, names = self._banded(source)
        score = self._bound(estimator)(source, target)
        side = Side.of(target, "target")
        neuroids = side.neuroids()
        shares = [
            side.labelled(np.stack([split[band] for split in estimator.variance_by_band_]), neuroids)
            for band in range(len(names))
        ]
        score.attrs["variance_by_band"] = stack(shares, [{"band": name} for name in names])
        score.attrs.update(bands=names, band_coord=self._band_coord, band_seed=self._seed)
        return score

    def held_out(self, source: Features, target: Features, *, splits: Rows | None = None) -> list[HeldOut]:
        """See the base class."""
        return self._bound(self._banded(source)[0]).held_out(source, target, splits=splits)

    def _banded(self, source: Features) -> tuple[BandedRidge, list[str]]:
        names, bands = np.unique(coordinate(Side.of(source, "source").labels, self._band_coord), return_inverse=True)
        weights = band_weights(len(names), self._n_draws, self._seed)
        return BandedRidge(bands, weights, self._alphas, backend=self._backend), [str(name) for name in names]

    def _bound(self, estimator: BandedRidge) -> CrossRegressedCorrelation:
        return CrossRegressedCorrelation(XarrayRegression(estimator), self.correlation, self._crossvalidation_kwargs)
