"""Register the benchmark on macaque IT that sees letters and words (Rajalingham et al. 2020)."""

from brainscore_vision import benchmark_registry

from .benchmark import DicarloRajalingham2020ITPLS

benchmark_registry["Rajalingham2020.IT-pls"] = DicarloRajalingham2020ITPLS
