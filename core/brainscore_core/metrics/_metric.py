"""The contracts of metrics and ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from brainscore_core.metrics._score import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = ["Ceiling", "Metric", "Quantity"]

Quantity = Literal[
    "correlation",
    "reliability",
    "dissimilarity_correlation",
    "dissimilarity_reliability",
    "accuracy",
    "kappa",
    "share",
]
"""Kind of number of a score, which determines its normalisation.

- ``correlation``: of responses or choices of a candidate and measured ones, or its highest value; in [-1, 1].
- ``reliability``: share of the variance of measured responses that is signal; the square of that highest correlation.
- ``dissimilarity_correlation``, ``dissimilarity_reliability``: the same for dissimilarities between stimuli, which
  average over neuroids and are more reliable than responses.
- ``accuracy``: share of right answers, in [0, 1].
- ``kappa``: agreement beyond chance, in [-1, 1].
- ``share``: any other score whose ceiling is on the same scale, such as a similarity.
"""


class Metric:
    """Similarity of two assemblies. Derive from it and define `__call__`.

    Attributes
    ----------
    quantity : str or None
        Kind of the scores, also written to ``attrs['quantity']``. None: undeclared, so normalisation is not checked.
    """

    quantity: ClassVar[Quantity | None] = None

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare the assembly of a candidate model (source) with that of a measurement (target).

        Returns
        -------
        Score
            Scalar, 1 for a perfect match; ``attrs['raw']`` holds the values before aggregation.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly1, assembly2) -> Score.")


class Ceiling:
    """Score of the best possible model on a measurement. Derive from it and define `__call__`.

    Attributes
    ----------
    quantity : str or None
        As for `Metric`.
    estimator : str or None
        Method in a few words, also written to ``attrs['estimator']``. None: not stated.
    """

    quantity: ClassVar[Quantity | None] = None
    estimator: str | None = None

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate the ceiling from a measurement with separate repetitions or subjects.

        Returns
        -------
        Score
            Scalar in (0, 1]; ``attrs['raw']`` holds the values before aggregation, ``attrs['error']`` the
            standard error, ``attrs['interval']`` the 95 % interval.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly) -> Score.")
