"""Divide a raw score by its noise ceiling: formulas on plain numbers and arrays, and their labelled versions.

A score that is a correlation ``r`` is squared before it is divided by a reliability, because a reliability is already
a share of variance (`explained_variance`). A score whose ceiling is the same quantity (an accuracy and the accuracy of
people, a correlation and the highest correlation) is divided as it is (`ceil_score`). Scores and ceilings that declare
what they are, in ``attrs['quantity']``, are not normalised in another way (`validate_quantities`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from brainscore_core.errors import CeilingError
from brainscore_core.metrics import Quantity, Score

__all__ = [
    "as_ceiling",
    "ceil_score",
    "ceiled_ratio",
    "explained_variance",
    "explained_variance_ratio",
    "validate_quantities",
]

_REMEDY = "Check that the ceiling function gets the data with repetitions, not their average."
# What describes the raw score only and would be wrong on the normalised one.
_OF_RAW_ONLY = ("raw", "ceiling", "error", "interval", "quantity")
_QUANTITIES = get_args(Quantity)


def ceiled_ratio(raw: Any, ceiling: Any) -> Any:
    """Return ``raw / ceiling``.

    Parameters
    ----------
    raw : float or array
        A share between 0 (chance) and 1; negative when worse than chance.
    ceiling : float or array, broadcastable
        The highest value of ``raw`` that the noise of the measurement allows, above 0.

    Returns
    -------
    float or array
        1 at the ceiling. Not clipped.

    Examples
    --------
    >>> ceiled_ratio(0.3, 0.6)
    0.5
    """
    return raw / ceiling


def explained_variance_ratio(raw: Any, ceiling: Any) -> Any:
    r"""Return ``raw * abs(raw) / ceiling``, the share of the explainable variance that is explained, with its sign.

    .. math:: EV = \operatorname{sign}(r) \, r^2 / \rho

    Parameters
    ----------
    raw : float or array
        Pearson correlation ``r`` of prediction and measurement, between -1 and 1.
    ceiling : float or array, broadcastable
        Reliability ``rho`` of the measurement: the share of its variance that is signal, above 0. It is not squared,
        because a reliability is already a ratio of variances.

    Returns
    -------
    float or array
        1 when the prediction explains all that can be explained. A prediction that is anti-correlated with the
        measurement explains nothing; its value stays negative, so that it never ranks above chance.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things, American Journal of Psychology 15,
    doi:10.2307/1412159. Schoppe et al. (2016), Measuring the performance of neural models, Frontiers in Computational
    Neuroscience 10:10, doi:10.3389/fncom.2016.00010.

    Examples
    --------
    >>> round(explained_variance_ratio(0.65, 0.82), 3)
    0.515
    >>> explained_variance_ratio(-0.5, 0.5)
    -0.5
    """
    return raw * abs(raw) / ceiling


def as_ceiling(value: Any, *, of: str = "this benchmark") -> Score:
    """Return a ceiling as a `Score`, or say why it is none.

    Parameters
    ----------
    value : Score, DataArray, array or number
        What a ceiling function returned; an ``int`` such as 1 is fine.
    of : str
        Whose ceiling it is, for the message.

    Returns
    -------
    Score
        The same object if it is a `Score`. A value with dimensions passes unchecked: its entries count only once they
        are divided by.

    Raises
    ------
    CeilingError
        If it is None, no number, NaN, infinite, zero or negative.
    """
    if isinstance(value, Score):
        ceiling = value
    else:
        try:
            numbers = np.asarray(value, dtype=float) if value is not None else None
        except (TypeError, ValueError):
            numbers = None
        if numbers is None:
            raise CeilingError(
                f"The ceiling of {of} is {value!r}; expected a Score or a number above 0. Return one from ceiling_func."
            )
        ceiling = Score(value) if hasattr(value, "dims") else Score(numbers)
    if ceiling.ndim == 0:
        _require_positive(ceiling, of)
    return ceiling


def _require_positive(ceiling: Score, of: str) -> None:
    values = np.asarray(ceiling.values, dtype=float)
    wrong = ~(np.isfinite(values) & (values > 0))
    if not wrong.any():
        return
    if values.ndim == 0:
        raise CeilingError(
            f"The ceiling of {of} is {values.item()}; expected a finite number above 0. A score cannot be divided by "
            f"it: the measurement is not reliable, or its ceiling is computed from the wrong data. {_REMEDY}"
        )
    raise CeilingError(
        f"{int(wrong.sum())} of {wrong.size} ceilings of {of} are NaN, infinite, zero or negative (first: "
        f"{values[wrong][0]}); expected finite numbers above 0. Drop these entries from score and ceiling. {_REMEDY}"
    )


def validate_quantities(
    score: Any, ceiling: Any, *, normalization: Literal["ceil_score", "explained_variance"]
) -> None:
    r"""Refuse to normalise a score by a ceiling that is not of its kind.

    ================  ============  ======================
    score             ceiling       lawful normalisation
    ================  ============  ======================
    ``correlation``   reliability   `explained_variance`, :math:`r^2 / \rho`
    ``correlation``   correlation   `ceil_score`, :math:`r / r_{max}`
    ``reliability``   reliability   `ceil_score`
    ``share``         share         `ceil_score`
    ================  ============  ======================

    Parameters
    ----------
    score, ceiling : Score or anything else
        What they are stands in ``attrs['quantity']``, see `brainscore_core.metrics.Quantity`.
    normalization : 'ceil_score' or 'explained_variance'
        The function that is about to be applied.

    Raises
    ------
    CeilingError
        If both declare a quantity and the combination is none of the table.
    """
    of_score, of_ceiling = (str(getattr(each, "attrs", {}).get("quantity")) for each in (score, ceiling))
    if not {of_score, of_ceiling} <= set(_QUANTITIES):
        return
    squared = (of_score, of_ceiling) == ("correlation", "reliability")
    if squared if normalization == "explained_variance" else of_score == of_ceiling:
        return
    raise CeilingError(
        f"{normalization} got a score that is a {of_score} and a ceiling that is a {of_ceiling}. "
        f"{_advice(of_score, of_ceiling)}"
    )


def _advice(score: str, ceiling: str) -> str:
    if (score, ceiling) == ("correlation", "reliability"):
        return (
            "A reliability is a share of variance, the square of the highest correlation: use "
            "explained_variance(score, ceiling), which is r * abs(r) / reliability."
        )
    if score == ceiling:
        return "Both are the same quantity, and nothing is to be squared: use ceil_score(score, ceiling)."
    fitting = {
        "correlation": "a ceiling that is a reliability (such as that of split halves) with explained_variance, or one "
        "that is a correlation (such as that of each subject with the others) with ceil_score",
        "reliability": "a ceiling that is a reliability with ceil_score",
        "share": "a ceiling that is a share, such as the same metric applied to people or to halves of the data, with "
        "ceil_score",
    }[score]
    return f"No formula divides a {score} by a {ceiling}: use {fitting}."


def ceil_score(score: Score, ceiling: Any) -> Score:
    r"""Normalise a score by a ceiling that is the same quantity: :math:`s / c`.

    Parameters
    ----------
    score : Score
        Raw score, 0-d or with dimensions that the ceiling shares.
    ceiling : Score or number
        Above 0.

    Returns
    -------
    Score
        Not clipped. Attributes: ``raw`` (the score given), ``ceiling``, ``error`` (the raw error divided by the
        ceiling, as the ceiling itself is taken as exact; absent when the raw score has none) with what is said about it
        (``error_nan_reason``, ``error_over``), and every descriptive
        attribute of the raw score (``n_stimuli``, ``layers``, ...) except its ``quantity``.

    Raises
    ------
    CeilingError
        If the ceiling is not a finite number above 0, or is another quantity than the score (`validate_quantities`).
    """
    validate_quantities(score, ceiling, normalization="ceil_score")
    return _normalize(score, ceiling, ceiled_ratio, lambda raw, c: 1 / c)  # noqa: ARG005 - d(s/c)/ds needs no s


def explained_variance(score: Score, ceiling: Any) -> Score:
    r"""Normalise a score that is a correlation: :math:`\operatorname{sign}(s) \, s^2 / c`.

    Parameters
    ----------
    score : Score
        Raw score, a Pearson correlation, 0-d or with dimensions that the ceiling shares.
    ceiling : Score or number
        Reliability of the measurement (split-half consistency after the Spearman-Brown correction, share of signal
        variance), above 0.

    Returns
    -------
    Score
        Not clipped; negative when the raw correlation is (see `explained_variance_ratio`). Attributes as in
        `ceil_score`, with ``error`` propagated to first order: :math:`|2 s / c|` times the raw error.

    Raises
    ------
    CeilingError
        If the ceiling is not a finite number above 0, or score and ceiling are not correlation and reliability
        (`validate_quantities`).
    """
    validate_quantities(score, ceiling, normalization="explained_variance")
    return _normalize(score, ceiling, explained_variance_ratio, lambda raw, c: abs(2 * raw / c))


def _normalize(score: Any, ceiling: Any, formula: Callable[[Any, Any], Any], slope: Callable[[Any, Any], Any]) -> Score:
    raw = score if isinstance(score, Score) else Score(score)
    top = as_ceiling(ceiling, of="this score")
    _require_positive(top, "this score")
    normalized = Score(formula(_bare(raw), _bare(top)))
    normalized.attrs = {
        key: value for key, value in raw.attrs.items() if not any(part in str(key) for part in _OF_RAW_ONLY)
    }
    normalized.attrs.update(raw=raw, ceiling=top)
    error = raw.attrs.get("error")
    if error is not None:
        propagated = _bare(Score(error)) * slope(_bare(raw), _bare(top))
        normalized.attrs["error"] = float(propagated) if propagated.ndim == 0 else propagated
        # What says over what the error is, and why it may be NaN, holds for the propagated one too.
        normalized.attrs.update({key: value for key, value in raw.attrs.items() if str(key).startswith("error_")})
    return normalized


def _bare(score: Score) -> Score:
    """Return the values and coordinates without attributes, so that arithmetic cannot carry a stale one along."""
    bare = score.copy(deep=False)
    bare.attrs = {}
    return bare
