"""Define the contracts of metrics and ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from brainscore_core.metrics._score import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = ["Ceiling", "Metric", "Quantity"]

Quantity = Literal["correlation", "reliability", "share"]
"""What kind of number a score is, which decides how it may be normalised.

- ``correlation``: between a candidate and a measurement, or the highest one that noise allows; in [-1, 1].
- ``reliability``: the share of a measurement's variance that is signal; the square of the highest correlation.
- ``share``: anything else on a scale of its own whose ceiling is on the same scale: accuracy, kappa, similarity.
"""


class Metric:
    """Say how similar two assemblies are. Derive from it and define `__call__`.

    Attributes
    ----------
    quantity : 'correlation', 'reliability', 'share' or None
        What kind of number the scores are; the metric also writes it to ``attrs['quantity']``. None: not declared,
        nothing is checked when a score is normalised.
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
    quantity : 'correlation', 'reliability', 'share' or None
        As for `Metric`.
    """

    quantity: ClassVar[Quantity | None] = None

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate the ceiling from a measurement, with its repetitions or subjects apart.

        Returns
        -------
        Score
            Scalar in (0, 1]; ``attrs['raw']`` holds the values before aggregation, ``attrs['error']`` the
            standard error.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly) -> Score.")
