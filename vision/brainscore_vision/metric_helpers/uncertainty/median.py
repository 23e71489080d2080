"""Say how precise a median is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["median_standard_error"]


def median_standard_error(values: ArrayLike) -> float:
    """Return the bootstrap standard error of the median, without drawing.

    Over all samples of size n with replacement, the median is the i-th smallest value ``x_i`` with probability
    ``p_i = I(i/n) - I((i-1)/n)``, where I is the distribution function of Beta((n+1)/2, (n+1)/2); the error is the
    standard deviation of that. For odd n this is what drawing infinitely often would give; for even n, whose median is
    a mean of two values, it lies between the errors of their order statistics.

    Parameters
    ----------
    values : array-like, shape (n,)
        NaN does not count.

    Returns
    -------
    float
        NaN for fewer than two values.

    References
    ----------
    Maritz & Jarrett (1978), doi:10.1080/01621459.1978.10480027; Harrell & Davis (1982), doi:10.1093/biomet/69.3.635.

    Examples
    --------
    >>> round(median_standard_error([1., 2., 3.]), 4)
    0.7201
    """
    from scipy.special import betainc  # scipy is loaded by those who use it

    array = np.asarray(values, dtype=np.float64)
    ordered = np.sort(array[~np.isnan(array)])
    n = len(ordered)
    if n < 2:
        return float("nan")
    probability = np.diff(betainc((n + 1) / 2, (n + 1) / 2, np.arange(n + 1) / n))
    deviation = ordered - probability @ ordered
    return float(np.sqrt(probability @ deviation**2))
