"""Register the benchmark of Kar et al. (2019): the times at which IT recognises objects."""

from brainscore_vision import benchmark_registry

from .benchmark import DicarloKar2019OST

benchmark_registry["Kar2019-ost"] = DicarloKar2019OST
