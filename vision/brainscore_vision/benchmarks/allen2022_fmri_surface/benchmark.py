"""Compare models with fMRI of people who looked at natural scenes, on the cortical surface (Allen et al. 2022).

``-ridge`` predicts the vertices of each subject from the model, learned from some scenes and tested on others, against
their split-half reliability over three repetitions. ``-rdm`` compares dissimilarities between all scenes with those of
each subject, against the best that one geometry can do for all of them. Vertices with a noise ceiling of 30 % or
less in the test scenes do not count.
"""

from dataclasses import replace

from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers.neural.given_split import GivenSplit
from brainscore_vision.benchmark_helpers.neural_common import RSABenchmark, TrainTestNeuralBenchmark

BIBTEX = """@article{allen2022massive,
  title={A massive 7T fMRI dataset to bridge cognitive neuroscience and artificial intelligence},
  author={Allen, Emily J. and St-Yves, Ghislain and Wu, Yihan and Breedlove, Jesse L. and Prince, Jacob S. and Dowdle,
    Logan T. and Nau, Matthias and Caron, Brad and Pestilli, Franco and Charest, Ian and Hutchinson, J. Benjamin and
    Naselaris, Thomas and Kay, Kendrick},
  journal={Nature Neuroscience},
  volume={25}, pages={116--126}, year={2022}, doi={10.1038/s41593-021-00962-x}
}"""

RECORDINGS = GivenSplit(
    dataset="Allen2022_fmri_surface",
    version=1,
    visual_degrees=8.4,  # of the square that the scenes filled
    above=("nc_testset", 30),  # percent of the variance of the mean over the three repetitions
    bibtex=BIBTEX,
)


def Allen2022fmriSurface(  # noqa: N802 - factories of benchmarks are named like classes
    region: str, metric_type: str = "ridge", dataset_prefix: str = "Allen2022_fmri_surface", **kwargs
) -> TrainTestNeuralBenchmark:
    """Predict responses; ``per_voxel_ceilings=True`` normalises each of the vertices by its own reliability."""
    metric = load_metric(f"dual_{metric_type}_split")
    return replace(RECORDINGS, dataset=dataset_prefix).regression(region, metric_type, metric, **kwargs)


def Allen2022fmriSurfaceRSA(  # noqa: N802 - factories of benchmarks are named like classes
    region: str, dataset_prefix: str = "Allen2022_fmri_surface"
) -> RSABenchmark:
    """Compare dissimilarities."""
    return replace(RECORDINGS, dataset=dataset_prefix).rsa(region)
