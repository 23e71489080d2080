"""Define the contracts of metrics and ceilings."""

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
"""What kind of number a score is, which decides how it may be normalised.

- ``correlation``: of responses or choices of a candidate with measured ones, or the highest one that noise allows; in
  [-1, 1].
- ``reliability``: the share of the variance of measured responses that is signal; the square of that highest
  correlation.
- ``dissimilarity_correlation``, ``dissimilarity_reliability``: the same of dissimilarities between stimuli, which
  average over neuroids and are more reliable than the responses that they are computed from.
- ``accuracy``: share of right answers, in [0, 1].
- ``kappa``: agreement beyond that by chance, in [-1, 1].
- ``share``: anything else on a scale of its own whose ceiling is on the same scale, such as a similarity.
"""


class Metric:
    """Say how similar two assemblies are. Derive from it and define `__call__`.

    Attributes
    ----------
    quantity : str or None
        What kind of number the scores are, one of `Quantity`; the metric also writes it to ``attrs['quantity']``.
        None: not declared, nothing is checked when a score is normalised.
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
    """Say how well the best possible model could do on a measurement. Derive from it and define `__call__`.

    Attributes
    ----------
    quantity : str or None
        As for `Metric`.
    estimator : str or None
        How it is estimated, in a few words for people; it also writes that to ``attrs['estimator']``. None: not stated.
    """

    quantity: ClassVar[Quantity | None] = None
    estimator: str | None = None

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate the ceiling from a measurement, with its repetitions or subjects apart.

        Returns
        -------
        Score
            Scalar in (0, 1]; ``attrs['raw']`` holds the values before aggregation, ``attrs['error']`` the
            standard error, ``attrs['interval']`` the 95 % interval.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly) -> Score.")
