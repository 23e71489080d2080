"""Published plugins import this from here: regressions, and metrics that are put together from them."""

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
