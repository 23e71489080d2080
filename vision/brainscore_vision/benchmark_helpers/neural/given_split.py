"""Make benchmarks from recordings that come as training and test stimuli, as large data sets of fMRI and EEG do."""

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
from brainscore_vision.benchmark_helpers.recordings.preparation import filter_reliable_neuroids
from brainscore_vision.benchmark_helpers.recordings.recording import squeeze_single_timebin
from brainscore_vision.loading import load_ceiling, load_dataset
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, coords_along, matching_order
from brainscore_vision.utils import LazyLoad

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = ["GivenSplit", "all_stimuli", "of_region", "train_test_benchmark"]

Array = TypeVar("Array", bound=xr.DataArray)


@dataclass(frozen=True, kw_only=True)
class GivenSplit:
    """Recordings that are registered as ``<dataset>_train`` and ``<dataset>_test``, and the benchmarks on them.

    Attributes
    ----------
    dataset : str
        What their identifiers begin with; those of the benchmarks do too.
    version : int
        Of the benchmarks.
    visual_degrees : float
        Width of the stimuli in the experiment, degrees of visual angle.
    bibtex : str
        Of the data set.
    above : (str, float), optional
        See `of_region`.
    """

    dataset: str
    version: int
    visual_degrees: float
    bibtex: str
    above: tuple[str, float] | None = None

    def load(self, region: str, split: str, *, average: bool) -> NeuroidAssembly:
        """Load one region of all subjects, dims (presentation, neuroid).

        Parameters
        ----------
        split : {'train', 'test'}
            Which stimuli.
        average : bool
            Whether to average repetitions.
        """
        recordings = cast("NeuroidAssembly", load_dataset(f"{self.dataset}_{split}"))
        assembly = of_region(recordings, region, above=self.above)
        return _averaged(assembly) if average else assembly

    def regression(
        self, region: str, name: str, similarity_metric: Callable[..., Score], **kwargs: Any
    ) -> TrainTestNeuralBenchmark:
        """Make the benchmark ``<dataset>.<region>-<name>``, which predicts the responses of each subject apart.

        Parameters
        ----------
        similarity_metric : Metric
            With a given split, such as ``load_metric("ridge_split")``.
        **kwargs
            More of `train_test_benchmark`, or instead of what is said here.
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
        """Make the benchmark ``<dataset>.<region>-<name>``: dissimilarities between all stimuli, subject by subject."""

        def load() -> NeuroidAssembly:
            train, test = (self.load(region, split, average=True) for split in ("train", "test"))
            # Results of models are kept under the registered name before the dashes.
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
    """Return the neuroids of one region, without a time bin of length one.

    Parameters
    ----------
    assembly : NeuroidAssembly
        With the coordinate ``region`` on neuroid.
    above : (str, float), optional
        Coordinate of neuroid and the number that it has to exceed, such as a reliability.

    Raises
    ------
    AssemblyError
        If the region has no neuroids, or none of them is above.
    """
    regions = coordinate(assembly, "region").astype(str)
    chosen = np.flatnonzero(regions == region)
    if not len(chosen):
        raise AssemblyError(
            f"There are no neuroids of region {region!r}; the regions are {np.unique(regions).tolist()}."
        )
    if above is not None:
        coord, threshold = above
        labels = filter_reliable_neuroids(_labels_of(assembly, chosen, coord), threshold, coord)
        chosen = labels["position"].values
    return squeeze_single_timebin(assembly[{"neuroid": chosen}])


def _labels_of(assembly: xr.DataArray, chosen: Any, coord: str) -> xr.DataArray:
    """Return some neuroids without their responses, so that choosing among them copies nothing large."""
    coords = {"position": ("neuroid", chosen), coord: ("neuroid", coordinate(assembly, coord)[chosen])}
    return xr.DataArray(np.zeros(len(chosen)), coords=coords, dims=["neuroid"])


def all_stimuli(train: NeuroidAssembly, test: NeuroidAssembly, identifier: str) -> NeuroidAssembly:
    """Join training and test stimuli, for benchmarks that fit nothing.

    Parameters
    ----------
    train, test : NeuroidAssembly, dims (presentation, neuroid)
        Repetitions averaged, of the same neuroids, with the attribute ``stimulus_set``. Left alone.
    identifier : str
        Of the joint stimulus set.

    Returns
    -------
    NeuroidAssembly
        Training stimuli first; coordinates that both have, neuroids as in `train`.

    Raises
    ------
    AssemblyError
        If the neuroids are not the same.
    """
    names = [_names(each) for each in (train, test)]
    test = test[{"neuroid": matching_order(*names, what="neuroid")}]
    parts = [each.transpose("presentation", "neuroid") for each in (train, test)]
    tables = [coords_along(each, "presentation") for each in parts]
    coords: dict[str, Any] = {
        name: ("presentation", np.concatenate([table[name][1] for table in tables]))
        for name in tables[0]
        if name in tables[1]
    }
    # What is left of a time bin says when to record.
    coords.update({str(name): ((), each.values) for name, each in train.coords.items() if not each.dims})
    coords.update(coords_along(train, "neuroid"))
    joint = type(train)(np.concatenate([each.values for each in parts]), coords=coords, dims=parts[0].dims)
    stimuli = pd.concat([each.attrs["stimulus_set"] for each in parts], ignore_index=True)
    stimuli.identifier = identifier
    joint.attrs.update(train.attrs, stimulus_set=stimuli, stimulus_set_identifier=identifier)
    return joint


def _averaged(assembly: Array) -> Array:
    """Average repetitions, if there are any."""
    return average_repetition(assembly) if "repetition" in assembly.coords else assembly


def _names(assembly: xr.DataArray) -> Any:
    """Return one name for each neuroid; data sets number neuroids anew for each subject."""
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
    """Make a `TrainTestNeuralBenchmark` of single repetitions, which are averaged, once their reliability is known.

    Parameters
    ----------
    load : callable
        ``load("train")`` and ``load("test")`` return single repetitions of one region; called when they are needed,
        once for each. Without the coordinate ``repetition`` they are taken as averaged.
    ceiler : callable, optional
        From the repetitions of the test stimuli to a `Score`; None takes ``internal_consistency``.
    **kwargs
        ``version``, ``visual_degrees``, ``number_of_trials``, ``parent``, ``bibtex``, ``alpha_coord``,
        ``per_voxel_ceilings``, ``timebins`` of `TrainTestNeuralBenchmark`.
    """
    repetitions = cache(lambda: load("test"))  # one loading serves the comparison and the ceiling
    return TrainTestNeuralBenchmark(
        identifier=identifier,
        train_assembly=LazyLoad(lambda: _averaged(load("train"))),
        test_assembly=LazyLoad(lambda: _averaged(repetitions())),
        similarity_metric=similarity_metric,
        ceiling_func=LazyCeiling(ceiler or load_ceiling("internal_consistency"), repetitions),
        **kwargs,
    )
