"""Register the benchmarks of Ferguson et al. (2024): asymmetries of visual search, in 14 experiments."""

from brainscore_vision import benchmark_registry

from .benchmark import ValueDelta

benchmark_registry["Ferguson2024circle_line-value_delta"] = lambda: ValueDelta("circle_line")
benchmark_registry["Ferguson2024color-value_delta"] = lambda: ValueDelta("color")
benchmark_registry["Ferguson2024convergence-value_delta"] = lambda: ValueDelta("convergence")
benchmark_registry["Ferguson2024eighth-value_delta"] = lambda: ValueDelta("eighth")
benchmark_registry["Ferguson2024gray_easy-value_delta"] = lambda: ValueDelta("gray_easy")
benchmark_registry["Ferguson2024gray_hard-value_delta"] = lambda: ValueDelta("gray_hard")
benchmark_registry["Ferguson2024half-value_delta"] = lambda: ValueDelta("half")
benchmark_registry["Ferguson2024juncture-value_delta"] = lambda: ValueDelta("juncture")
benchmark_registry["Ferguson2024lle-value_delta"] = lambda: ValueDelta("lle")
benchmark_registry["Ferguson2024llh-value_delta"] = lambda: ValueDelta("llh")
benchmark_registry["Ferguson2024quarter-value_delta"] = lambda: ValueDelta("quarter")
benchmark_registry["Ferguson2024round_f-value_delta"] = lambda: ValueDelta("round_f")
benchmark_registry["Ferguson2024round_v-value_delta"] = lambda: ValueDelta("round_v")
benchmark_registry["Ferguson2024tilted_line-value_delta"] = lambda: ValueDelta("tilted_line")
