"""Compute properties of one neuron or many from tuning curves and responses.

Curves extend along the last axis, on increasing values of the tested property; leading axes are neurons. With a single
curve, results are numbers. Orientations are in degrees, evenly spaced over 180. `filt_type` (see `FILTERS`; None: none)
smooths over neighbouring conditions; widths are measured at the share `thrsh` of the peak response. Properties of
neurons without any response are NaN.

References
----------
Marques et al. (2021), doi:10.1101/2021.03.01.433495. Ringach et al. (2002),
doi:10.1523/JNEUROSCI.22-13-05639.2002 (orientation). Schiller et al. (1976), doi:10.1152/jn.1976.39.6.1334
(spatial frequency). Cavanaugh et al. (2002), doi:10.1152/jn.00692.2001 (size). Freeman et al. (2013),
doi:10.1038/nn.3402, and Ziemba et al. (2016), doi:10.1073/pnas.1510847113 (texture). Vinje & Gallant (2000),
doi:10.1126/science.287.5456.1273 (sparseness).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.interpolate import make_interp_spline

from brainscore_vision.metric_helpers.arrays.correlation import mean_known

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices, NDArray

__all__ = [
    "calc_bandwidth",
    "calc_circular_variance",
    "calc_orthogonal_preferred_ratio",
    "calc_preferred_orientation",
    "calc_size_tuning",
    "calc_sparseness",
    "calc_spatial_frequency_tuning",
    "calc_texture_modulation",
    "calc_variance",
    "calc_variance_ratio",
]

PerCurve: TypeAlias = Any  # a number for one curve, an array for several

FILTERS = {
    "hanning": (0.0, 0.4, 1.0, 0.4, 0.0),
    "flat": (1.0, 1.0, 1.0, 1.0, 1.0),
    "smooth": (0.0, 0.2, 1.0, 0.2, 0.0),
    "triangle": (0.5, 0.75, 1.0, 0.75, 0.5),
}
"""Weights of five neighbouring conditions, before normalisation."""

_DEGREES = np.arange(-180.0, 360.0)  # three periods of orientation
_SUPPRESSED = 0.1  # least surround suppression index with a defined surround size
_SUMMATION = 0.95  # share of the peak response that the summation field reaches
_PLATEAU = 0.05  # the surround ends within this share of the plateau
_UNTUNED = 1e-9  # share of all responses below which a vector sum is rounding
_VARIANCE_FLOOR = 0.02  # keeps the ratio of variances finite


def calc_circular_variance(orientation_curve: ArrayLike, orientation: ArrayLike) -> PerCurve:
    """Compute ``1 - |sum_k r_k exp(2 i o_k)| / sum_k |r_k|``: 0 for responses to one orientation, 1 for equal ones.

    Examples
    --------
    >>> float(calc_circular_variance([1.0, 0.0, 0.0, 0.0], [0, 45, 90, 135]))
    0.0
    """
    curves = np.asarray(orientation_curve, dtype=np.float64)
    angles = np.deg2rad(np.asarray(orientation, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1.0 - np.abs(curves @ np.exp(2j * angles)) / np.abs(curves).sum(axis=-1)


def calc_preferred_orientation(orientation_curve: ArrayLike, orientation: ArrayLike) -> PerCurve:
    """Compute half the angle of ``sum_k r_k exp(2 i o_k)``, whose length gives the circular variance.

    Degrees, in [0, 180); NaN if all responses are equal. A constant added to the responses does not matter.

    Examples
    --------
    >>> round(float(calc_preferred_orientation([1.0, 2.0, 2.0, 1.0], [0, 45, 90, 135])), 1)
    67.5
    """
    curves = np.asarray(orientation_curve, dtype=np.float64)
    angles = np.deg2rad(np.asarray(orientation, dtype=np.float64))
    total = curves @ np.exp(2j * angles)
    preferred = np.rad2deg(np.angle(total)) / 2.0 % 180.0
    tuned = np.abs(total) > _UNTUNED * np.abs(curves).sum(axis=-1)
    return np.where(tuned, np.where(preferred < 180.0, preferred, 0.0), np.nan)[()]


def calc_bandwidth(
    orientation_curve: ArrayLike,
    orientation: ArrayLike,
    filt_type: str | None = "hanning",
    thrsh: float = 0.5,
    mode: Literal["full", "half"] = "full",
) -> tuple[PerCurve, PerCurve, Floats, Floats]:
    """Measure the width of orientation tuning on a smoothed, interpolated curve.

    It is the distance between both flanks or, in the mode 'half', half of it.

    Returns
    -------
    bandwidth : float or ndarray, shape (...)
        Degrees; NaN if the response does not fall below the threshold on both sides, or the width exceeds 180.
    preferred : int or ndarray, shape (...)
        Degree of the peak, 0 to 179.
    angles, curve : ndarray, shapes (180,) and (..., 180)
        The interpolated curve.
    """
    curves = np.atleast_1d(np.squeeze(np.asarray(orientation_curve, dtype=np.float64)))
    angles = np.asarray(orientation, dtype=np.float64)
    periods = np.concatenate([angles - 180.0, angles, angles + 180.0])
    tripled = np.concatenate([curves, curves, curves], axis=-1)
    if filt_type is not None:
        tripled = _smoothed(np.pad(tripled, [(0, 0)] * (curves.ndim - 1) + [(2, 2)]), filt_type)
    full = _interpolated(periods, tripled, _DEGREES)
    preferred = np.argmax(full[..., 180:360], axis=-1)
    peak = np.take_along_axis(full, (preferred + 180)[..., None], axis=-1)
    last_below, after = _crossings(full <= peak * thrsh, preferred + 180)
    width = np.where((last_below < 0) | (after >= full.shape[-1]), np.nan, (after - last_below).astype(np.float64))
    width = np.where(width > 180.0, np.nan, width)
    if mode == "half":
        width = width / 2.0
    return width[()], preferred[()], _DEGREES[180:360], full[..., 180:360]


def calc_orthogonal_preferred_ratio(orientation_curve: ArrayLike, orientation: ArrayLike) -> PerCurve:
    """Divide the response to the orientation orthogonal to the preferred one by the preferred response; at most 1.

    The number of orientations is even.
    """
    curves = np.asarray(orientation_curve, dtype=np.float64)
    number = len(np.asarray(orientation))
    preferred = np.argmax(curves, axis=-1)[..., None]
    orthogonal = (preferred + number // 2) % number
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.take_along_axis(curves, orthogonal, axis=-1) / np.take_along_axis(curves, preferred, axis=-1)
    return ratio[..., 0]


def calc_spatial_frequency_tuning(
    y: ArrayLike,
    sf: ArrayLike,
    filt_type: str | None = "triangle",
    thrsh: float = 0.707,
    mode: Literal["ratio", "oct"] = "ratio",
    *,
    compat: bool = False,
) -> tuple[PerCurve, PerCurve, PerCurve, Floats, Floats]:
    """Measure the peak and the width of spatial frequency tuning on a smoothed, interpolated curve.

    Parameters
    ----------
    sf : array-like, shape (n_frequencies,)
        Cycles per degree; at least four.
    mode : {'ratio', 'oct'}
        Width as ``100 low / high`` or in octaves, ``log2(high / low)``; with `compat`, ``high / low - 1``, as
        published.

    Returns
    -------
    bandwidth, peak : float or ndarray, shape (...)
        NaN if the response does not fall below the threshold on both sides; cycles per degree.
    r2 : float or ndarray, shape (...)
        Share of the responses' variance that the smoothed curve explains.
    frequencies, curve : ndarray, shapes (100,) and (..., 100)
        The interpolated curve.
    """
    responses = np.asarray(y, dtype=np.float64)
    octaves = np.log2(np.asarray(sf, dtype=np.float64))
    smooth = responses
    if filt_type is not None:
        smooth = _smoothed(np.pad(responses, [(0, 0)] * (responses.ndim - 1) + [(2, 2)], mode="edge"), filt_type)
    dense = np.linspace(octaves[0], octaves[-1], num=100)
    curve = _interpolated(octaves, smooth, dense)
    preferred = np.argmax(curve, axis=-1)
    peak = np.take_along_axis(curve, preferred[..., None], axis=-1)
    last_below, after = _crossings(curve <= peak * thrsh, preferred)
    low = np.where(last_below < 0, np.nan, dense[np.maximum(last_below, 0)])
    high = np.where(after >= len(dense), np.nan, dense[np.minimum(after, len(dense) - 1)])
    widths = {"ratio": 2.0 ** (low - high) * 100.0, "oct": 2.0 ** (high - low) - 1.0 if compat else high - low}
    bandwidth = widths[mode]
    residual = ((responses - smooth) ** 2).sum(axis=-1)
    spread = ((responses - responses.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = 1.0 - residual / spread
    return bandwidth[()], (2.0 ** dense[preferred])[()], r2[()], 2.0**dense, curve


def calc_size_tuning(size_curve: ArrayLike, radius: ArrayLike) -> tuple[PerCurve, PerCurve, PerCurve, PerCurve]:
    """Measure the summation field and its surround on a size tuning curve; all sizes in degrees of visual angle.

    Returns
    -------
    summation_field, surround_diameter : float or ndarray, shape (...)
        Smallest diameter with 95 % of the peak response, and beyond it within 5 % of the plateau.
    ratio : float or ndarray, shape (...)
        Ratio of the two. All three are NaN for neurons without suppression (index up to 0.1).
    suppression : float or ndarray, shape (...)
        ``(peak - plateau) / peak``.
    """
    curves = np.asarray(size_curve, dtype=np.float64)
    radii = np.asarray(radius, dtype=np.float64)
    preferred = np.argmax(curves, axis=-1)
    peak = curves.max(axis=-1)
    plateau = curves[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        suppression = np.where(peak == 0, np.nan, (peak - plateau) / peak)
        defined = (peak > 0) & (suppression > _SUPPRESSED)
    summed = 2.0 * radii[np.argmax(curves >= _SUMMATION * peak[..., None], axis=-1)]
    low = curves <= (plateau + _PLATEAU * np.abs(plateau))[..., None]
    beyond = np.arange(len(radii)) > preferred[..., None]
    surround = 2.0 * radii[np.argmax(low & beyond, axis=-1)]
    field, diameter = np.where(defined, summed, np.nan), np.where(defined, surround, np.nan)
    return field[()], diameter[()], (diameter / field)[()], suppression[()]


def calc_texture_modulation(response: ArrayLike) -> tuple[PerCurve, Floats]:
    """Compare mean responses to noise and to textures with the same spectrum, shape (..., 2, n_families).

    Return the mean over families, ignoring NaN, and each family's index ``(texture - noise) / (texture + noise)``: in
    [-1, 1] for responses that are not negative; NaN without any response.
    """
    values = np.asarray(response, dtype=np.float64)
    noise, texture = values[..., 0, :], values[..., 1, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        by_family: Floats = (texture - noise) / (texture + noise)
    return mean_known(by_family, axis=-1)[()], by_family


def calc_sparseness(response: ArrayLike) -> float:
    """Compute ``(1 - mean(r)^2 / mean(r^2)) / (1 - 1 / n)`` over n responses of one neuron (Vinje & Gallant 2000).

    0 for equal responses, 1 for a response to one stimulus only.

    Examples
    --------
    >>> float(calc_sparseness([0.0, 0.0, 0.0, 5.0]))
    1.0
    """
    values = np.asarray(response, dtype=np.float64).reshape(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((1.0 - values.mean() ** 2 / np.mean(values**2)) / (1.0 - 1.0 / len(values)))


def calc_variance_ratio(response: ArrayLike) -> tuple[float, float, float]:
    """Compare the variance of responses between texture families and between samples of a family.

    Responses of one neuron, shape (n_families, n_samples[, n_repetitions]), have a variance independent of the mean.
    Return ``(family_share + 0.02) / (sample_share + 0.02)`` and both shares of the total variance.
    """
    values = np.asarray(response, dtype=np.float64)
    residual_ms, sample_ms, family_ms = calc_variance(values)
    repetitions = values.shape[2] if values.ndim == 3 else 1
    residual = residual_ms if values.ndim == 3 else 0.0
    sample = (sample_ms - residual) / repetitions
    family = (family_ms - sample_ms) / (repetitions * values.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.float64(residual + sample + family)
        sample_share, family_share = sample / total, family / total
        ratio = (family_share + _VARIANCE_FLOOR) / (sample_share + _VARIANCE_FLOOR)
    return ratio, sample_share, family_share


def calc_variance(response: ArrayLike) -> tuple[float, float, float]:
    """Compute the mean squares of a nested analysis of variance, for `calc_variance_ratio`.

    They are those between repetitions of a sample (NaN without any), samples of a family, and families.
    """
    values = np.asarray(response, dtype=np.float64)
    families, samples = values.shape[:2]
    repetitions = values.shape[2] if values.ndim == 3 else 1
    sample_means = values.mean(axis=2) if values.ndim == 3 else values
    family_means = sample_means.mean(axis=1)
    residual = float("nan")
    if values.ndim == 3:
        residual = float(((values - sample_means[..., None]) ** 2).sum() / (families * samples * (repetitions - 1)))
    sample = repetitions * ((sample_means - family_means[:, None]) ** 2).sum() / (families * (samples - 1))
    family = samples * repetitions * ((family_means - family_means.mean()) ** 2).sum() / (families - 1)
    return residual, float(sample), float(family)


def _smoothed(padded: Floats, filt_type: str) -> Floats:
    """Average over five neighbours; shape (..., n + 4) to (..., n)."""
    if filt_type not in FILTERS:
        raise ValueError(f"Unknown filter {filt_type!r}; expected one of {', '.join(FILTERS)}.")
    weights = np.asarray(FILTERS[filt_type])
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(weights), axis=-1)
    smooth: Floats = windows @ (weights / weights.sum())
    return smooth


def _interpolated(places: Floats, values: Floats, dense: Floats) -> Floats:
    result: Floats = make_interp_spline(places, values, k=3, axis=-1)(dense)
    return result


def _crossings(low: NDArray[np.bool_], peak: Indices) -> tuple[Indices, Indices]:
    """Return the last low place before the peak (-1 if none) and the first after it (the length if none)."""
    n = low.shape[-1]
    places = np.arange(n)
    middle = np.asarray(peak)[..., None]
    last_below = np.where(low & (places < middle), places, -1).max(axis=-1)
    after = np.where(low & (places > middle), places, n).min(axis=-1)
    return last_below, after
