"""Compare models with Neuropixels recordings of macaques that see scenes of NSD (Li et al. 2026).

Units with a reliability above .4 count, and their median is the ceiling. ``ridgecv`` and ``rdm`` belong to the node
``Li2026.<region>``; ``pls`` to none. `Li2026Temporal` is not registered, as published.
"""

from functools import cache

import numpy as np

from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import load_dataset, load_metric
from brainscore_vision.benchmark_helpers.neural.given_split import of_region
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, RSABenchmark
from brainscore_vision.benchmark_helpers.scores.ceilings import over_time
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metric_helpers.uncertainty.intervals import attach_error
from brainscore_vision.utils import LazyLoad

VISUAL_DEGREES = 11
NUMBER_OF_TRIALS = 1
RELIABILITY_THRESHOLD = 0.4
WINDOW, BEST_WINDOW = "reliability_window", "reliability"  # from 70 to 170 ms, and where it is highest
SPLITS = {"stratification_coord": None, "compat": True}  # as published: in the order of the recordings
BIBTEX = cite_data("li2026")


def load_assembly(region: str) -> NeuronRecordingAssembly:
    """Load the reliable units of one region, dims (presentation, neuroid)."""
    return of_region(load_dataset("Li2026"), region, above=(WINDOW, RELIABILITY_THRESHOLD))


def load_temporal_assembly(region: str) -> NeuronRecordingAssembly:
    """Load units of one region over time, selected by their best window; dims (presentation, neuroid, time_bin).

    ``IT-other``, recorded outside the named patches, is part of IT.
    """
    assembly = load_dataset("Li2026.temporal")
    regions = assembly["region"].values
    assembly["region"] = "neuroid", np.where(regions == "IT-other", "IT", regions)
    assembly = of_region(assembly, region, above=(BEST_WINDOW, RELIABILITY_THRESHOLD))
    return assembly.transpose("presentation", "neuroid", "time_bin")


def load_rsa_assembly(region: str) -> NeuronRecordingAssembly:
    """Load the same units, with the animal as ``subject``: each has its own geometry."""
    assembly = load_assembly(region)
    assembly["subject"] = "neuroid", assembly["animal"].values
    return assembly


def reliability(assembly: NeuronRecordingAssembly, coord: str = WINDOW) -> Score:
    """Return the median reliability, with its standard error over units and the units in ``raw``."""
    raw = Score(
        assembly[coord].values.astype(float),
        coords={"neuroid_id": ("neuroid", assembly["neuroid_id"].values)},
        dims=["neuroid"],
    )
    ceiling = Score(float(np.median(raw)))
    ceiling.attrs.update(raw=raw, quantity="reliability")
    return attach_error(ceiling, raw, over=["neuroid"], aggregate=lambda drawn: float(np.median(drawn)))


def Li2026(region: str, metric: str) -> NeuralBenchmark:
    """Predict a region by ``'ridgecv'`` or ``'pls'``; scenes have no categories to keep in proportion."""
    penalty = {"alpha_per_target": False} if metric == "ridgecv" else {}  # one for all units
    recordings = cache(lambda: load_assembly(region))
    return NeuralBenchmark(
        identifier=f"Li2026.{region}-{metric}",
        version=1,
        assembly=LazyLoad(recordings),
        similarity_metric=load_metric(metric, crossvalidation_kwargs=SPLITS, **penalty),
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        ceiling_func=lambda: reliability(recordings()),
        parent=f"Li2026.{region}" if metric == "ridgecv" else None,
        bibtex=BIBTEX,
    )


def Li2026RDM(region: str) -> RSABenchmark:
    """Compare with the geometry of each animal; ceilings of two animals (V1, V2, V4) are higher than of five (IT)."""
    return RSABenchmark(
        identifier=f"Li2026.{region}-rdm",
        version=1,
        assembly=LazyLoad(lambda: load_rsa_assembly(region)),
        region=region,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        parent=f"Li2026.{region}",
        bibtex=BIBTEX,
    )


def Li2026Temporal(region: str) -> NeuralBenchmark:
    """Predict a region's time course, 30 bins of 10 ms, with shared weights.

    A static model's score is NaN, with the reason. The ceiling is the reliability of each unit in its best window, not
    in each bin.
    """
    recordings = cache(lambda: load_temporal_assembly(region))
    return NeuralBenchmark(
        identifier=f"Li2026.{region}-temporal-pls",
        version=1,
        assembly=LazyLoad(recordings),
        similarity_metric=over_time(load_metric("spantime_pls", crossvalidation_kwargs=SPLITS)),
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        ceiling_func=lambda: reliability(recordings(), BEST_WINDOW),
        static_models=False,
        bibtex=BIBTEX,
    )
