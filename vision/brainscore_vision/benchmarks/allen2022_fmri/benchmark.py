"""Compare models with fMRI of people viewing natural scenes, in single voxels; see `natural_scenes`."""

from brainscore_vision.benchmark_helpers.neural.given_split import compare_dissimilarities, predict_responses
from brainscore_vision.benchmark_helpers.neural_common import RSABenchmark, TrainTestNeuralBenchmark
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("allen2022_fmri")


def Allen2022fmri(
    region: str, metric_type: str = "ridge", dataset_prefix: str = "Allen2022_fmri", **kwargs
) -> TrainTestNeuralBenchmark:
    """Predict responses; ``per_voxel_ceilings=True`` normalises each of the voxels by its own reliability."""
    return predict_responses(dataset_prefix, region, metric_type, **kwargs)


def Allen2022fmriRSA(region: str, dataset_prefix: str = "Allen2022_fmri") -> RSABenchmark:
    """Compare dissimilarities."""
    return compare_dissimilarities(dataset_prefix, region)
