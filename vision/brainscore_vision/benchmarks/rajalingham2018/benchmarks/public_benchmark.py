"""Published code imports this from here."""

from functools import partial

from .benchmark import Rajalingham2018

RajalinghamMatchtosamplePublicBenchmark = partial(Rajalingham2018, access="public")
