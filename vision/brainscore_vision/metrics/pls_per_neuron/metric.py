"""Score how well responses are predicted by partial least squares, each neuroid with a number of components of its own.

As `pls`, whose 25 components are too many for neuroids that are noisy or simple, and for few stimuli: they fit noise.
Here the number for a neuroid is the one of least squared error on five inner folds of the training stimuli, up to 25:

    ``score = mean_s median_j r(prediction_sj, measurement_sj)``, ``prediction_sj = m_sj + sum_(c <= k_sj) t_sc l_scj``

with scores t and loadings l of the components c, which all neuroids share. A fit of 25 components holds the fits of all
smaller numbers, so that a fold is fitted once.

- Input, Output, Invariances, Ceiling: as for `pls`.
- When: reliability differs between neuroids, or there are so few stimuli or features that 25 components are too many.
  Six fits for one of `pls` take four to seven times as long (`perf/costs.py`).

References
----------
Wold, Sjöström & Eriksson (2001), doi:10.1016/S0169-7439(01)00155-1; Yamins et al. (2014), doi:10.1073/pnas.1403112111.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brainscore_vision.metric_helpers.regression.estimators import PearsonR, PLSPerNeuroid
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression

Options = Mapping[str, Any] | None  # whatever the arguments of `CrossValidation` are


def pls_per_neuron(
    crossvalidation_kwargs: Options = None,
    *,
    n_components: int = 25,
    n_folds: int = 5,
    backend: str | None = None,
) -> CrossRegressedCorrelation:
    """Make the metric ``pls_per_neuron``.

    Parameters
    ----------
    n_components : int
        The largest number that is chosen; fewer where there are fewer features or training stimuli.
    n_folds : int
        Inner folds, at least 2.
    """
    regression = XarrayRegression(PLSPerNeuroid(n_components, n_folds, backend=backend))
    return CrossRegressedCorrelation(regression, XarrayCorrelation(PearsonR()), crossvalidation_kwargs)
