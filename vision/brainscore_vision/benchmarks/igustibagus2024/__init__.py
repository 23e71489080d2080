"""Register the benchmarks on objects in other styles than photographs (Igustibagus et al. 2024)."""

from brainscore_vision import benchmark_registry

from .neural import Igustibagus2024Ridge
from .readout import Igustibagus2024Readout

benchmark_registry["Igustibagus2024-ridge"] = Igustibagus2024Ridge
benchmark_registry["Igustibagus2024.IT_readout-accuracy"] = Igustibagus2024Readout
