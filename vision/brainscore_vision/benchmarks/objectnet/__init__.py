"""Register the accuracy on ObjectNet (Barbu, Mayo et al., 2019)."""

from brainscore_vision import benchmark_registry

from .benchmark import objectnet_accuracy

benchmark_registry["ObjectNet-top1"] = objectnet_accuracy
