"""Register the benchmarks of Freeman, Ziemba et al. (2013): V1 and V2 of macaques that saw textures and noise."""

from brainscore_vision import benchmark_registry

from .benchmarks.benchmark import FreemanZiemba2013, MovshonFreemanZiemba2013V1PLS, MovshonFreemanZiemba2013V2PLS

benchmark_registry["FreemanZiemba2013.V1-pls"] = MovshonFreemanZiemba2013V1PLS
benchmark_registry["FreemanZiemba2013.V2-pls"] = MovshonFreemanZiemba2013V2PLS
benchmark_registry["FreemanZiemba2013.V1-rdm"] = lambda: FreemanZiemba2013("V1", metric="rdm")
benchmark_registry["FreemanZiemba2013.V2-rdm"] = lambda: FreemanZiemba2013("V2", metric="rdm")

benchmark_registry["FreemanZiemba2013public.V1-pls"] = lambda: FreemanZiemba2013("V1", access="public")
benchmark_registry["FreemanZiemba2013public.V2-pls"] = lambda: FreemanZiemba2013("V2", access="public")
benchmark_registry["FreemanZiemba2013public.V1-rdm"] = lambda: FreemanZiemba2013("V1", access="public", metric="rdm")
benchmark_registry["FreemanZiemba2013public.V2-rdm"] = lambda: FreemanZiemba2013("V2", access="public", metric="rdm")
