"""Register the benchmarks on macaque V1 that sees natural images and textures (Cadena et al. 2019)."""

from brainscore_vision import benchmark_registry

from .benchmark import ToliasCadena2017Mask, ToliasCadena2017PLS

benchmark_registry["Cadena2017-pls"] = ToliasCadena2017PLS
benchmark_registry["Cadena2017-mask"] = ToliasCadena2017Mask
