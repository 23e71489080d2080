"""Register the benchmarks of Baker & Elder (2022): the cost of disturbing the configuration of a shape."""

from brainscore_vision import benchmark_registry

from .benchmark import accuracy_delta

benchmark_registry["Baker2022frankenstein-accuracy_delta"] = lambda: accuracy_delta("frankenstein", "normal", "f")
benchmark_registry["Baker2022fragmented-accuracy_delta"] = lambda: accuracy_delta("fragmented", "normal", "o")
benchmark_registry["Baker2022inverted-accuracy_delta"] = lambda: accuracy_delta("inverted", "inverted", "f")
