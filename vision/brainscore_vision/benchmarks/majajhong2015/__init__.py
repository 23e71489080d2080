"""Register the benchmarks of Majaj, Hong et al. (2015): V4 and IT of macaques that saw 64 objects.

``MajajHong2015.V4.public-pls`` and ``MajajHong2015.IT.public-pls`` are names of public benchmarks in older tutorials.
"""

from brainscore_vision import benchmark_registry

from .benchmark import (
    DicarloMajajHong2015ITPLS,
    DicarloMajajHong2015V4PLS,
    MajajHong2015,
    MajajHongITPublicBenchmark,
    MajajHongV4PublicBenchmark,
)

benchmark_registry["MajajHong2015.V4-pls"] = DicarloMajajHong2015V4PLS
benchmark_registry["MajajHong2015.IT-pls"] = DicarloMajajHong2015ITPLS
benchmark_registry["MajajHong2015.V4-ridge"] = lambda: MajajHong2015("V4", metric="ridge")
benchmark_registry["MajajHong2015.IT-ridge"] = lambda: MajajHong2015("IT", metric="ridge")
benchmark_registry["MajajHong2015.V4-rdm"] = lambda: MajajHong2015("V4", metric="rdm")
benchmark_registry["MajajHong2015.IT-rdm"] = lambda: MajajHong2015("IT", metric="rdm")
benchmark_registry["MajajHong2015.V4-cka"] = lambda: MajajHong2015("V4", metric="cka")
benchmark_registry["MajajHong2015.IT-cka"] = lambda: MajajHong2015("IT", metric="cka")

benchmark_registry["MajajHong2015public.V4-pls"] = lambda: MajajHong2015("V4", access="public")
benchmark_registry["MajajHong2015public.IT-pls"] = lambda: MajajHong2015("IT", access="public")
benchmark_registry["MajajHong2015public.V4-ridge"] = lambda: MajajHong2015("V4", access="public", metric="ridge")
benchmark_registry["MajajHong2015public.IT-ridge"] = lambda: MajajHong2015("IT", access="public", metric="ridge")
benchmark_registry["MajajHong2015public.V4-rdm"] = lambda: MajajHong2015("V4", access="public", metric="rdm")
benchmark_registry["MajajHong2015public.IT-rdm"] = lambda: MajajHong2015("IT", access="public", metric="rdm")
benchmark_registry["MajajHong2015public.V4-cka"] = lambda: MajajHong2015("V4", access="public", metric="cka")
benchmark_registry["MajajHong2015public.IT-cka"] = lambda: MajajHong2015("IT", access="public", metric="cka")

benchmark_registry["MajajHong2015public.V4-temporal-pls"] = lambda: MajajHong2015(
    "V4", access="public", time_interval=10
)
benchmark_registry["MajajHong2015public.IT-temporal-pls"] = lambda: MajajHong2015(
    "IT", access="public", time_interval=10
)
benchmark_registry["MajajHong2015public.V4-temporal-ridge"] = lambda: MajajHong2015(
    "V4", access="public", metric="ridge", time_interval=10
)
benchmark_registry["MajajHong2015public.IT-temporal-ridge"] = lambda: MajajHong2015(
    "IT", access="public", metric="ridge", time_interval=10
)

benchmark_registry["MajajHong2015.V4.public-pls"] = MajajHongV4PublicBenchmark
benchmark_registry["MajajHong2015.IT.public-pls"] = MajajHongITPublicBenchmark
