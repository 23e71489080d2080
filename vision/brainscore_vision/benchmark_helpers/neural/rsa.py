"""The standard design of RSA benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from brainscore_core.benchmarks import BenchmarkBase, ceil_score, validate_pair
from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.checks import (
    checked_metric,
    checked_recordings,
    compare,
    say_why_undefined,
    score_of_constant,
)
from brainscore_vision.benchmark_helpers.recordings import (
    RecordingConditions,
    check_degrees,
    describe,
    record,
    squeeze_single_timebin,
    timebins,
)
from brainscore_vision.benchmark_helpers.scores.normalization import note_error_over_units
from brainscore_vision.metric_helpers.labelled.rdms import RDM, RDMSimilarity, is_square
from brainscore_vision.metric_helpers.shared_metrics.rsa import RSACeiling, split_subjects

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
    from brainscore_vision.model_interface import BrainModel
    from brainscore_vision.utils import LazyLoad

__all__ = ["RSABenchmark"]


class RSABenchmark(BenchmarkBase):
    """Compare a model's dissimilarities with each subject's, and divide by a ceiling.

    Score: ``mean_s similarity(rdm(model), rdm(subject s)) / ceiling``.

    Parameters
    ----------
    assembly
        Dims (presentation, neuroid[, time_bin]), repetitions averaged, with the coordinate ``subject`` on neuroid and
        the attribute ``stimulus_set``; or dissimilarities, dims (presentation, presentation_other, subject). All
        subjects have responses to all stimuli (see `neuroid_concat`).
    ceiler
        Maps the assembly to a `Score`; None: `RSACeiling`, whose upper bound no model exceeds.
    parent
        None: the region.
    rdm
        Maps responses to the inputs of `similarity`; None: `RDM`. Not applied to dissimilarities.
    similarity
        ``similarity(model, subject)`` returns a Score; None: `RDMSimilarity`.
    stimulus_cluster : str, optional
        See `BenchmarkBase`.

    Examples
    --------
    A subclass may change the score, such as to a share of variance:

    >>> class Squared(RSABenchmark):
    ...     def __call__(self, candidate):
    ...         score = super().__call__(candidate)
    ...         score.data = score.data**2
    ...         return score
    """

    def __init__(
        self,
        identifier: str,
        version: int,
        assembly: NeuroidAssembly | LazyLoad,
        region: str,
        visual_degrees: float | None,
        number_of_trials: int,
        bibtex: str,
        ceiler: Callable[[DataAssembly], Score] | None = None,
        parent: str | None = None,
        rdm: Callable[[DataAssembly], DataAssembly] | None = None,
        similarity: Callable[[DataAssembly, DataAssembly], Score] | None = None,
        *,
        stimulus_cluster: str | None = None,
    ) -> None:
        estimate = ceiler or RSACeiling()
        super().__init__(
            identifier=identifier,
            ceiling_func=lambda: estimate(squeeze_single_timebin(self._assembly)),
            version=version,
            parent=parent or region,
            bibtex=bibtex,
            stimulus_cluster=stimulus_cluster,
        )
        self._assembly = cast("NeuroidAssembly", assembly)  # a LazyLoad acts as the assembly
        self.region = region
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._rdm = rdm or RDM()
        self._similarity = checked_metric(similarity or RDMSimilarity(), benchmark=identifier, name="similarity")
        validate_pair(self._similarity, estimate, ceil_score, of=f"Benchmark {identifier!r}")
        check_degrees(visual_degrees, identifier)

    @cached_property
    def timebins(self) -> list[tuple[float, float]]:
        """Windows to record, ms after stimulus onset."""
        return timebins(checked_recordings(self._assembly, benchmark=self.identifier))

    def measurement(self) -> NeuroidAssembly:
        """See `BenchmarkBase.measurement`."""
        return self._assembly

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; attributes also hold ``n_subjects``.

        ``raw`` is the mean over subjects, with ``raw``, dims (subject), ``subject_scores``, the same as a list, and the
        ``error`` of `note_error_over_units`.
        """
        conditions = RecordingConditions(self.region, self.timebins, self._visual_degrees, self._number_of_trials)
        source = record(candidate, self._assembly, conditions, benchmark=self.identifier)
        score = score_of_constant(candidate, self.ceiling, source)
        if score is None:
            score = self.over_clusters(ceil_score(self._raw(self._rdm(source)), self.ceiling))
            say_why_undefined(score, candidate)
        # Dissimilarities have no neuroids: count the model's.
        counted = self._assembly if "neuroid" in self._assembly.dims else source
        assemblies = [self._assembly, counted]
        describe(score, candidate, assemblies, conditions)
        return score

    def _raw(self, model: DataAssembly) -> Score:
        subjects = split_subjects(squeeze_single_timebin(self._assembly))
        parts = [part if is_square(part) else self._rdm(part) for part in subjects.values()]
        similarities = [compare(self._similarity, model, part, benchmark=self.identifier) for part in parts]
        values = np.array([float(similarity) for similarity in similarities])
        if np.isnan(values).any() and not np.isnan(values).all():  # if all are NaN, the model is constant
            names = [str(name) for name, value in zip(subjects, values, strict=True) if np.isnan(value)]
            raise AssemblyError(
                f"The similarity of the model and the subjects {names} is undefined, such as for constant patterns; "
                "drop those stimuli or subjects from the assembly."
            )
        raw = Score(values.mean())
        raw.attrs["raw"] = Score(values, coords={"subject": ("subject", list(subjects))}, dims=["subject"])
        raw.attrs.update(subject_scores=values.tolist(), n_subjects=len(values))
        note_error_over_units(raw, dict(zip(map(str, subjects), similarities, strict=True)), "subject")
        quantity = getattr(similarities[0], "attrs", {}).get("quantity")
        if quantity is not None:
            raw.attrs["quantity"] = quantity
        return raw
