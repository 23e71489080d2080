"""Register the benchmarks on macaque V4 and IT that were recorded alike with three sets of images (Sanghavi 2020)."""

from brainscore_vision import benchmark_registry

from .benchmark import Sanghavi2020, SanghaviJozwik2020, SanghaviMurty2020

benchmark_registry["Sanghavi2020.V4-pls"] = lambda: Sanghavi2020("V4")
benchmark_registry["Sanghavi2020.IT-pls"] = lambda: Sanghavi2020("IT")
benchmark_registry["SanghaviJozwik2020.V4-pls"] = lambda: SanghaviJozwik2020("V4")
benchmark_registry["SanghaviJozwik2020.IT-pls"] = lambda: SanghaviJozwik2020("IT")
benchmark_registry["SanghaviMurty2020.V4-pls"] = lambda: SanghaviMurty2020("V4")
benchmark_registry["SanghaviMurty2020.IT-pls"] = lambda: SanghaviMurty2020("IT")
