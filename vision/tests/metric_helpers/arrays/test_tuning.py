import numpy as np
import pytest
from scipy.interpolate import UnivariateSpline

from brainscore_vision.metric_helpers.arrays.tuning import (
    calc_bandwidth,
    calc_circular_variance,
    calc_orthogonal_preferred_ratio,
    calc_preferred_orientation,
    calc_size_tuning,
    calc_sparseness,
    calc_spatial_frequency_tuning,
    calc_texture_modulation,
    calc_variance,
    calc_variance_ratio,
)

ORIENTATION = np.arange(0, 180, 22.5)
FREQUENCY = np.array([0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8, 11.2])
RADIUS = np.array([0.1, 0.2, 0.4, 0.8, 1.6])


def von_mises(preferred, sharpness=2.0, angles=ORIENTATION):
    return np.exp(sharpness * (np.cos(2 * np.deg2rad(angles - preferred)) - 1))


def test_circular_variance_of_known_curves():
    assert calc_circular_variance(np.ones(8), ORIENTATION) == pytest.approx(1)
    assert calc_circular_variance(np.eye(8)[3], ORIENTATION) == pytest.approx(0)
    values = calc_circular_variance(np.stack([von_mises(30), von_mises(80) * 7]), ORIENTATION)
    assert values.shape == (2,)
    assert values[0] == pytest.approx(values[1], abs=1e-3)  # neither the preference nor the amplitude matters
    assert np.isnan(calc_circular_variance(np.zeros(8), ORIENTATION))


@pytest.mark.parametrize("preferred", [10, 90, 170])
def test_bandwidth_of_a_known_curve(preferred):
    """exp(k (cos 2d - 1)) falls to one half at cos 2d = 1 - ln 2 / k."""
    fine = np.arange(0, 180, 5.0)
    width, peak, angles, curve = calc_bandwidth(von_mises(preferred, angles=fine), fine, filt_type=None)
    assert width == pytest.approx(np.rad2deg(np.arccos(1 - np.log(2) / 2)), abs=2)
    assert peak == preferred
    assert angles.shape == curve.shape == (180,)
    half = calc_bandwidth(von_mises(preferred, angles=fine), fine, filt_type=None, mode="half")[0]
    assert half == width / 2


@pytest.mark.parametrize(("filt_type", "weights"), [("hanning", [0, 2, 5, 2, 0]), ("smooth", [0, 1, 5, 1, 0])])
def test_bandwidth_interpolates_the_smoothed_curve_like_fitpack(filt_type, weights):
    curve = von_mises(50) + 0.1 * np.random.default_rng(0).random(8)
    smooth = np.convolve(np.array(weights) / np.sum(weights), np.tile(curve, 3), mode="same")
    periods = np.concatenate([ORIENTATION - 180, ORIENTATION, ORIENTATION + 180])
    expected = UnivariateSpline(periods, smooth, s=0)(np.arange(180))
    np.testing.assert_allclose(calc_bandwidth(curve, ORIENTATION, filt_type=filt_type)[3], expected, atol=1e-10)


def test_broad_tuning_has_no_bandwidth():
    assert np.isnan(calc_bandwidth(1 + 0.1 * von_mises(50), ORIENTATION)[0])
    assert np.isnan(calc_bandwidth(np.ones(8), ORIENTATION)[0])
    with pytest.raises(ValueError, match="hanning"):
        calc_bandwidth(np.ones(8), ORIENTATION, filt_type="haning")


def test_many_neurons_together_equal_single_ones():
    rng = np.random.default_rng(0)
    curves = rng.random((3, 4, 8)) + 2 * np.array(
        [[von_mises(rng.uniform(0, 180)) for _ in range(4)] for _ in range(3)]
    )
    width, peak, _, dense = calc_bandwidth(curves, ORIENTATION, thrsh=0.707)
    tuning = calc_spatial_frequency_tuning(rng.random((5, 11)), FREQUENCY)
    assert (width.shape, dense.shape, tuning[0].shape, tuning[4].shape) == ((3, 4), (3, 4, 180), (5,), (5, 100))
    for place in np.ndindex(3, 4):
        single = calc_bandwidth(curves[place], ORIENTATION, thrsh=0.707)
        np.testing.assert_allclose([width[place], peak[place]], single[:2])
    one = calc_bandwidth(curves[0, 0][None], ORIENTATION)
    np.testing.assert_allclose(one[0], calc_bandwidth(curves[0, 0], ORIENTATION)[0])


def test_orthogonal_preferred_ratio_matches_hand_computed_values():
    assert calc_orthogonal_preferred_ratio([4.0, 1.0, 2.0, 3.0], [0, 45, 90, 135]) == 0.5
    assert calc_orthogonal_preferred_ratio([[1.0, 2.0, 0.0, 4.0], [4.0, 0.0, 0.0, 0.0]], [0, 45, 90, 135]).tolist() == [
        0.5,
        0.0,
    ]


def test_spatial_frequency_tuning_of_a_known_curve():
    """exp(-d^2) over octaves d falls to .707 at sqrt(-ln .707) on both sides."""
    octaves = np.log2(FREQUENCY)
    half = np.sqrt(-np.log(0.707))
    curve = np.exp(-((octaves - 1) ** 2))
    width, peak, r2, frequencies, dense = calc_spatial_frequency_tuning(curve, FREQUENCY, filt_type=None, mode="oct")
    assert width == pytest.approx(2 * half, abs=0.1)
    assert peak == pytest.approx(2, rel=0.05)
    assert r2 == pytest.approx(1)
    assert frequencies.shape == dense.shape == (100,)
    ratio = calc_spatial_frequency_tuning(curve, FREQUENCY, filt_type=None)[0]
    assert ratio == pytest.approx(100 * 2**-width)
    published = calc_spatial_frequency_tuning(curve, FREQUENCY, filt_type=None, mode="oct", compat=True)[0]
    assert published == pytest.approx(2**width - 1)


def test_low_pass_tuning_has_no_width():
    assert np.isnan(calc_spatial_frequency_tuning(np.exp(-np.arange(11)), FREQUENCY)[0])


def test_size_tuning_matches_hand_computed_values():
    field, surround, ratio, index = calc_size_tuning([2.0, 9.6, 10.0, 6.0, 5.0], RADIUS)
    assert (field, surround, index) == (0.4, 3.2, 0.5)
    assert ratio == pytest.approx(8)
    many = calc_size_tuning([[1.0, 2.0, 3.0, 4.0, 5.0], [0.0] * 5], RADIUS)
    assert np.isnan(many[:3]).all()
    np.testing.assert_array_equal(many[3], [0, np.nan])


def test_preferred_orientation_is_the_axis_of_the_vector_sum():
    assert calc_preferred_orientation(np.eye(8)[3], ORIENTATION) == pytest.approx(67.5)
    planted = np.array([0.0, 30.0, 101.0, 179.0])
    curves = np.stack([3 * von_mises(each) for each in planted])
    np.testing.assert_allclose(calc_preferred_orientation(curves[1:], ORIENTATION), planted[1:], atol=0.01)
    np.testing.assert_allclose(calc_preferred_orientation(curves[1:] + 5, ORIENTATION), planted[1:], atol=0.01)
    found = calc_preferred_orientation(curves, ORIENTATION)
    assert ((found >= 0) & (found < 180)).all()  # even at the border
    assert calc_preferred_orientation([1.0, -1e-20, 0, 0], [0, 45, 90, 135]) == 0  # not 180
    assert np.isnan(calc_preferred_orientation(np.ones((2, 8)), ORIENTATION)).all()


def test_texture_modulation_matches_hand_computed_values():
    mean, by_family = calc_texture_modulation([[1.0, 2.0, 0.0], [3.0, 2.0, 0.0]])
    assert mean == 0.25
    np.testing.assert_array_equal(by_family, [0.5, 0, np.nan])


def test_sparseness_matches_hand_computed_values():
    assert calc_sparseness(np.ones((2, 3))) == pytest.approx(0)
    assert calc_sparseness([1.0, 3.0]) == pytest.approx((1 - 4 / 5) / 0.5)


def test_variance_components_are_recovered():
    rng = np.random.default_rng(0)
    shape = (400, 20, 10)
    response = 2 * rng.normal(size=(400, 1, 1)) + 1.5 * rng.normal(size=(400, 20, 1)) + 0.5 * rng.normal(size=shape)
    ratio, sample, family = calc_variance_ratio(response)
    total = 4 + 2.25 + 0.25
    assert (sample, family) == pytest.approx((2.25 / total, 4 / total), abs=0.03)
    assert ratio == pytest.approx((family + 0.02) / (sample + 0.02))
    residual, _, _ = calc_variance(response)
    assert residual == pytest.approx(0.25, rel=0.05)
    assert np.isnan(calc_variance(response[:, :, 0])[0])
