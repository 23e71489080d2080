"""Register the benchmarks on human visual cortex that sees animals and lookalikes (Bracci et al. 2019)."""

from brainscore_vision import benchmark_registry

from .benchmark import Bracci2019RSA

benchmark_registry["Bracci2019.V1-rdm"] = lambda: Bracci2019RSA("V1")
benchmark_registry["Bracci2019.posteriorVTC-rdm"] = lambda: Bracci2019RSA("posteriorVTC")
benchmark_registry["Bracci2019.anteriorVTC-rdm"] = lambda: Bracci2019RSA("anteriorVTC")

# Names of the first two that the published system has, commented out.
benchmark_registry["Bracci2019_RSA-V1"] = lambda: Bracci2019RSA("V1", identifier="Bracci2019_RSA-V1")
benchmark_registry["Bracci2019_RSA-posteriorVTC"] = lambda: Bracci2019RSA(
    "posteriorVTC", identifier="Bracci2019_RSA-posteriorVTC"
)
