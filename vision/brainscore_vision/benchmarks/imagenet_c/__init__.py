"""Register the accuracies on ImageNet-C (Hendrycks and Dietterich, 2019): four groups of corruptions."""

from brainscore_vision import benchmark_registry

from .benchmark import corrupted_accuracy

benchmark_registry["ImageNet-C-noise-top1"] = lambda: corrupted_accuracy("noise")
benchmark_registry["ImageNet-C-blur-top1"] = lambda: corrupted_accuracy("blur")
benchmark_registry["ImageNet-C-weather-top1"] = lambda: corrupted_accuracy("weather")
benchmark_registry["ImageNet-C-digital-top1"] = lambda: corrupted_accuracy("digital")
