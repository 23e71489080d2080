"""Benchmarks on recordings with given training and test stimuli."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import pandas as pd
import xarray as xr

from brainscore_core.benchmarks import LazyCeiling
from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision.benchmark_helpers.neural.benchmark import TrainTestNeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.rsa import RSABenchmark
from brainscore_vision.benchmark_helpers.recordings import filter_reliable_neuroids, squeeze_single_timebin
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.loading import load_ceiling, load_dataset, load_metric
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, coords_along, matching_order
from brainscore_vision.utils import LazyLoad

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = [
    "GivenSplit",
    "all_stimuli",
    "compare_dissimilarities",
    "of_region",
    "predict_responses",
    "train_test_benchmark",
]

Array = TypeVar("Array", bound=xr.DataArray)


@dataclass(frozen=True, kw_only=True)
class GivenSplit:
    """Recordings registered as ``<dataset>_train`` and ``<dataset>_test``, and their benchmarks."""

    dataset: str
    version: int
    visual_degrees: float
    bibtex: str
    above: tuple[str, float] | None = None

    def load(self, region: str, split: str, *, average: bool) -> NeuroidAssembly:
        """Load one region of all subjects, dims (presentation, neuroid), for the `split` ``'train'`` or ``'test'``."""
        recordings = cast("NeuroidAssembly", load_dataset(f"{self.dataset}_{split}"))
        assembly = of_region(recordings, region, above=self.above)
        return _averaged(assembly) if average else assembly

    def regression(
        self, region: str, name: str, similarity_metric: Callable[..., Score], **kwargs: Any
    ) -> TrainTestNeuralBenchmark:
        """Make the benchmark ``<dataset>.<region>-<name>``, which predicts each subject's responses separately.

        The metric takes a given split, such as ``load_metric("ridge_split")``; `kwargs` override the settings here.
        """
        settings = {
            "version": self.version,
            "visual_degrees": self.visual_degrees,
            "number_of_trials": 1,
            "alpha_coord": "subject",
            "parent": region,
            "bibtex": self.bibtex,
        }
        return train_test_benchmark(
            f"{self.dataset}.{region}-{name}",
            lambda split: self.load(region, split, average=False),
            similarity_metric,
            **{**settings, **kwargs},
        )

    def rsa(self, region: str, name: str = "rdm") -> RSABenchmark:
        """Make the benchmark ``<dataset>.<region>-<name>`` of each subject's dissimilarities."""

        def load() -> NeuroidAssembly:
            train, test = (self.load(region, split, average=True) for split in ("train", "test"))
            # Activations are cached under the registered name before the dashes.
            return all_stimuli(train, test, f"{self.dataset}_train--full")

        return RSABenchmark(
            identifier=f"{self.dataset}.{region}-{name}",
            version=self.version,
            assembly=LazyLoad(load),
            region=region,
            visual_degrees=self.visual_degrees,
            number_of_trials=1,
            bibtex=self.bibtex,
        )


def of_region(assembly: Array, region: str, *, above: tuple[str, float] | None = None) -> Array:
    """Return the neuroids of one region, without a time bin of length one; `AssemblyError` if there are none.

    Parameters
    ----------
    above
        Coordinate of neuroid, such as a reliability, and the number it must exceed.
    """
    regions = coordinate(assembly, "region").astype(str)
    positions = np.flatnonzero(regions == region)
    if not len(positions):
        raise AssemblyError(f"Region {region!r} has no neuroids; the regions are {np.unique(regions).tolist()}.")
    if above is not None:
        coord, threshold = above
        # Without the responses: selecting copies nothing large.
        coords = {"position": ("neuroid", positions), coord: ("neuroid", coordinate(assembly, coord)[positions])}
        labels = xr.DataArray(np.zeros(len(positions)), coords=coords, dims=["neuroid"])
        labels = filter_reliable_neuroids(labels, threshold, coord)
        positions = labels["position"].values
    return squeeze_single_timebin(assembly[{"neuroid": positions}])


def all_stimuli(train: NeuroidAssembly, test: NeuroidAssembly, identifier: str) -> NeuroidAssembly:
    """Join training and test stimuli, for benchmarks that fit nothing.

    Repetitions are averaged; both have the same neuroids and the attribute ``stimulus_set``. Training stimuli come
    first.
    """
    names = [_names(assembly) for assembly in (train, test)]
    test = test[{"neuroid": matching_order(*names, what="neuroid")}]
    parts = [assembly.transpose("presentation", "neuroid") for assembly in (train, test)]
    tables = [coords_along(part, "presentation") for part in parts]
    coords: dict[str, Any] = {
        name: ("presentation", np.concatenate([table[name][1] for table in tables]))
        for name in tables[0]
        if name in tables[1]
    }
    # A squeezed time bin's scalar coordinates hold the window.
    coords.update({str(name): ((), coord.values) for name, coord in train.coords.items() if not coord.dims})
    coords.update(coords_along(train, "neuroid"))
    joint = type(train)(np.concatenate([part.values for part in parts]), coords=coords, dims=parts[0].dims)
    stimuli = pd.concat([part.attrs["stimulus_set"] for part in parts], ignore_index=True)
    stimuli.identifier = identifier
    joint.attrs.update(train.attrs, stimulus_set=stimuli, stimulus_set_identifier=identifier)
    return joint


def _averaged(assembly: Array) -> Array:
    return average_repetition(assembly) if "repetition" in assembly.coords else assembly


def _names(assembly: xr.DataArray) -> Any:
    """Return unique names of neuroids; data sets number the neuroids of each subject from 0."""
    columns = [coordinate(assembly, name).astype(str) for name in ("subject", "neuroid_id") if name in assembly.coords]
    return columns[0] if len(columns) == 1 else np.char.add(np.char.add(columns[0], "/"), columns[1])


def train_test_benchmark(
    identifier: str,
    load: Callable[[str], NeuroidAssembly],
    similarity_metric: Callable[..., Score],
    *,
    ceiler: Callable[[NeuroidAssembly], Score] | None = None,
    **kwargs: Any,  # checked by TrainTestNeuralBenchmark
) -> TrainTestNeuralBenchmark:
    """Make a `TrainTestNeuralBenchmark` from single repetitions.

    ``load("train")`` and ``load("test")`` return repetitions of one region; without ``repetition`` they count as
    averaged. `ceiler` maps repetitions of the test stimuli to a `Score`; None: ``internal_consistency``.
    """
    repetitions = cache(lambda: load("test"))  # shared by comparison and ceiling
    return TrainTestNeuralBenchmark(
        identifier=identifier,
        train_assembly=LazyLoad(lambda: _averaged(load("train"))),
        test_assembly=LazyLoad(lambda: _averaged(repetitions())),
        similarity_metric=similarity_metric,
        ceiling_func=LazyCeiling(ceiler or load_ceiling("internal_consistency"), repetitions),
        **kwargs,
    )


# -- natural scenes ----------------------------------------------------------------------------------------------------
# Benchmarks on fMRI of natural scenes (Allen et al. 2022).
#
# ``-ridge`` predicts each subject's responses, normalised by split-half reliability over three repetitions. ``-rdm``
# compares dissimilarities between all scenes with each subject's; its ceiling is the best score of one geometry for
# all. Neuroids with a noise ceiling of up to 30 % in the test scenes are excluded.


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
