"""Published code imports this from here."""

from functools import partial

from .benchmark import FreemanZiemba2013

FreemanZiembaV1PublicBenchmark = partial(FreemanZiemba2013, "V1", access="public")
FreemanZiembaV2PublicBenchmark = partial(FreemanZiemba2013, "V2", access="public")
