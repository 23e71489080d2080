"""Register the benchmarks of Marques et al. (2021) on 22 properties of single neurons in V1."""

from brainscore_vision import benchmark_registry

from . import benchmark as b

benchmark_registry["Marques2020_Cavanaugh2002-grating_summation_field"] = lambda **more: b.marques2020(
    "Cavanaugh2002-grating_summation_field", b.SIZE, "grating_summation_field", "receptive_field_size", **more
)
benchmark_registry["Marques2020_Cavanaugh2002-surround_diameter"] = lambda **more: b.marques2020(
    "Cavanaugh2002-surround_diameter", b.SIZE, "surround_diameter", "receptive_field_size", **more
)
benchmark_registry["Marques2020_Cavanaugh2002-surround_suppression_index"] = lambda **more: b.marques2020(
    "Cavanaugh2002-surround_suppression_index", b.SIZE, "surround_suppression_index", "surround_modulation", **more
)
benchmark_registry["Marques2020_DeValois1982-pref_or"] = lambda **more: b.marques2020(
    "DeValois1982-pref_or", b.PREFERENCE, "preferred_orientation", "orientation", **more
)
benchmark_registry["Marques2020_DeValois1982-peak_sf"] = lambda **more: b.marques2020(
    "DeValois1982-peak_sf", b.FREQUENCY, "peak_spatial_frequency", "spatial_frequency", **more
)
benchmark_registry["Marques2020_FreemanZiemba2013-texture_modulation_index"] = lambda **more: b.marques2020(
    "FreemanZiemba2013-texture_modulation_index",
    b.TEXTURE,
    "texture_modulation_index",
    "texture_modulation",
    **more,
)
benchmark_registry["Marques2020_FreemanZiemba2013-abs_texture_modulation_index"] = lambda **more: b.marques2020(
    "FreemanZiemba2013-abs_texture_modulation_index",
    b.TEXTURE,
    "absolute_texture_modulation_index",
    "texture_modulation",
    **more,
)
benchmark_registry["Marques2020_FreemanZiemba2013-texture_selectivity"] = lambda **more: b.marques2020(
    "FreemanZiemba2013-texture_selectivity", b.TEXTURE, "texture_selectivity", "response_selectivity", **more
)
benchmark_registry["Marques2020_FreemanZiemba2013-texture_sparseness"] = lambda **more: b.marques2020(
    "FreemanZiemba2013-texture_sparseness", b.TEXTURE, "texture_sparseness", "response_selectivity", **more
)
benchmark_registry["Marques2020_FreemanZiemba2013-texture_variance_ratio"] = lambda **more: b.marques2020(
    "FreemanZiemba2013-texture_variance_ratio", b.TEXTURE, "variance_ratio", "response_selectivity", **more
)
benchmark_registry["Marques2020_FreemanZiemba2013-max_texture"] = lambda **more: b.marques2020(
    "FreemanZiemba2013-max_texture", b.TEXTURE, "max_texture", "response_magnitude", **more
)
benchmark_registry["Marques2020_FreemanZiemba2013-max_noise"] = lambda **more: b.marques2020(
    "FreemanZiemba2013-max_noise", b.TEXTURE, "max_noise", "response_magnitude", **more
)
benchmark_registry["Marques2020_Ringach2002-circular_variance"] = lambda **more: b.marques2020(
    "Ringach2002-circular_variance", b.ORIENTATION, "circular_variance", "orientation", **more
)
benchmark_registry["Marques2020_Ringach2002-or_bandwidth"] = lambda **more: b.marques2020(
    "Ringach2002-or_bandwidth", b.ORIENTATION, "bandwidth", "orientation", **more
)
benchmark_registry["Marques2020_Ringach2002-orth_pref_ratio"] = lambda **more: b.marques2020(
    "Ringach2002-orth_pref_ratio", b.ORIENTATION, "orthogonal_preferred_ratio", "orientation", **more
)
benchmark_registry["Marques2020_Ringach2002-or_selective"] = lambda **more: b.marques2020(
    "Ringach2002-or_selective", b.ORIENTATION, "orientation_selective", "orientation", **more
)
benchmark_registry["Marques2020_Ringach2002-cv_bandwidth_ratio"] = lambda **more: b.marques2020(
    "Ringach2002-cv_bandwidth_ratio", b.ORIENTATION, "circular_variance_bandwidth_ratio", "orientation", **more
)
benchmark_registry["Marques2020_Ringach2002-opr_cv_diff"] = lambda **more: b.marques2020(
    "Ringach2002-opr_cv_diff",
    b.ORIENTATION,
    "orthogonal_preferred_ratio_circular_variance_difference",
    "orientation",
    **more,
)
benchmark_registry["Marques2020_Ringach2002-max_dc"] = lambda **more: b.marques2020(
    "Ringach2002-max_dc", b.ORIENTATION, "max_dc", "response_magnitude", **more
)
benchmark_registry["Marques2020_Ringach2002-modulation_ratio"] = lambda **more: b.marques2020(
    "Ringach2002-modulation_ratio", b.ORIENTATION, "modulation_ratio", "response_selectivity", **more
)
benchmark_registry["Marques2020_Schiller1976-sf_selective"] = lambda **more: b.marques2020(
    "Schiller1976-sf_selective", b.SELECTIVITY, "spatial_frequency_selective", "spatial_frequency", **more
)
benchmark_registry["Marques2020_Schiller1976-sf_bandwidth"] = lambda **more: b.marques2020(
    "Schiller1976-sf_bandwidth", b.SELECTIVITY, "spatial_frequency_bandwidth", "spatial_frequency", **more
)
