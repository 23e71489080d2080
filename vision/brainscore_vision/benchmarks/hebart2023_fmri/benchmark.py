"""Compare models with fMRI of people who saw THINGS, voxel by voxel (Hebart et al. 2023).

A mapping to each subject is normalised by the split-half reliability over twelve repetitions. Voxels with a noise
ceiling of 30 % or less in the test objects are excluded.
"""

from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers.neural.given_split import GivenSplit
from brainscore_vision.benchmark_helpers.neural_common import TrainTestNeuralBenchmark
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("hebart2023_fmri")

RECORDINGS = GivenSplit(
    dataset="Hebart2023_fmri",
    version=3,
    visual_degrees=10,  # of the images; the cross to fixate is .5
    above=("nc_testset", 30),  # percent of the variance of the mean over the twelve repetitions
    bibtex=BIBTEX,
)


def Hebart2023fmri(region: str, metric_type: str, **kwargs) -> TrainTestNeuralBenchmark:
    """Predict responses by ``ridge`` or ``ridgecv``."""
    return RECORDINGS.regression(region, metric_type, load_metric(f"{metric_type}_split"), **kwargs)
