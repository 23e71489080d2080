"""Register the benchmarks of Marques et al. (2021) on 22 properties of single neurons in V1."""

from brainscore_vision import benchmark_registry

from . import benchmark as b


def make(*arguments):
    """Return the function that makes a benchmark; `marques2020` has the arguments."""
    return lambda **more: b.marques2020(*arguments, **more)


BENCHMARKS = (  # name, experiment, property, parent
    ("Cavanaugh2002-grating_summation_field", b.SIZE, "grating_summation_field", "receptive_field_size"),
    ("Cavanaugh2002-surround_diameter", b.SIZE, "surround_diameter", "receptive_field_size"),
    ("Cavanaugh2002-surround_suppression_index", b.SIZE, "surround_suppression_index", "surround_modulation"),
    ("DeValois1982-pref_or", b.PREFERENCE, "preferred_orientation", "orientation"),
    ("DeValois1982-peak_sf", b.FREQUENCY, "peak_spatial_frequency", "spatial_frequency"),
    ("FreemanZiemba2013-texture_modulation_index", b.TEXTURE, "texture_modulation_index", "texture_modulation"),
    (
        "FreemanZiemba2013-abs_texture_modulation_index",
        b.TEXTURE,
        "absolute_texture_modulation_index",
        "texture_modulation",
    ),
    ("FreemanZiemba2013-texture_selectivity", b.TEXTURE, "texture_selectivity", "response_selectivity"),
    ("FreemanZiemba2013-texture_sparseness", b.TEXTURE, "texture_sparseness", "response_selectivity"),
    ("FreemanZiemba2013-texture_variance_ratio", b.TEXTURE, "variance_ratio", "response_selectivity"),
    ("FreemanZiemba2013-max_texture", b.TEXTURE, "max_texture", "response_magnitude"),
    ("FreemanZiemba2013-max_noise", b.TEXTURE, "max_noise", "response_magnitude"),
    ("Ringach2002-circular_variance", b.ORIENTATION, "circular_variance", "orientation"),
    ("Ringach2002-or_bandwidth", b.ORIENTATION, "bandwidth", "orientation"),
    ("Ringach2002-orth_pref_ratio", b.ORIENTATION, "orthogonal_preferred_ratio", "orientation"),
    ("Ringach2002-or_selective", b.ORIENTATION, "orientation_selective", "orientation"),
    ("Ringach2002-cv_bandwidth_ratio", b.ORIENTATION, "circular_variance_bandwidth_ratio", "orientation"),
    (
        "Ringach2002-opr_cv_diff",
        b.ORIENTATION,
        "orthogonal_preferred_ratio_circular_variance_difference",
        "orientation",
    ),
    ("Ringach2002-max_dc", b.ORIENTATION, "max_dc", "response_magnitude"),
    ("Ringach2002-modulation_ratio", b.ORIENTATION, "modulation_ratio", "response_selectivity"),
    ("Schiller1976-sf_selective", b.SELECTIVITY, "spatial_frequency_selective", "spatial_frequency"),
    ("Schiller1976-sf_bandwidth", b.SELECTIVITY, "spatial_frequency_bandwidth", "spatial_frequency"),
)

for name, experiment, property_name, parent in BENCHMARKS:
    benchmark_registry[f"Marques2020_{name}"] = make(name, experiment, property_name, parent)
