"""The uncertainty that a score states."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.metrics import Score

__all__ = ["ValidationResult", "assert_valid_uncertainty", "validate_score_uncertainty"]


@dataclass(frozen=True)
class ValidationResult:
    """Problems and warnings."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def validate_score_uncertainty(
    score: Score, require_raw: bool = True, allow_nan_with_reason: bool = True
) -> ValidationResult:
    """List problems with ``error`` and ``raw`` of a score.

    ``error`` is a number from 0, on the scale of the score, or NaN with ``error_nan_reason`` (see `declare_no_error`);
    ``error_over`` names the resampled units; ``raw`` holds the values before they were summarised.
    """
    result = ValidationResult()
    if "error" in score.attrs:
        _check_error(score, result, allow_nan_with_reason=allow_nan_with_reason)
    else:
        result.problems.append(
            "the score has no attribute 'error'; attach one with bootstrap_error.attach_error, or say why there is "
            "none with declare_no_error"
        )
    if require_raw and "raw" not in score.attrs:
        result.problems.append("the score has no attribute 'raw': keep the values for each stimulus or subject")
    return result


def _check_error(score: Score, result: ValidationResult, *, allow_nan_with_reason: bool) -> None:
    value = score.attrs["error"]
    try:
        error = float(value)
    except (TypeError, ValueError):
        result.problems.append(f"'error' is {value!r}; expected a number")
        return
    if math.isnan(error):
        if not (allow_nan_with_reason and score.attrs.get("error_nan_reason")):
            result.problems.append("'error' is NaN; estimate it, or give the reason in 'error_nan_reason'")
        return
    if error < 0 or math.isinf(error):
        result.problems.append(f"'error' is {error}; expected a finite number from 0")
    center = float(score) if score.ndim == 0 else math.nan
    if math.isfinite(center) and error > max(1.0, 2 * abs(center)):
        result.warnings.append(
            f"'error' ({error:.3g}) is large compared with the score ({center:.3g}): are both on one scale?"
        )
    if not score.attrs.get("error_over"):
        result.warnings.append("'error_over' does not name the resampled units, such as ['presentation', 'subject']")


def assert_valid_uncertainty(score: Score, **kwargs: bool) -> None:
    """Raise AssertionError with all problems; issue warnings as `UserWarning`."""
    result = validate_score_uncertainty(score, **kwargs)
    for text in result.warnings:
        warnings.warn(text, stacklevel=2)
    if result.problems:
        raise AssertionError("The score's uncertainty is not in order:\n- " + "\n- ".join(result.problems))
