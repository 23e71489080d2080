"""Define the contracts of metrics and ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_core.metrics._score import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly

__all__ = ["Ceiling", "Metric"]


class Metric:
    """Say how similar two assemblies are. Derive from it and define `__call__`."""

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare two assemblies.

        Parameters
        ----------
        assembly1 : DataAssembly
            Of the candidate model (source).
        assembly2 : DataAssembly
            Of the measurement (target).

        Returns
        -------
        Score
            Scalar, 1 for a perfect match; ``attrs['raw']`` holds the values before aggregation.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly1, assembly2) -> Score.")


class Ceiling:
    """Say how well the best possible model could do on a measurement. Derive from it and define `__call__`."""

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate the ceiling.

        Parameters
        ----------
        assembly : DataAssembly
            The measurement, with its repetitions or subjects apart.

        Returns
        -------
        Score
            Scalar in (0, 1]; ``attrs['raw']`` holds the values before aggregation, ``attrs['error']`` the
            standard error.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, assembly) -> Score.")
