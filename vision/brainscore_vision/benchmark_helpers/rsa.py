"""Provide the standard design of RSA benchmarks: geometry of a model against that of each subject."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from brainscore_core.benchmarks import BenchmarkBase, ceil_score
from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.recordings import (
    Conditions,
    describe,
    record,
    squeeze_single_timebin,
    timebins,
)
from brainscore_vision.metric_helpers.labelled.rdms import RDM, RDMSimilarity, is_square
from brainscore_vision.metric_helpers.shared_metrics.rsa import RSACeiling, split_subjects
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
    from brainscore_vision.model_interface import BrainModel
    from brainscore_vision.utils import LazyLoad

__all__ = ["RSABenchmark"]


class RSABenchmark(BenchmarkBase):
    """Show stimuli to a model, compare its dissimilarities with those of each subject, and divide by a ceiling.

    Score: ``mean_s similarity(rdm(model), rdm(subject s)) / ceiling``. Nothing is fitted, so there is no training part:
    give all stimuli.

    Parameters
    ----------
    identifier : str
        Unique name, equal to the registry key, such as ``'Allen2022_fmri.IT-rdm'``.
    assembly : NeuroidAssembly or LazyLoad
        Dims (presentation, neuroid[, time_bin]), repetitions averaged, with the coordinate ``subject`` on neuroid and
        the attribute ``stimulus_set``; or dissimilarities, dims (presentation, presentation_other, subject).
    visual_degrees : float
        Width of the stimuli in the experiment, degrees of visual angle.
    ceiler : callable, optional
        From the assembly to a `Score`; None takes `RSACeiling`, whose upper bound no model exceeds.
    parent : str, optional
        Node of the hierarchy; None takes the region.
    rdm : callable, optional
        From an assembly of responses to what `similarity` compares; None takes `RDM`. Ready-made dissimilarities do not
        pass through it.
    similarity : callable, optional
        ``similarity(model, subject)`` returns a Score; None takes `RDMSimilarity`.
    """

    def __init__(
        self,
        identifier: str,
        version: int,
        assembly: NeuroidAssembly | LazyLoad,
        region: str,
        visual_degrees: float,
        number_of_trials: int,
        bibtex: str,
        ceiler: Callable[[DataAssembly], Score] | None = None,
        parent: str | None = None,
        rdm: Callable[[DataAssembly], DataAssembly] | None = None,
        similarity: Callable[[DataAssembly, DataAssembly], Score] | None = None,
    ) -> None:
        estimate = ceiler or RSACeiling()
        super().__init__(
            identifier=identifier,
            ceiling_func=lambda: estimate(squeeze_single_timebin(self._assembly)),
            version=version,
            parent=parent or region,
            bibtex=bibtex,
        )
        self._assembly = cast("NeuroidAssembly", assembly)  # a LazyLoad acts as what it loads
        self.region = region
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._rdm = rdm or RDM()
        self._similarity = similarity or RDMSimilarity()

    @cached_property
    def timebins(self) -> list[tuple[float, float]]:
        """The windows to record, ms after stimulus onset."""
        return timebins(self._assembly)

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; `CeilingError` if the recordings have no usable ceiling.

        Returns
        -------
        Score
            0-d. Attributes: ``raw`` (mean over subjects; its ``raw`` has dims (subject), its ``subject_scores`` the
            same as a list, its ``error`` is the standard error over subjects), ``ceiling``, ``error``, ``n_stimuli``,
            ``n_neuroids``, ``n_subjects``, ``n_trials``, ``simulated``; ``layers`` if the model says which it used.
        """
        conditions = Conditions(self.region, self.timebins, self._visual_degrees, self._number_of_trials)
        source = record(candidate, self._assembly, conditions, benchmark=self.identifier)
        score = ceil_score(self._raw(self._rdm(source)), self.ceiling)
        # Ready-made dissimilarities have no neuroids; the model's are counted then.
        counted = self._assembly if "neuroid" in self._assembly.dims else source
        shown = [self._assembly, counted]
        describe(score, candidate, shown, conditions)
        return score

    def _raw(self, model: DataAssembly) -> Score:
        subjects = split_subjects(squeeze_single_timebin(self._assembly))
        parts = [part if is_square(part) else self._rdm(part) for part in subjects.values()]
        similarities = [self._similarity(model, part) for part in parts]
        values = np.array([float(similarity) for similarity in similarities])
        if np.isnan(values).any():
            names = [str(name) for name, value in zip(subjects, values, strict=True) if np.isnan(value)]
            raise AssemblyError(
                f"The similarity of the model and the subjects {names} is undefined, such as for constant patterns; "
                "drop those stimuli or subjects from the assembly."
            )
        raw = Score(values.mean())
        raw.attrs["raw"] = Score(values, coords={"subject": ("subject", list(subjects))}, dims=["subject"])
        raw.attrs.update(subject_scores=values.tolist(), n_subjects=len(values))
        attach_standard_error(raw, values, over="subject")
        quantity = getattr(similarities[0], "attrs", {}).get("quantity")
        if quantity is not None:
            raw.attrs["quantity"] = quantity
        return raw
