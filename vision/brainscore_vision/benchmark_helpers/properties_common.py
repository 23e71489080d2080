"""Published plugins import this from here."""

from brainscore_vision.benchmark_helpers.properties import PropertiesBenchmark
from brainscore_vision.benchmark_helpers.properties import require_gratings as _assert_grating_activations
from brainscore_vision.benchmark_helpers.properties import require_textures as _assert_texture_activations
from brainscore_vision.metric_helpers.arrays.tuning import (
    calc_bandwidth,
    calc_circular_variance,
    calc_orthogonal_preferred_ratio,
    calc_size_tuning,
    calc_sparseness,
    calc_spatial_frequency_tuning,
    calc_texture_modulation,
    calc_variance,
    calc_variance_ratio,
)

__all__ = [
    "PropertiesBenchmark",
    "_assert_grating_activations",
    "_assert_texture_activations",
    "calc_bandwidth",
    "calc_circular_variance",
    "calc_orthogonal_preferred_ratio",
    "calc_size_tuning",
    "calc_sparseness",
    "calc_spatial_frequency_tuning",
    "calc_texture_modulation",
    "calc_variance",
    "calc_variance_ratio",
]
