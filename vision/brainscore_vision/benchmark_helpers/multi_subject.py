"""Average benchmarks that are built one after the other: one for each subject, or one for each fold.

A child exists only while it is scored, so that the memory holds the recordings of one subject or fold at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.labelled.alignment import coords_along
from brainscore_vision.metric_helpers.uncertainty.bootstrap import attach_error
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

__all__ = ["WRAPPER_N_BOOTSTRAP", "KFoldNeuralBenchmark", "MultiSubjectNeuralBenchmark", "block_diagonal_concat"]

WRAPPER_N_BOOTSTRAP = 200
"""Draws of subjects or folds for the error of their mean."""

# What a benchmark holds that is large, or leads to something large.
_HEAVY = (
    "_assembly",
    "_train_assembly",
    "_test_assembly",
    "_similarity_metric",
    "_ceiling_func",
    "_ceiling",
    "train_activations",
    "test_activations",
)


class _MeanOverChildren(BenchmarkBase):
    """The mean over benchmarks that a factory builds on demand."""

    _dim: ClassVar[str]

    def __init__(
        self, identifier: str, keys: Sequence[Hashable], factory: Callable[[Any], Any], peak_aggregation: float
    ) -> None:
        if not len(keys):
            raise ValueError(f"Benchmark {identifier!r} averages over {self._dim}s and needs at least one; got none.")
        self._keys = list(keys)
        self._factory = factory
        self._peak_aggregation = float(peak_aggregation)
        first = factory(self._keys[0])
        self.region = first.region
        self.timebins = getattr(first, "timebins", None)
        super().__init__(
            identifier=identifier,
            ceiling_func=self._ceiling_of_children,
            version=getattr(first, "version", 1),
            parent=first.region,
            bibtex=getattr(first, "bibtex", None),
        )
        _release(first)

    def __call__(self, candidate: Any) -> Score:
        """Score a candidate on every child.

        Parameters
        ----------
        candidate : BrainModel
            Whom to score.

        Returns
        -------
        Score
            0-d, the mean over children. Attributes: ``raw`` (the mean of the raw scores, 0-d), ``ceiling``,
            ``raw_subjects`` or ``raw_folds`` (scores of the children), ``sem_subjects`` or ``sem_folds``, ``error``
            (bootstrap over them; NaN with ``error_nan_reason`` if there is one) and ``error_over``; for subjects also
            the score of each by its name, for folds ``folds``, the list of scores.
        """
        scores, ceilings = [], []
        for child in self._children():
            scores.append(child(candidate))
            ceilings.append(float(child.ceiling))
        values = self._labelled([float(each) for each in scores])
        score = Score(float(values.mean()))
        score.attrs["raw"] = Score(float(np.mean([_child_raw_scalar(each) for each in scores])))
        score.attrs[f"raw_{self._dim}s"] = values
        score.attrs[f"sem_{self._dim}s"] = _standard_error(values.values)
        score.attrs["ceiling"] = self._mean_ceiling(ceilings)
        score.attrs[f"n_{self._dim}s"] = len(scores)
        score.attrs.update(self._details(scores))
        if len(scores) > 1:
            return attach_error(score, values, over=[self._dim], n_bootstrap=WRAPPER_N_BOOTSTRAP)
        return declare_no_error(score, reason=f"a single {self._dim}: there is nothing to resample")

    def preallocate_memory(self, candidate: Any, raise_if_oom: bool = True) -> Any:
        """Ask the first child whether the candidate fits.

        Raises
        ------
        MemoryError
            If the child foresees that it does not.
        """
        return _scaled_preallocate_memory(self, candidate, lambda: self._factory(self._keys[0]), raise_if_oom)

    def _children(self) -> Iterator[Any]:
        for key in self._keys:
            child = self._factory(key)
            yield child
            _release(child)

    def _ceiling_of_children(self) -> Score:
        return self._mean_ceiling([float(child.ceiling) for child in self._children()])

    def _mean_ceiling(self, values: Sequence[float]) -> Score:
        labelled = self._labelled(values)
        ceiling = Score(float(labelled.mean()))
        ceiling.attrs[f"raw_{self._dim}s"] = labelled
        ceiling.attrs["sem"] = ceiling.attrs["error"] = _standard_error(labelled.values)
        return ceiling

    def _labelled(self, values: Sequence[float]) -> xr.DataArray:
        return xr.DataArray(np.asarray(values, dtype=float), coords={self._dim: self._keys}, dims=[self._dim])

    def _details(self, scores: Sequence[Score]) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} does not say what to keep of the scores.")


class MultiSubjectNeuralBenchmark(_MeanOverChildren):
    """The mean over subjects, each with a benchmark of its own stimuli and neuroids.

    Use it where subjects saw different stimuli; where all saw the same, ``TrainTestNeuralBenchmark(alpha_coord=
    'subject')`` records the model once.

    Parameters
    ----------
    identifier : str
        Unique name, equal to the registry key.
    subjects : sequence of str
        Names of the subjects.
    per_subject_factory : callable
        ``per_subject_factory(subject)`` builds the benchmark of a subject, such as a `TrainTestNeuralBenchmark`. The
        first is built at once, to read region, version and reference.
    peak_aggregation : float
        How many times the memory of one child is needed at the same time, if caches of the children add up. Accepted
        for benchmarks of the published system; nothing here estimates memory.
    """

    _dim = "subject"

    def __init__(
        self,
        identifier: str,
        subjects: Sequence[str],
        per_subject_factory: Callable[[str], Any],
        peak_aggregation: float = 1.0,
    ) -> None:
        super().__init__(identifier, subjects, per_subject_factory, peak_aggregation)

    def _details(self, scores: Sequence[Score]) -> dict[str, Any]:
        return {str(subject): score for subject, score in zip(self._keys, scores, strict=True)}


class KFoldNeuralBenchmark(_MeanOverChildren):
    """The mean over folds, each with a benchmark that trains and tests on other stimuli.

    Parameters
    ----------
    identifier : str
        Unique name, equal to the registry key.
    n_folds : int
        How many.
    fold_factory : callable
        ``fold_factory(fold)`` builds the benchmark of fold 0, 1, ...; the first is built at once, to read region,
        version and reference.
    peak_aggregation : float
        As for `MultiSubjectNeuralBenchmark`.
    """

    _dim = "fold"

    def __init__(
        self, identifier: str, n_folds: int, fold_factory: Callable[[int], Any], peak_aggregation: float = 1.0
    ) -> None:
        super().__init__(identifier, range(int(n_folds)), fold_factory, peak_aggregation)

    def _details(self, scores: Sequence[Score]) -> dict[str, Any]:
        return {"folds": list(scores)}


def block_diagonal_concat(
    slices: Sequence[xr.DataArray],
    presentation_coords: Sequence[str] | None = None,
    neuroid_coords: Sequence[str] | None = None,
) -> NeuroidAssembly:
    """Put assemblies of different stimuli and neuroids into one, side by side along both dimensions.

    Parameters
    ----------
    slices : sequence of NeuroidAssembly, dims (presentation, neuroid)
        Such as one for each subject.
    presentation_coords, neuroid_coords : sequence of str or None
        Coordinates to keep; those that some slice lacks are left out. None: all that every slice has.

    Returns
    -------
    NeuroidAssembly, dims (presentation, neuroid)
        Each slice is a block on the diagonal; NaN elsewhere. Of the type of the first slice if that is a float, else
        float32.

    Raises
    ------
    AssemblyError
        If there is no slice, or one has other dimensions.
    """
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    dims = ("presentation", "neuroid")
    wrong = [tuple(each.dims) for each in slices if set(each.dims) != set(dims)]
    if wrong or not slices:
        raise AssemblyError(
            f"Expected at least one assembly, all of dimensions {dims}; got {len(slices)}, of which {len(wrong)} have "
            f"others{f', such as {wrong[0]}' if wrong else ''}. Select or average other dimensions first."
        )
    dtype = slices[0].dtype if slices[0].dtype.kind == "f" else np.dtype(np.float32)
    values = np.full([sum(each.sizes[dim] for each in slices) for dim in dims], np.nan, dtype=dtype)
    row = column = 0
    for each in slices:
        block = each.transpose(*dims).values
        values[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    coords: dict[str, Any] = {}
    for dim, wanted in zip(dims, (presentation_coords, neuroid_coords), strict=True):
        tables = [coords_along(each, dim) for each in slices]
        for name in tables[0] if wanted is None else wanted:
            if all(name in table for table in tables):
                coords[name] = (dim, np.concatenate([table[name][1] for table in tables]))
    return NeuroidAssembly(values, coords=coords, dims=list(dims))


def _child_raw_scalar(child_score: Score) -> float:
    """Return the mean of a score's raw values as one number, NaN if it has none."""
    raw = child_score.attrs.get("raw")
    return float("nan") if raw is None else float(np.mean(np.asarray(getattr(raw, "values", raw), dtype=float)))


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _release(child: Any) -> None:
    """Let go of what a benchmark holds, without waiting for whoever still holds the benchmark."""
    for name in _HEAVY:
        if name in getattr(child, "__dict__", {}):
            setattr(child, name, None)


def _scaled_preallocate_memory(
    wrapper: Any,  # noqa: ARG001 - plugins for the published system pass it
    candidate: Any,
    child_factory: Callable[[], Any],
    raise_if_oom: bool,
) -> Any:
    """Ask a child whether the candidate fits; a `MemoryError` counts only with ``raise_if_oom``."""
    child = child_factory()
    try:
        return child.preallocate_memory(candidate)
    except MemoryError:
        if raise_if_oom:
            raise
        return None
    finally:
        _release(child)
