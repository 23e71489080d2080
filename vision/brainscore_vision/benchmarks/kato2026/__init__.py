"""Register the benchmarks of Kato & He (2026): nine forms of pictures, two metrics each."""

from functools import partial

from brainscore_vision import benchmark_registry

from .benchmark import Kato2026

for form in ("Ori", "Fil", "Lin", "SilTex", "Sil", "Tex", "LinFil", "Sparse", "Dense"):
    for metric in ("error_consistency", "accuracy_distance"):
        benchmark_registry[f"Kato2026{form}-{metric}"] = partial(Kato2026, form, metric)
