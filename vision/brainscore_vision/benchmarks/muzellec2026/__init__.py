"""Register the benchmarks on the share of a model's features found in macaque V4 and IT (Muzellec and Kar 2025)."""

from brainscore_vision import benchmark_registry

from .benchmark import MajajHongITPublicBenchmark, MajajHongV4PublicBenchmark

benchmark_registry["MajajHong2015public.V4-reverse_pls"] = MajajHongV4PublicBenchmark
benchmark_registry["MajajHong2015public.IT-reverse_pls"] = MajajHongITPublicBenchmark
