"""Register the benchmarks of Islam et al. (2021): the share of a region's units that code shape, or texture."""

from brainscore_vision import benchmark_registry

from .benchmark import FactorDimensionality

benchmark_registry["Islam2021-shape_v1_dimensionality"] = lambda: FactorDimensionality("shape", "V1")
benchmark_registry["Islam2021-texture_v1_dimensionality"] = lambda: FactorDimensionality("texture", "V1")
benchmark_registry["Islam2021-shape_v2_dimensionality"] = lambda: FactorDimensionality("shape", "V2")
benchmark_registry["Islam2021-texture_v2_dimensionality"] = lambda: FactorDimensionality("texture", "V2")
benchmark_registry["Islam2021-shape_v4_dimensionality"] = lambda: FactorDimensionality("shape", "V4")
benchmark_registry["Islam2021-texture_v4_dimensionality"] = lambda: FactorDimensionality("texture", "V4")
benchmark_registry["Islam2021-shape_it_dimensionality"] = lambda: FactorDimensionality("shape", "IT")
benchmark_registry["Islam2021-texture_it_dimensionality"] = lambda: FactorDimensionality("texture", "IT")
