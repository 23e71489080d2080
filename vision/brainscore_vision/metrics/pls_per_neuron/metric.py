"""Score how well responses are predicted by partial least squares, each neuroid with a number of components of its own.

As `pls`, whose 25 components are too many for neuroids that are noisy or simple, and for few stimuli: they fit noise.
Here the number for a neuroid is the one of least squared error on five inner folds of the training stimuli, up to 25:

    ``score = mean_s median_j r(prediction_sj, measurement_sj)``, ``prediction_sj = m_sj + sum_(c <= k_sj) t_sc l_scj``

with scores t and loadings l of the components c, which all neuroids share. A fit of 25 components holds the fits of all
smaller numbers, so that a fold is fitted once.

- Input: source (model) and target (measurement), dims (presentation, neuroid), with coordinates `stimulus_id` and
  `neuroid_id`; a `time_bin` of length one is dropped. Both hold the same stimuli, in any order. 10 splits with 90 %
  training stimuli, stratified by `object_name`.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid).
- Invariances: order of stimuli; rotations, permutations and one common scale of the source's neuroids; any shift of any
  neuroid; positive scaling of all neuroids of the target together.
- When: reliability differs between neuroids, or there are so few stimuli or features that 25 components are too many.
  Six fits for one of `pls` take four to seven times as long (`perf/costs.py`).
- Ceiling: `internal_consistency`, as for `pls`.

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
    crossvalidation_kwargs : dict or None
        Arguments of `CrossValidation`, such as ``stratification_coord``, ``splits``, ``train_size``.
    n_components : int
        The largest number that is chosen; fewer where there are fewer features or training stimuli.
    n_folds : int
        Inner folds, at least 2.
    backend : str or None
        Where to compute, such as ``'torch:cuda'``; None: as the settings say.
    """
    regression = XarrayRegression(PLSPerNeuroid(n_components, n_folds, backend=backend))
    return CrossRegressedCorrelation(regression, XarrayCorrelation(PearsonR()), crossvalidation_kwargs)
