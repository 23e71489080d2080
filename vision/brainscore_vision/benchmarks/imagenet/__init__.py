"""Register the accuracy on ImageNet (Deng et al., 2009)."""

from brainscore_vision import benchmark_registry

from .benchmark import imagenet_accuracy

benchmark_registry["ImageNet-top1"] = imagenet_accuracy
