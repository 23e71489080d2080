"""Benchmarks on fMRI of natural scenes (Allen et al. 2022).

``-ridge`` predicts each subject's responses, normalised by split-half reliability over three repetitions. ``-rdm``
compares dissimilarities between all scenes with each subject's; its ceiling is the best score of one geometry for all.
Neuroids with a noise ceiling of up to 30 % in the test scenes are excluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brainscore_vision.benchmark_helpers.neural.given_split import GivenSplit
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.loading import load_metric

if TYPE_CHECKING:
    from brainscore_vision.benchmark_helpers.neural.benchmark import TrainTestNeuralBenchmark
    from brainscore_vision.benchmark_helpers.neural.rsa import RSABenchmark

__all__ = ["compare_dissimilarities", "predict_responses"]


def predict_responses(dataset: str, region: str, metric_type: str, **kwargs: Any) -> TrainTestNeuralBenchmark:
    """Make the benchmark ``<dataset>.<region>-<metric_type>``; `kwargs` are those of `train_test_benchmark`."""
    metric = load_metric(f"dual_{metric_type}_split")
    return _recordings(dataset).regression(region, metric_type, metric, **kwargs)


def compare_dissimilarities(dataset: str, region: str) -> RSABenchmark:
    """Make the benchmark ``<dataset>.<region>-rdm``."""
    return _recordings(dataset).rsa(region)


def _recordings(dataset: str) -> GivenSplit:
    return GivenSplit(
        dataset=dataset,
        version=1,
        visual_degrees=8.4,  # width of the square filled by the scenes
        above=("nc_testset", 30),  # percent of the variance of the mean over the three repetitions
        bibtex=cite_data("allen2022_fmri"),
    )
