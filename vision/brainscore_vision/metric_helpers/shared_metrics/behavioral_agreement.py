"""Score how a model's answers agree with those of people, one by one or in their accuracy.

The source holds the model's answers to the target's stimuli, dims (presentation) or (choice, presentation) with
one choice; `truth` is optional. The target holds people's answers, dims (presentation), one per trial, with
`stimulus_id`, `subject` and `truth`. Other stimuli or a missing coordinate raise AssemblyError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Quantity, Score
from brainscore_vision.metric_helpers.arrays.behavior import (
    accuracy_closeness,
    error_consistency,
    pairwise_accuracies,
    pairwise_error_consistency,
)
from brainscore_vision.metric_helpers.arrays.correlation import mean_known
from brainscore_vision.metric_helpers.arrays.influence import (
    closeness_influences,
    kappa_influences,
    pair_influences,
    subject_influences,
)
from brainscore_vision.metric_helpers.labelled.alignment import has_coordinate
from brainscore_vision.metric_helpers.labelled.judgements import Judgements, read_judgements, read_model_judgements
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_spread,
    crossed_influence,
    crossed_spread,
    note_error,
    t_interval,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray

__all__ = ["NO_ANSWER", "AccuracyDistance", "ErrorConsistency"]

NO_ANSWER = ("", "NaN")
"""Missing answers in experiments where people, or models, answer some of the stimuli."""


class _Agreement(Metric):
    """Base of both metrics.

    Parameters
    ----------
    omitted_answers
        Answers that count as none, such as ''; None: the default of the class. Stimuli without an answer on either side
        are not compared.
    compat
        Report the standard deviation over all values as ``error``, as published scores do.
    """

    quantity: ClassVar[Quantity | None] = "share"
    omitted_by_default: ClassVar[Collection[str]] = ()

    def __init__(self, *, omitted_answers: Collection[str] | None = None, compat: bool = False) -> None:
        self._omitted = tuple(self.omitted_by_default if omitted_answers is None else omitted_answers)
        self._compat = compat

    def _mean(self, values: Floats) -> float:
        return float(mean_known(mean_known(values, axis=-1)))

    def _score(
        self, values: Floats, influences: Callable[[], Floats], people: Judgements, *, pairs: bool = False
    ) -> Score:
        if pairs:
            first, second = _pairs(people)
            named = {"subject_left": people.subjects[first], "subject_right": people.subjects[second]}
        else:
            named = {"subject": people.subjects}
        coords = {name: ("subject", labels) for name, labels in named.items()}
        if values.ndim > 1:
            coords["condition"] = ("condition", np.array([label[0] if label else "all" for label in people.conditions]))
        score = Score(self._mean(values))
        score.attrs.update(
            raw=Score(values, coords=coords, dims=["condition", "subject"][-values.ndim :]),
            n_stimuli=len(people.stimuli),
            n_trials=int(people.judged.sum()),
            n_subjects=len(people.subjects),
            n_conditions=len(people.conditions),
            quantity=self.quantity,
        )
        n_subjects, least = len(people.subjects), 3 if pairs else 2
        if self._compat:
            note_error(
                score, float(np.nanstd(values)) if not np.isnan(values).all() else np.nan, over="subject", n=n_subjects
            )
        else:
            moved = influences()
            spread = crossed_spread(moved, people.judged.sum(axis=0))
            score.attrs["influence"] = crossed_influence(moved, people.stimuli, people.subjects)
            few = f"of {n_subjects} subjects; at least {least} are needed" if n_subjects < least else None
            over = ["stimulus", "subject"]
            attach_spread(score, spread, over=over, interval=t_interval(score.item(), spread), missing=few)
        if np.isnan(values).any():
            score.attrs["n_undefined"] = int(np.isnan(values).sum())
        return score


class ErrorConsistency(_Agreement):
    """Mean Cohen's kappa between a model and single people, on which stimuli are answered correctly.

    With `compat`, the score is the absolute value of the mean over conditions, then subjects, as published.
    """

    quantity: ClassVar[Quantity | None] = "kappa"

    def __call__(self, source: DataAssembly, target: DataAssembly) -> Score:
        """Compare single answers to each stimulus; several need the coordinate `condition` of the target.

        Returns
        -------
        Score
            0-d, at most 1. Attrs: ``raw`` (Score, dims (condition, subject); NaN where kappa is undefined), ``error``
            (over new subjects and new stimuli; NaN for one subject), ``error_over``, ``interval`` (95 %),
            ``n_stimuli``, ``n_trials``, ``n_subjects``, ``quantity`` and ``n_undefined`` if any.
        """
        people = self._people(target)
        share, answered = read_model_judgements(source, people, omitted=self._omitted, single=True)
        counted = (people.judged > 0) & answered[:, None]
        parts = share[:, None] > 0, people.right > 0, counted
        kappas = error_consistency(*parts)

        def influences() -> Floats:
            return _over_conditions(kappas, subject_influences(kappas, kappa_influences(*parts), counted))

        return self._score(kappas, influences, people)

    def ceiling(self, assembly: DataAssembly) -> Score:
        """Compute the mean kappa over all pairs of at least two subjects.

        Only stimuli that both judged count. Attributes are those of the metric; ``raw`` has the coordinates
        `subject_left` and `subject_right`. ``error`` is NaN for a single pair.
        """
        people = self._people(assembly)
        _pairs(people)
        both = [(hits > 0, seen > 0) for hits, seen in zip(people.right, people.judged, strict=True)]
        kappas = np.stack([pairwise_error_consistency(*answers) for answers in both])

        def influences() -> Floats:
            moved = [_kappas_of_pairs(pairs, *answers) for pairs, answers in zip(kappas, both, strict=True)]
            return _over_conditions(kappas, np.stack(moved))

        return self._score(kappas, influences, people, pairs=True)

    def _people(self, assembly: DataAssembly) -> Judgements:
        coords = ("condition",) if has_coordinate(assembly, "condition") else ()
        return read_judgements(assembly, coords, omitted=self._omitted, single=True)

    def _mean(self, values: Floats) -> float:
        return abs(float(mean_known(mean_known(values, axis=0)))) if self._compat else super()._mean(values)


class AccuracyDistance(_Agreement):
    """Closeness of a model's accuracy to that of single people, relative to the largest possible distance.

    Parameters
    ----------
    symmetric
        For `ceiling`: either subject of a pair replaces the model in turn. Otherwise the first one by name does, as
        published.
    """

    def __init__(
        self, *, omitted_answers: Collection[str] | None = None, symmetric: bool = False, compat: bool = False
    ) -> None:
        super().__init__(omitted_answers=omitted_answers, compat=compat)
        self._symmetric = symmetric

    def __call__(self, source: DataAssembly, target: DataAssembly, variables: Sequence[str] = ()) -> Score:
        """Compare people and the model on the stimuli that each person judged.

        Accuracies are compared within each combination of the values of `variables`, coordinates of both assemblies,
        and then averaged. Combinations missing on one side do not count.

        Returns
        -------
        Score
            0-d, in [0, 1]. Attrs: ``raw`` (Score, dims (subject)), ``error`` (standard error over new subjects and new
            stimuli; NaN for one subject), ``error_over``, ``interval`` (95 %), ``n_stimuli``, ``n_trials``,
            ``n_subjects``, ``n_conditions``, ``quantity``.
        """
        names = (variables,) if isinstance(variables, str) else tuple(variables)
        for name in names:
            if not has_coordinate(source, name):
                raise AssemblyError(f"The source assembly has no coordinate {name!r}, which `variables` asks for.")
        people = read_judgements(target, names, omitted=self._omitted)
        share, answered = read_model_judgements(source, people, omitted=self._omitted, partial_conditions=bool(names))
        judged = people.judged * answered[:, None]
        number = judged.sum(axis=-1)
        with np.errstate(invalid="ignore"):
            accuracy = (people.right * answered[:, None]).sum(axis=-1) / number
            model = (share[:, None] * judged).sum(axis=-1) / number
        values = mean_known(accuracy_closeness(model, accuracy), axis=0)

        def influences() -> Floats:
            by_condition = closeness_influences(share[:, None], _shares(people.right, judged), judged)
            by_stimulus = by_condition.sum(axis=0) / np.maximum((number > 0).sum(axis=0), 1)[:, None]
            return subject_influences(values, by_stimulus, judged.sum(axis=0))

        return self._score(values, influences, people)

    def ceiling(self, assembly: DataAssembly) -> Score:
        """Compute how close people are to each other, as `ErrorConsistency.ceiling`.

        The subject of `subject_left` replaces the model.
        """
        people = read_judgements(assembly, omitted=self._omitted)
        first, second = _pairs(people)
        accuracies = pairwise_accuracies(people.right[0], people.judged[0])
        closeness = accuracy_closeness(accuracies, accuracies.T)
        pairs = closeness[first, second]
        if self._symmetric:
            pairs = (pairs + closeness[second, first]) / 2
        return self._score(pairs, lambda: self._influences_of_pairs(pairs, people), people, pairs=True)

    def _influences_of_pairs(self, pairs: Floats, people: Judgements) -> Floats:
        right, judged = people.right[0], people.judged[0]
        share = _shares(right, judged)
        seen = (judged > 0).astype(np.float64)

        def against(subject: int) -> Floats:
            forward = closeness_influences(share[subject], share, seen[subject] * judged)
            backward = closeness_influences(share, share[subject], seen * judged[subject])
            if self._symmetric:
                return (forward + backward) / 2
            # The first subject of a pair replaces the model.
            first = np.arange(len(judged)) > subject
            return np.where(first[:, None], forward, backward)

        return pair_influences(_table(pairs), _of_each_subject(pairs, against, judged.shape), judged)


def _pairs(people: Judgements) -> tuple[Indices, Indices]:
    if len(people.subjects) < 2:
        raise AssemblyError(
            f"A ceiling over pairs needs at least two subjects, found {len(people.subjects)}. Pass the answers of "
            "single subjects, before pooling."
        )
    first, second = np.triu_indices(len(people.subjects), k=1)
    return first, second


def _shares(right: NDArray[Any], judged: NDArray[Any]) -> Floats:
    shares: Floats = np.divide(right, judged, out=np.zeros(np.shape(judged)), where=judged > 0)
    return shares


def _over_conditions(values: Floats, influences: Floats) -> Floats:
    defined = ~np.isnan(values).all(axis=-1)
    total: Floats = influences[defined].sum(axis=0) / max(1, defined.sum())
    return total


def _table(pairs: Floats) -> Floats:
    n = round((1 + np.sqrt(1 + 8 * len(pairs))) / 2)
    table = np.full((n, n), np.nan)
    first, second = np.triu_indices(n, k=1)
    table[first, second] = table[second, first] = pairs
    return table


def _kappas_of_pairs(pairs: Floats, hits: NDArray[np.bool_], seen: NDArray[np.bool_]) -> Floats:
    def against(subject: int) -> Floats:
        return kappa_influences(hits[subject], hits, seen[subject] & seen)

    return pair_influences(_table(pairs), _of_each_subject(pairs, against, hits.shape), seen)


def _of_each_subject(pairs: Floats, against: Callable[[int], Floats], shape: tuple[int, int]) -> Floats:
    """Average over each subject's pairs with a value; ``against(subject)`` has a row for each other one."""
    defined = ~np.isnan(_table(pairs))
    means = np.zeros(shape)
    for subject, partners in enumerate(defined):
        means[subject] = against(subject)[partners].sum(axis=0) / max(1, partners.sum())
    return means
