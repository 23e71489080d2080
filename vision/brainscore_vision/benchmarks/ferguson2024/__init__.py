"""Register the benchmarks of Ferguson et al. (2024): asymmetries of visual search, in 14 experiments."""

from functools import partial

from brainscore_vision import benchmark_registry

from .benchmark import ValueDelta

EXPERIMENTS = (
    "circle_line",
    "color",
    "convergence",
    "eighth",
    "gray_easy",
    "gray_hard",
    "half",
    "juncture",
    "lle",
    "llh",
    "quarter",
    "round_f",
    "round_v",
    "tilted_line",
)

for experiment in EXPERIMENTS:
    benchmark_registry[f"Ferguson2024{experiment}-value_delta"] = partial(ValueDelta, experiment)
