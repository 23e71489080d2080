"""Compare models with single neurons of macaque V1 that see natural images and textures (Cadena et al. 2019).

Neurons saw different images; the comparison uses those shown to all.
"""

from typing import Any

import numpy as np

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly, walk_coords
from brainscore_core.supported_data_standards.brainio.transform import reduce_groups
from brainscore_vision import load_ceiling, load_dataset
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark

VISUAL_DEGREES = 2
NUMBER_OF_TRIALS = 2
BIBTEX = """@article{cadena2019deep,
  title={Deep convolutional models improve predictions of macaque V1 responses to natural images},
  author={Cadena, Santiago A and Denfield, George H and Walker, Edgar Y and Gatys, Leon A and Tolias, Andreas S and
    Bethge, Matthias and Ecker, Alexander S},
  journal={PLoS Computational Biology}, volume={15}, number={4}, pages={e1006897}, year={2019},
  doi={10.1371/journal.pcbi.1006897}
}"""


def load_assembly(average_repetitions: bool) -> NeuronRecordingAssembly:
    """Load the responses, dims (presentation, neuroid); absent repetitions of a neuron are NaN."""
    recordings = load_dataset("Cadena2017").squeeze("time_bin").transpose("presentation", "neuroid")
    # One image has two ``id``: one repetition is the mean over both.
    names = [name for name, dims, _ in walk_coords(recordings) if "presentation" in dims and name != "id"]
    repetitions = reduce_groups(recordings, names, "mean")
    repetitions.attrs = dict(recordings.attrs)
    return average(repetitions) if average_repetitions else repetitions


def average(repetitions: NeuronRecordingAssembly) -> NeuronRecordingAssembly:
    """Average over ``repetition_id``, keeping images shown to all neurons, also in the stimulus set."""
    names = [name for name, dims, _ in walk_coords(repetitions) if "presentation" in dims and name != "repetition_id"]
    mean = reduce_groups(repetitions, names, "mean")
    mean = mean[{"presentation": np.flatnonzero(~np.isnan(mean.values).any(axis=1))}]
    stimuli = repetitions.attrs["stimulus_set"]
    seen = stimuli[stimuli["stimulus_id"].isin(mean["stimulus_id"].values)]
    seen.identifier = stimuli.identifier
    mean.attrs.update(repetitions.attrs, stimulus_set=seen)
    return mean


def _benchmark(metric: str, version: int, **crossvalidation_kwargs: Any) -> NeuralBenchmark:
    options = {"stratification_coord": None, **crossvalidation_kwargs}
    name = {"mask_regression": "mask"}.get(metric, metric)
    return benchmark_of_repetitions(
        f"Cadena2017-{name}",
        lambda: load_assembly(average_repetitions=False),
        metric,
        crossvalidation_kwargs=options,
        compat=True,
        average=average,
        ceiler=load_ceiling("internal_consistency", split_coord="repetition_id"),
        version=version,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        parent="V1",
        bibtex=BIBTEX,
    )


def ToliasCadena2017PLS() -> NeuralBenchmark:
    """Predict V1 by regression."""
    return _benchmark("pls", version=1)


def ToliasCadena2017Mask() -> NeuralBenchmark:
    """Predict V1 by masks over space and weights of channels."""
    return _benchmark("mask_regression", version=2, splits=4)
