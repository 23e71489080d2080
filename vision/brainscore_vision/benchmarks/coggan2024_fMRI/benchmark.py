"""Compare the geometry of models with human fMRI of whole and occluded objects (Coggan and Tong 2024).

Like voxels, units of a model are selected by a large mean response and standardised over the 24 conditions; the
correlations of their patterns are correlated (Pearson) with those of each person. The mean is divided by the highest
possible value.
"""

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly, walk_coords
from brainscore_vision import load_dataset
from brainscore_vision.benchmark_helpers import bound_score
from brainscore_vision.benchmark_helpers.neural_common import RSABenchmark
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metric_helpers.arrays.geometry.rdm import upper_triangle
from brainscore_vision.metric_helpers.labelled.rdms import paired_rdms, read_square
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad

VISUAL_DEGREES = 9
NUMBER_OF_TRIALS = 1
TIME_BIN = (0, 250)
UNIT_THRESHOLD = 3.1  # standard deviations of mean responses over units
BIBTEX = cite_data("coggan2024_fMRI")


def load_dissimilarities(region: str) -> DataAssembly:
    """Load one minus the similarities of conditions; dims (presentation, presentation_other, subject)."""
    similarities = load_dataset("Coggan2024_fMRI")
    labels = {name: values for name, _, values in walk_coords(similarities)}
    rows = np.flatnonzero(labels["region"] == region)
    values = 1 - similarities.values[:, :, rows]
    values[np.arange(len(values)), np.arange(len(values))] = 0  # does not count
    start, end = TIME_BIN
    return DataAssembly(
        (values + values.transpose(1, 0, 2)) / 2,
        coords={
            "stimulus_id": ("presentation", labels["stimulus_id"]),
            "object_name": ("presentation", labels["object_name"]),
            "subject": ("subject", labels["subject"][rows]),
            "time_bin_start": start,
            "time_bin_end": end,
        },
        dims=["presentation", "presentation_other", "subject"],
        attrs=similarities.attrs,
    )


def rdm_of_units(assembly: NeuroidAssembly) -> DataAssembly:
    """Return one minus correlations between conditions, over units with large responses.

    `AssemblyError` if no unit's mean response differs from 0 by more than 3.1 standard deviations over units.
    """
    patterns = np.asarray(assembly.transpose("presentation", "neuroid").values, dtype=float)
    patterns = patterns[:, patterns.std(axis=0) > 0]
    mean = patterns.mean(axis=0)
    active = np.abs(mean) > UNIT_THRESHOLD * mean.std()
    if not active.any():
        raise AssemblyError(
            f"None of {len(active)} units has a mean response beyond {UNIT_THRESHOLD} standard deviations over all "
            "units, the criterion used to select voxels. Choose a layer with more units for this region."
        )
    z = (patterns - mean)[:, active] / patterns[:, active].std(axis=0)
    coords = {"stimulus_id": ("presentation", assembly["stimulus_id"].values)}
    return DataAssembly(1 - np.corrcoef(z), coords=coords, dims=["presentation", "presentation_other"])


def similarity(model: DataAssembly, subject: DataAssembly) -> Score:
    """Correlate two sets of dissimilarities (Pearson)."""
    first, second, notes = paired_rdms(read_square(model), read_square(subject))
    score = Score(np.corrcoef(upper_triangle(first), upper_triangle(second))[0, 1])
    score.attrs.update(notes, quantity="dissimilarity_correlation")
    return score


def ceiling(dissimilarities: DataAssembly, *, published: bool = False) -> Score:
    """Return the highest mean correlation that any model can reach: that of people's standardised mean.

    With `published`, the correlation of a person with the mean of the others; the other value is in
    ``attrs['lower_bound']`` or ``attrs['upper_bound']``.
    """
    people = np.stack([upper_triangle(matrix) for matrix in np.moveaxis(dissimilarities.values, 2, 0)])
    standardised = (people - people.mean(axis=1, keepdims=True)) / people.std(axis=1, keepdims=True)
    upper = np.array([np.corrcoef(own, standardised.mean(axis=0))[0, 1] for own in people])
    lower = np.array([np.corrcoef(own, np.delete(people, i, 0).mean(axis=0))[0, 1] for i, own in enumerate(people)])
    bound = lower if published else upper
    score = attach_standard_error(Score(bound.mean()), bound, over="subject")
    score.attrs.update(
        raw=Score(bound, coords={"subject": dissimilarities["subject"].values}, dims=["subject"]),
        upper_bound=float(upper.mean()),
        lower_bound=float(lower.mean()),
        quantity="dissimilarity_correlation",
    )
    return score


class PublishedCoggan2024(RSABenchmark):
    """Square the ratio and clip it at 1."""

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; attributes are of the ratio before squaring."""
        score = super().__call__(candidate)
        score.data = np.square(score.data)
        bound_score(score)
        return score


def Coggan2024(region: str, *, published: bool = False) -> RSABenchmark:
    """Compare with ``'V1'``, ``'V2'``, ``'V4'`` or ``'IT'``."""
    kind = PublishedCoggan2024 if published else RSABenchmark
    return kind(
        identifier=f"tong.Coggan2024_fMRI.{region}-rdm",
        version=1,
        assembly=LazyLoad(lambda: load_dissimilarities(region)),
        region=region,
        visual_degrees=VISUAL_DEGREES,
        number_of_trials=NUMBER_OF_TRIALS,
        ceiler=lambda dissimilarities: ceiling(dissimilarities, published=published),
        parent=region,
        bibtex=BIBTEX,
        rdm=rdm_of_units,
        similarity=similarity,
    )
