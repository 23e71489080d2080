"""Score how well responses to held-out stimuli are predicted by a regression from the features of a model.

A regression is fitted on training stimuli and predicts the test stimuli; the prediction is correlated with the
measurement for each neuroid (Pearson); the score is the median over neuroids ``j``, then the mean over splits ``s``:

    ``score = mean_s median_j r(prediction_sj, measurement_sj)``

What each identifier fits, what it is invariant to and when to use it is said by the factories in `cross_validated`,
`fixed_split` and `over_time`; this module has them all, and the regressions they are made of. Common to all:

- Input: source (model) and target (measurement), dims (presentation, neuroid), with coordinates `stimulus_id` and
  `neuroid_id`; a `time_bin` of length one is dropped. Both hold the same stimuli, in any order. Metrics
  named ``*_split`` take ``(source_train, source_test, target_train, target_test)``; ``spantime_*`` and ``*_pertime``
  take assemblies with the dimension `time_bin`; all but ``*_split`` draw 10 splits with 90 % training stimuli,
  stratified by `object_name`.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid) or (neuroid).
- Invariances of all: order of stimuli; any shift of any neuroid on either side; positive scaling of all neuroids of the
  target together.
- Precision: float64, whatever the features come in. The published system fits ``ridge`` and ``linear_predictivity`` in
  the precision of the features, mostly single; ``compat=True`` does so too.

References
----------
Yamins et al. (2014), doi:10.1073/pnas.1403112111; Schrimpf et al. (2018), doi:10.1101/407007.
"""

from brainscore_vision.metric_helpers.regression.fixed_split import (
    ReverseTrainTestSplitCorrelation,
    TrainTestSplitCorrelation,
)
from brainscore_vision.metric_helpers.regression.metrics import (
    CrossRegressedCorrelation,
    ReverseCrossRegressedCorrelation,
    SpanTimeCrossRegressedCorrelation,
)

from .cross_validated import (
    ScaledCrossRegressedCorrelation,
    linear_cross_validated,
    pls_cross_validated,
    reverse_pls_cross_validated,
    ridge_cross_validated,
    ridge_cv_cross_validated,
    single_cross_validated,
)
from .fixed_split import (
    dual_ridge_cv_fixed_split,
    dual_ridge_fixed_split,
    linear_fixed_split,
    pls_fixed_split,
    reverse_pls_fixed_split,
    ridge_cv_fixed_split,
    ridge_fixed_split,
    single_fixed_split,
)
from .over_time import pls_per_time, pls_span_time, ridge_per_time, ridge_span_time
from .regressions import (
    ALPHA_LIST,
    DualRidgeCVRegression,
    DualRidgeRegression,
    SingleRegression,
    dual_ridge_cv_regression,
    dual_ridge_regression,
    linear_regression,
    pearsonr,
    pearsonr_correlation,
    pls_regression,
    ridge_cv_regression,
    ridge_regression,
    single_regression,
)

__all__ = [
    "ALPHA_LIST",
    "CrossRegressedCorrelation",
    "DualRidgeCVRegression",
    "DualRidgeRegression",
    "ReverseCrossRegressedCorrelation",
    "ReverseTrainTestSplitCorrelation",
    "ScaledCrossRegressedCorrelation",
    "SingleRegression",
    "SpanTimeCrossRegressedCorrelation",
    "TrainTestSplitCorrelation",
    "dual_ridge_cv_fixed_split",
    "dual_ridge_cv_regression",
    "dual_ridge_fixed_split",
    "dual_ridge_regression",
    "linear_cross_validated",
    "linear_fixed_split",
    "linear_regression",
    "pearsonr",
    "pearsonr_correlation",
    "pls_cross_validated",
    "pls_fixed_split",
    "pls_per_time",
    "pls_regression",
    "pls_span_time",
    "reverse_pls_cross_validated",
    "reverse_pls_fixed_split",
    "ridge_cross_validated",
    "ridge_cv_cross_validated",
    "ridge_cv_fixed_split",
    "ridge_cv_regression",
    "ridge_fixed_split",
    "ridge_per_time",
    "ridge_regression",
    "ridge_span_time",
    "single_cross_validated",
    "single_fixed_split",
    "single_regression",
]
