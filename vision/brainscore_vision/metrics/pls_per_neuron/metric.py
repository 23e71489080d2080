"""Score how well responses are predicted by partial least squares, with a number of components for each neuroid.

As `pls`, but with up to 25 components, the number of least squared error on five inner folds of the training stimuli:

    ``score = mean_s median_j r(prediction_sj, measurement_sj)``, ``prediction_sj = m_sj + sum_(c <= k_sj) t_sc l_scj``

with scores t and loadings l of the shared components c.

- Input, Output, Invariances, Ceiling: as for `pls`.
- When: reliability differs between neuroids, or there are so few stimuli or features that 25 components are too many.
  It takes four to seven times as long as `pls` (`perf/costs.py`).
"""

from collections.abc import Mapping
from typing import Any

from brainscore_vision.metric_helpers.regression.estimators import PearsonR, PLSPerNeuroid
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression

Options = Mapping[str, Any] | None  # arguments of `CrossValidation`


def pls_per_neuron(
    crossvalidation_kwargs: Options = None, *, n_components: int = 25, n_folds: int = 5, backend: str | None = None
) -> CrossRegressedCorrelation:
    """Make the metric ``pls_per_neuron``, which chooses up to `n_components` on at least two inner folds."""
    regression = XarrayRegression(PLSPerNeuroid(n_components, n_folds, backend=backend))
    return CrossRegressedCorrelation(regression, XarrayCorrelation(PearsonR()), crossvalidation_kwargs)
