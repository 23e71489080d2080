"""Register the benchmarks of Rajalingham et al. (2018): confusions of objects, image by image."""

from brainscore_vision import benchmark_registry

from .benchmarks.benchmark import DicarloRajalingham2018I2n, Rajalingham2018

benchmark_registry["Rajalingham2018-i2n"] = DicarloRajalingham2018I2n
benchmark_registry["Rajalingham2018public-i2n"] = lambda: Rajalingham2018(access="public")
