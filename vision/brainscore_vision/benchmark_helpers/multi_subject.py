"""Average benchmarks over subjects or folds, each built only while scored."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import xarray as xr

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.recordings import block_diagonal_concat
from brainscore_vision.benchmark_helpers.scores.normalization import note_error_over_folds, note_error_over_units
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error, standard_error

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark, TrainTestNeuralBenchmark
    from brainscore_vision.benchmark_helpers.neural.rsa import RSABenchmark
    from brainscore_vision.model_interface import BrainModel

    Child = NeuralBenchmark | TrainTestNeuralBenchmark | RSABenchmark

__all__ = [
    "WRAPPER_N_BOOTSTRAP",
    "KFoldNeuralBenchmark",
    "MultiSubjectNeuralBenchmark",
    "_child_raw_scalar",
    "_release",
    "_scaled_preallocate_memory",
    "ask_child_for_memory",
    "block_diagonal_concat",
    "raw_mean",
    "release",
]

Key = TypeVar("Key", bound=Hashable)

WRAPPER_N_BOOTSTRAP = 200
"""Bootstrap draws of published wrappers for the error of their mean; here nothing is drawn."""

# Attributes that hold, or lead to, large data.
_HEAVY = (
    "_assembly",
    "_train_assembly",
    "_test_assembly",
    "_similarity_metric",
    "_ceiling_func",
    "_BenchmarkBase__ceiling",
    "train_activations",
    "test_activations",
)


class _MeanOverChildren(BenchmarkBase, Generic[Key]):
    _dim: str

    def __init__(
        self, identifier: str, keys: Sequence[Key], factory: Callable[[Key], Child], peak_aggregation: float
    ) -> None:
        if not len(keys):
            raise ValueError(f"Benchmark {identifier!r} averages over {self._dim}s and needs at least one; got none.")
        self._keys = list(keys)
        self._factory = factory
        self._peak_aggregation = float(peak_aggregation)
        first = factory(self._keys[0])
        super().__init__(
            identifier=identifier,
            ceiling_func=self._ceiling_of_children,
            version=first.version,
            parent=first.parent or first.region,
            bibtex=first.bibtex,
        )
        release(first)

    @cached_property
    def region(self) -> str:
        return self._first().region

    @cached_property
    def timebins(self) -> list[tuple[float, float]]:
        return self._first().timebins

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate on every child, and return the mean.

        Attributes also hold ``raw_subjects`` or ``raw_folds`` and their standard error, ``sem_...``; the score of each
        subject under its name, or the list ``folds``. For ``error`` see `note_error_over_units` and
        `note_error_over_folds`.
        """
        scores, ceilings = [], []
        for child in self.children():
            scores.append(child(candidate))
            ceilings.append(float(child.ceiling))
        values = self._labelled([float(child_score) for child_score in scores])
        score = Score(float(values.mean()))
        score.attrs["raw"] = Score(float(np.mean([raw_mean(child_score) for child_score in scores])))
        score.attrs[f"raw_{self._dim}s"] = values
        score.attrs[f"sem_{self._dim}s"] = standard_error(values.values)
        score.attrs["ceiling"] = self._mean_ceiling(ceilings)
        score.attrs[f"n_{self._dim}s"] = len(scores)
        score.attrs.update(self._details(scores))
        return self._with_error(score, scores)

    def preallocate_memory(self, candidate: BrainModel, raise_if_oom: bool = True) -> None:
        """Raise `MemoryError` if the candidate does not fit the first child."""
        ask_child_for_memory(self, candidate, self._first, raise_if_oom)

    def _first(self) -> Child:
        return self._factory(self._keys[0])

    def children(self) -> Iterator[Child]:
        for key in self._keys:
            child = self._factory(key)
            yield child
            release(child)

    def _ceiling_of_children(self) -> Score:
        return self._mean_ceiling([float(child.ceiling) for child in self.children()])

    def _mean_ceiling(self, values: Sequence[float]) -> Score:
        labelled = self._labelled(values)
        ceiling = Score(float(labelled.mean()))
        ceiling.attrs[f"raw_{self._dim}s"] = labelled
        attach_standard_error(ceiling, labelled.values, over=self._dim)
        ceiling.attrs["sem"] = ceiling.attrs["error"]
        return ceiling

    def _labelled(self, values: Sequence[float]) -> xr.DataArray:
        return xr.DataArray(np.asarray(values, dtype=float), coords={self._dim: self._keys}, dims=[self._dim])

    def _details(self, scores: Sequence[Score]) -> Mapping[str, Score | list[Score]]:
        raise NotImplementedError(f"{type(self).__name__} must implement _details.")

    def _with_error(self, score: Score, scores: Sequence[Score]) -> Score:
        raise NotImplementedError(f"{type(self).__name__} must implement _with_error.")


class MultiSubjectNeuralBenchmark(_MeanOverChildren[str]):
    """The mean over subjects, each with a benchmark of its own stimuli and neuroids.

    If all saw the same stimuli, ``TrainTestNeuralBenchmark(alpha_coord='subject')`` records the model once.
    ``per_subject_factory(subject)`` builds a subject's benchmark; the first is built at once, for version, parent (its
    region if it has none) and reference. `peak_aggregation` has no effect. `unit` names the averaged parts, such as
    ``"session"``, in attributes of the score.
    """

    def __init__(
        self,
        identifier: str,
        subjects: Sequence[str],
        per_subject_factory: Callable[[str], Child],
        peak_aggregation: float = 1.0,
        *,
        unit: str = "subject",
    ) -> None:
        self._dim = unit
        super().__init__(identifier, subjects, per_subject_factory, peak_aggregation)

    def _details(self, scores: Sequence[Score]) -> Mapping[str, Score | list[Score]]:
        return {str(subject): score for subject, score in zip(self._keys, scores, strict=True)}

    def _with_error(self, score: Score, scores: Sequence[Score]) -> Score:
        by_subject = {str(subject): child_score for subject, child_score in zip(self._keys, scores, strict=True)}
        return note_error_over_units(score, by_subject, self._dim)


class KFoldNeuralBenchmark(_MeanOverChildren[int]):
    """The mean over folds, each a benchmark with its own training and test stimuli.

    ``fold_factory(fold)`` builds the benchmark of fold 0, 1, ...; otherwise as `MultiSubjectNeuralBenchmark`.
    """

    _dim = "fold"

    def __init__(
        self, identifier: str, n_folds: int, fold_factory: Callable[[int], Child], peak_aggregation: float = 1.0
    ) -> None:
        super().__init__(identifier, range(int(n_folds)), fold_factory, peak_aggregation)

    def _details(self, scores: Sequence[Score]) -> Mapping[str, Score | list[Score]]:
        return {"folds": list(scores)}

    def _with_error(self, score: Score, scores: Sequence[Score]) -> Score:
        return note_error_over_folds(score, scores)


def raw_mean(child_score: Score) -> float:
    """Return the mean of a score's raw values, NaN if it has none."""
    raw = child_score.attrs.get("raw")
    return float("nan") if raw is None else float(np.mean(np.asarray(getattr(raw, "values", raw), dtype=float)))


def release(child: Benchmark) -> None:
    """Drop a benchmark's data, even if others still refer to it."""
    for name in _HEAVY:
        if name in getattr(child, "__dict__", {}):
            setattr(child, name, None)


def ask_child_for_memory(
    wrapper: Benchmark,  # noqa: ARG001 - plugins for the published system pass it
    candidate: BrainModel,
    child_factory: Callable[[], Benchmark],
    raise_if_oom: bool,
) -> None:
    """Ask a child whether the candidate fits; a `MemoryError` is raised only with ``raise_if_oom``."""
    child = child_factory()
    try:
        child.preallocate_memory(candidate)
    except MemoryError:
        if raise_if_oom:
            raise
    finally:
        release(child)


# Names in published plugins.
_child_raw_scalar = raw_mean
_release = release
_scaled_preallocate_memory = ask_child_for_memory
