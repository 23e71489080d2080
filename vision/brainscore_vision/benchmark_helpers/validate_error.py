"""Published plugins import this from here."""

from brainscore_vision.benchmark_helpers.checks.uncertainty import (
    ValidationResult,
    assert_valid_uncertainty,
    validate_score_uncertainty,
)

__all__ = ["ValidationResult", "assert_valid_uncertainty", "validate_score_uncertainty"]
