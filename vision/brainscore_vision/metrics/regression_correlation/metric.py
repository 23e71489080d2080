"""Score how well responses to held-out stimuli are predicted by a regression from a model's features.

Prediction and measurement of the test stimuli are correlated for each neuroid ``j`` (Pearson) in each split ``s``:

    ``score = mean_s median_j r(prediction_sj, measurement_sj)``

The functions in `factories` state the fit and invariances of each identifier and when to use it. Common to all:

- Input: metrics named ``*_split`` take ``(source_train, source_test, target_train, target_test)``; ``spantime_*`` and
  ``*_pertime`` take assemblies with the dimension `time_bin`; all but ``*_split`` draw splits, of the stimuli sorted by
  their `stimulus_id`.
- Output: Score in [-1, 1], a correlation (not explained variance); ``raw`` has dims (split, neuroid) or (neuroid).
- Invariances: order of stimuli; any shift of any neuroid on either side; positive scaling of all neuroids of the target
  together.
- Precision: float64, whatever the features come in.

References
----------
Yamins et al. (2014), doi:10.1073/pnas.1403112111; Schrimpf et al. (2018), doi:10.1101/407007.
"""

from brainscore_vision.metric_helpers.regression.fixed_split import (
    ReverseTrainTestSplitCorrelation as ReverseTrainTestSplitCorrelation,
)
from brainscore_vision.metric_helpers.regression.fixed_split import (
    TrainTestSplitCorrelation as TrainTestSplitCorrelation,
)
from brainscore_vision.metric_helpers.regression.metrics import CrossRegressedCorrelation as CrossRegressedCorrelation
from brainscore_vision.metric_helpers.regression.metrics import (
    ReverseCrossRegressedCorrelation as ReverseCrossRegressedCorrelation,
)
from brainscore_vision.metric_helpers.regression.metrics import (
    SpanTimeCrossRegressedCorrelation as SpanTimeCrossRegressedCorrelation,
)

from .published import DualRidgeCVRegression as DualRidgeCVRegression
from .published import DualRidgeRegression as DualRidgeRegression
from .published import ScaledCrossRegressedCorrelation as ScaledCrossRegressedCorrelation
from .published import SingleRegression as SingleRegression
from .published import dual_ridge_cv_regression as dual_ridge_cv_regression
from .published import dual_ridge_regression as dual_ridge_regression
from .published import pearsonr as pearsonr
from .regressions import ALPHA_LIST as ALPHA_LIST
from .regressions import linear_regression as linear_regression
from .regressions import pearsonr_correlation as pearsonr_correlation
from .regressions import pls_regression as pls_regression
from .regressions import ridge_cv_regression as ridge_cv_regression
from .regressions import ridge_regression as ridge_regression
from .regressions import single_regression as single_regression
