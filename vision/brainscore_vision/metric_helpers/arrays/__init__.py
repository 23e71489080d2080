"""Offer the mathematics of the metrics as pure functions, NumPy arrays in and out.

Nothing here knows about assemblies; the first axis of responses is always stimuli. All computation is in float64.
"""

from brainscore_vision.metric_helpers.arrays.behavior import (
    cohens_kappa,
    error_consistency,
    pairwise_error_consistency,
)
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import constant_columns, pearson_columns, ranks, spearman
from brainscore_vision.metric_helpers.arrays.geometry import correlation_distances, rdm_similarity, upper_triangle
from brainscore_vision.metric_helpers.arrays.least_squares import least_squares_fit, least_squares_predict_splits
from brainscore_vision.metric_helpers.arrays.pls import LinearMap, pls_fit, pls_predict_splits
from brainscore_vision.metric_helpers.arrays.reliability import spearman_brown, split_half_correlations, step_up
from brainscore_vision.metric_helpers.arrays.ridge import ridge_fit, ridge_predict_splits
from brainscore_vision.metric_helpers.arrays.ridge_cv import ridge_cv_fit, ridge_cv_predict_splits
from brainscore_vision.metric_helpers.arrays.single import best_source, best_source_predict_splits

__all__ = [
    "ColumnBlocks",
    "LinearMap",
    "best_source",
    "best_source_predict_splits",
    "cohens_kappa",
    "constant_columns",
    "correlation_distances",
    "error_consistency",
    "least_squares_fit",
    "least_squares_predict_splits",
    "pairwise_error_consistency",
    "pearson_columns",
    "pls_fit",
    "pls_predict_splits",
    "ranks",
    "rdm_similarity",
    "ridge_cv_fit",
    "ridge_cv_predict_splits",
    "ridge_fit",
    "ridge_predict_splits",
    "spearman",
    "spearman_brown",
    "split_half_correlations",
    "step_up",
    "upper_triangle",
]
