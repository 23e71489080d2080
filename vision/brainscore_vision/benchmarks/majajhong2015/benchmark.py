"""Compare models with V4 and IT of macaques that saw 64 objects on natural backgrounds (Majaj, Hong et al. 2015).

Images of 8 degrees for 100 ms, some 50 repetitions. Cross-validation keeps every object in every fold;
`benchmark_of_repetitions` defines ceilings and normalisation.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from brainscore_vision import load_dataset
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, apply_keep_attrs, average_repetition
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metrics import Metric, Score
from brainscore_vision.model_helpers.brain_transformation.temporal import assembly_time_align
from brainscore_vision.utils import LazyLoad

BIBTEX = cite_data("majajhong2015")

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 50


def MajajHong2015(
    region: str,
    *,
    access: str = "private",
    metric: str = "pls",
    time_interval: int | None = None,
    identifier: str | None = None,
) -> NeuralBenchmark:
    """Make a benchmark on V4 or IT; ``access`` and ``time_interval`` are those of `load_assembly`.

    Only the published ones are in averages: further metrics and second names would count an experiment more often.
    """
    variant, kind = "public" if access == "public" else "", "temporal-" if time_interval else ""
    return benchmark_of_repetitions(
        identifier or f"MajajHong2015{variant}.{region}-{kind}{metric}",
        lambda: load_assembly(False, region, access, time_interval),
        f"spantime_{metric}" if time_interval else metric,
        crossvalidation_kwargs={"stratification_coord": "object_name"},
        stimulus_cluster="object_name",
        compat=True,
        version=4,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        parent=region if metric == "pls" and identifier is None else None,
        bibtex=BIBTEX,
    )


def load_assembly(average_repetitions: bool, region: str, access: str = "private", time_interval: int | None = None):
    """Load the spikes of one region, dims (presentation, neuroid[, time_bin]).

    Parameters
    ----------
    access : {'private', 'public'}
        Set of images.
    time_interval
        Width of consecutive time bins from onset, ms. None: one bin.
    """
    if time_interval is None:
        assembly = load_dataset(f"MajajHong2015.{access}").squeeze("time_bin")
    else:
        assembly = load_dataset(f"MajajHong2015.temporal.{access}")
        edges = range(0, int(assembly["time_bin_end"].max()) + 1, time_interval)
        assembly = apply_keep_attrs(assembly, lambda spikes: assembly_time_align(spikes, list(pairwise(edges))))
    assembly = assembly[{"neuroid": np.flatnonzero(assembly["region"].values == region)}]
    assembly = assembly.transpose("presentation", "neuroid", ...)
    return average_repetition(assembly) if average_repetitions else assembly


def DicarloMajajHong2015Region(
    region: str, access: str, identifier_metric_suffix: str, similarity_metric: Metric, ceiler: Callable[..., Score]
) -> NeuralBenchmark:
    """Make a benchmark as the published tutorial does, of averaged repetitions, with any metric and ceiling."""
    return NeuralBenchmark(
        identifier=f"MajajHong2015.{region}-{identifier_metric_suffix}",
        version=4,
        assembly=LazyLoad(lambda: load_assembly(True, region, access)),
        similarity_metric=similarity_metric,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        ceiling_func=lambda: ceiler(load_assembly(False, region, access)),
        parent=region,
        bibtex=BIBTEX,
    )


# Names that published code imports, with their published identifiers. # same scores: only identifiers change
_DicarloMajajHong2015Region = DicarloMajajHong2015Region
DicarloMajajHong2015V4PLS = partial(MajajHong2015, "V4")
DicarloMajajHong2015ITPLS = partial(MajajHong2015, "IT")
MajajHongV4PublicBenchmark = partial(MajajHong2015, "V4", access="public", identifier="MajajHong2015.V4.public-pls")
MajajHongITPublicBenchmark = partial(MajajHong2015, "IT", access="public", identifier="MajajHong2015.IT.public-pls")
MajajHongV4TemporalPublicBenchmark = partial(MajajHong2015, "V4", access="public", time_interval=10)
MajajHongITTemporalPublicBenchmark = partial(MajajHong2015, "IT", access="public", time_interval=10)
