"""Score whether two observers err on the same stimuli more often than their accuracies alone explain.

For one person and one condition, with accuracies ``p1``, ``p2`` and the part ``c`` of stimuli on which both are right
or both wrong, Cohen's kappa is

    ``kappa = (c - e) / (1 - e)``,  ``e = p1 p2 + (1 - p1)(1 - p2)``

and the score is the mean over people within each condition, then over conditions.

- Input: source, one answer for each stimulus; target, one answer for each person and stimulus, with `stimulus_id`,
  `subject`, `truth` and, if there are several, `condition` on presentation. Answers are the values of the assembly, or
  its coordinate `choice` if the values are numbers. An answer that is no label (`na`, empty) counts as wrong.
- Output: Score, at most 1; 0 is what independent errors give.
- Invariances: order of trials; which wrong label was chosen.
- When: trial-by-trial comparison with people, beside accuracy. Not defined where both are always right.

References
----------
Geirhos, Meding & Wichmann (2020), NeurIPS 33; Cohen (1960), doi:10.1177/001316446002000104.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers.alignment import coordinate, has_coordinate
from brainscore_vision.metric_helpers.arrays import error_consistency

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ErrorConsistency(Metric):
    """Mean Cohen's kappa between a model and single people, on which stimuli are answered rightly."""

    def __call__(self, source: Any, target: Any) -> Score:
        """Compare.

        Parameters
        ----------
        source : BehavioralAssembly, dims (presentation) or (choice, presentation) with one choice
            The model's answers, one for each stimulus of `target`; `truth` is optional.
        target : BehavioralAssembly, dims (presentation)
            The answers of people, one for each trial.

        Returns
        -------
        Score
            0-d. Attrs: ``raw`` (Score, dims (condition, subject); NaN where kappa is undefined), ``error`` (standard
            deviation over conditions and subjects), ``n_stimuli``, ``n_trials``, ``n_subjects``, ``n_undefined``.

        Raises
        ------
        AssemblyError
            If source and target do not hold the same stimuli, a coordinate is missing, or somebody judged a stimulus
            twice.
        """
        people = _answers(target)
        model = _correct_by_stimulus(source, people)
        kappas = np.full((len(people.conditions), len(people.subjects)), np.nan)
        for index in np.ndindex(kappas.shape):
            judged = people.judged[index]
            if judged.any():
                kappas[index] = error_consistency(model[index[0], judged], people.correct[index][judged])
        raw = Score(
            kappas,
            coords={"condition": ("condition", people.conditions), "subject": ("subject", people.subjects)},
            dims=["condition", "subject"],
        )
        return _aggregate(raw, people)

    def ceiling(self, assembly: Any) -> Score:
        """Compute how consistent people are with each other: the mean kappa over all pairs of subjects.

        Parameters
        ----------
        assembly : BehavioralAssembly, dims (presentation)
            As `target` of the metric.

        Returns
        -------
        Score
            0-d. Attrs as for the metric; ``raw`` has dims (condition, subject), the second with coordinates
            `subject_left` and `subject_right`. Only stimuli that both judged count.

        Raises
        ------
        AssemblyError
            If there are fewer than two subjects, a coordinate is missing, or somebody judged a stimulus twice.
        """
        people = _answers(assembly)
        if len(people.subjects) < 2:
            raise AssemblyError(f"A ceiling over pairs needs at least two subjects, found {len(people.subjects)}.")
        left, right = np.triu_indices(len(people.subjects), k=1)
        kappas = np.full((len(people.conditions), len(left)), np.nan)
        for condition, pair in np.ndindex(kappas.shape):
            one, two = (condition, left[pair]), (condition, right[pair])
            both = people.judged[one] & people.judged[two]
            if both.any():
                kappas[condition, pair] = error_consistency(people.correct[one][both], people.correct[two][both])
        raw = Score(
            kappas,
            coords={
                "condition": ("condition", people.conditions),
                "subject_left": ("subject", people.subjects[left]),
                "subject_right": ("subject", people.subjects[right]),
            },
            dims=["condition", "subject"],
        )
        return _aggregate(raw, people)


@dataclass(frozen=True)
class _Answers:
    """Trials arranged as a table."""

    conditions: NDArray[Any]  # (c,)
    subjects: NDArray[Any]  # (s,)
    stimuli: NDArray[Any]  # (n,)
    truth: dict[str, str]  # stimulus -> label
    correct: NDArray[np.bool_]  # (c, s, n)
    judged: NDArray[np.bool_]  # (c, s, n), whether there is an answer


def _answers(assembly: Any) -> _Answers:
    stimulus_ids = coordinate(assembly, "stimulus_id").astype(str)
    subject_names = coordinate(assembly, "subject")
    truth = coordinate(assembly, "truth").astype(str)
    condition_names = _conditions(assembly)
    right = _choices(assembly) == truth
    stimuli, stimulus = np.unique(stimulus_ids, return_inverse=True)
    subjects, subject = np.unique(subject_names, return_inverse=True)
    conditions, condition = np.unique(condition_names, return_inverse=True)
    shape = (len(conditions), len(subjects), len(stimuli))
    count = np.zeros(shape, dtype=int)
    np.add.at(count, (condition, subject, stimulus), 1)
    if count.max(initial=0) > 1:
        where = tuple(index[0] for index in np.nonzero(count > 1))
        raise AssemblyError(
            f"{int((count > 1).sum())} stimuli were judged more than once by one subject in one condition, such as "
            f"{str(stimuli[where[2]])!r} by {str(subjects[where[1]])!r}. Error consistency needs single trials: "
            "select one of them, or tell them apart by a coordinate 'condition'."
        )
    correct = np.zeros(shape, dtype=bool)
    correct[condition, subject, stimulus] = right
    return _Answers(
        conditions=conditions,
        subjects=subjects,
        stimuli=stimuli,
        truth=dict(zip(stimulus_ids.tolist(), truth.tolist(), strict=True)),
        correct=correct,
        judged=count == 1,
    )


def _correct_by_stimulus(source: Any, people: _Answers) -> NDArray[np.bool_]:
    """Whether the model is right, (c, n). Without a condition of its own it gives one answer for all conditions."""
    ids = coordinate(source, "stimulus_id").astype(str)
    shown = people.judged.any(axis=1)
    own = has_coordinate(source, "condition") and len(people.conditions) > 1
    condition_names = _conditions(source) if own else np.zeros(len(ids), dtype=int)
    known = people.conditions if own else np.zeros(1, dtype=int)
    asked = shown if own else shown.any(axis=0, keepdims=True)
    needed = set(zip(*(axis.tolist() for axis in np.nonzero(asked)), strict=True))
    position = {name: index for index, name in enumerate(people.stimuli.tolist())}
    condition_position = {name: index for index, name in enumerate(known.tolist())}
    keys = [
        (condition_position.get(condition), position.get(name))
        for condition, name in zip(condition_names.tolist(), ids.tolist(), strict=True)
    ]
    surplus = [name for key, name in zip(keys, ids, strict=True) if key not in needed]
    missing = [str(people.stimuli[s]) for _, s in sorted(needed - set(keys))]
    if surplus or missing or len(set(keys)) < len(keys):
        parts = [("missing from the source", missing), ("only in the source", surplus)]
        found = [f"{len(names)} {what} ({', '.join(map(repr, map(str, names[:5])))})" for what, names in parts if names]
        raise AssemblyError(
            f"Source ({len(keys)} answers) and target ({len(needed)} stimuli) do not hold the same stimulus_id: "
            f"{'; '.join(found) or 'some answers are repeated'}. The model must answer once for each stimulus."
        )
    own_truth = has_coordinate(source, "truth")
    truth = coordinate(source, "truth").astype(str) if own_truth else np.array([people.truth[name] for name in ids])
    table = np.zeros((len(known), len(people.stimuli)), dtype=bool)
    table[tuple(np.array(keys).T)] = _choices(source) == truth
    return np.broadcast_to(table, shown.shape)


def _conditions(assembly: Any) -> NDArray[Any]:
    if has_coordinate(assembly, "condition"):
        return coordinate(assembly, "condition")
    return np.full(assembly.sizes["presentation"], "all")


def _choices(assembly: Any) -> NDArray[Any]:
    values = np.asarray(assembly.values)
    beside = has_coordinate(assembly, "choice") and assembly["choice"].dims == ("presentation",)
    if beside and values.dtype.kind not in "OSU":
        return coordinate(assembly, "choice").astype(str)
    if values.size != assembly.sizes["presentation"]:
        raise AssemblyError(
            f"The assembly has {dict(assembly.sizes)}; error consistency needs one answer for each presentation. "
            "Take the most probable choice first, with argmax for instance."
        )
    return values.reshape(-1).astype(str)


def _aggregate(raw: Score, people: _Answers) -> Score:
    kappas = raw.values
    defined = ~np.isnan(kappas)
    per_condition = [row[known].mean() for row, known in zip(kappas, defined, strict=True) if known.any()]
    score = Score(np.mean(per_condition) if per_condition else np.nan)
    score.attrs.update(
        raw=raw,
        error=float(kappas[defined].std()) if defined.any() else float("nan"),
        n_stimuli=len(people.stimuli),
        n_trials=int(people.judged.sum()),
        n_subjects=len(people.subjects),
    )
    if not defined.all():
        score.attrs["n_undefined"] = int((~defined).sum())
    return score
