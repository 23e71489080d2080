"""Published plugins import this from here: cross-validation and splits of assemblies, see `labelled`."""

from brainscore_vision.metric_helpers.labelled.splits import (
    Alignment,
    CartesianProduct,
    CrossValidation,
    CrossValidationSingle,
    Split,
    TestOnlyCrossValidation,
    TestOnlyCrossValidationSingle,
    Transformation,
    apply_aggregate,
    enumerate_done,
    expand,
    extract_coord,
    standard_error_of_the_mean,
)

__all__ = [
    "Alignment",
    "CartesianProduct",
    "CrossValidation",
    "CrossValidationSingle",
    "Split",
    "TestOnlyCrossValidation",
    "TestOnlyCrossValidationSingle",
    "Transformation",
    "apply_aggregate",
    "enumerate_done",
    "expand",
    "extract_coord",
    "standard_error_of_the_mean",
]
