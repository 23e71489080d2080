"""Arrange answers as tables of right and wrong."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    has_coordinate,
    require_assembly,
    require_entries,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Integers, Labels, NDArray

__all__ = ["Judgements", "labels_of", "most_probable", "read_judgements", "read_model_judgements", "same_label"]


@dataclass(frozen=True)
class Judgements:
    """Answers of people, counted by condition, subject and stimulus."""

    condition_coords: tuple[str, ...]  # define conditions; empty for a single condition
    conditions: list[tuple[Hashable, ...]]  # their values in each condition, ascending
    subjects: Labels  # (n_subjects,)
    stimuli: Labels  # (n_stimuli,), texts
    truth: dict[str, Hashable]  # right answer to each stimulus
    right: Integers  # (n_conditions, n_subjects, n_stimuli), number of right answers
    judged: Integers  # same shape, number of answers


def same_label(answers: Labels, truth: Labels) -> NDArray[np.bool_]:
    """Compare labels one by one: as numbers if both are numbers, as text otherwise; a missing one equals none.

    Examples
    --------
    >>> same_label(np.array(["a", None, np.nan], dtype=object), np.array(["a", None, "nan"], dtype=object)).tolist()
    [True, False, False]
    """
    if answers.dtype.kind in "biuf" and truth.dtype.kind in "biuf":
        return np.asarray(answers == truth, dtype=bool)
    alike = answers.astype(str) == truth.astype(str)
    return np.asarray(alike & ~pd.isna(answers) & ~pd.isna(truth), dtype=bool)  # as text, None equals None


def labels_of(assembly: DataAssembly, *, role: str = "given") -> Labels:
    """Return each answer: its value or, if that is a number, the coordinate `choice` if any.

    A second dimension must have length one.
    """
    require_assembly(assembly)
    values = np.asarray(assembly.values)
    beside = has_coordinate(assembly, "choice") and assembly["choice"].dims == ("presentation",)
    if beside and values.dtype.kind not in "OSU":
        return coordinate(assembly, "choice")
    if values.size != assembly.sizes.get("presentation", -1):
        raise AssemblyError(
            f"The {role} assembly has {dict(assembly.sizes)}; expected one answer for each presentation. Take the "
            "most probable choice first, for example with argmax."
        )
    return values.reshape(-1)


def most_probable(probabilities: DataAssembly) -> Labels:
    """Return the most probable choice for each presentation, the first of ties; dims (presentation, choice), no NaN."""
    require_entries(probabilities)
    if set(probabilities.dims) != {"presentation", "choice"}:
        raise AssemblyError(
            f"Probabilities have dimensions {tuple(probabilities.dims)} of sizes {tuple(probabilities.shape)}; "
            "expected ('presentation', 'choice'), as models return them for the task 'probabilities'."
        )
    values = np.asarray(probabilities.transpose("presentation", "choice").values, dtype=np.float64)
    broken = np.isnan(values).any(axis=1)
    if broken.any():
        raise AssemblyError(f"Probabilities are NaN for {int(broken.sum())} of {len(values)} presentations.")
    choices: Labels = coordinate(probabilities, "choice")[values.argmax(axis=1)]
    return choices


def read_judgements(
    assembly: DataAssembly, condition_coords: Sequence[str] = (), *, omitted: Collection[str] = (), single: bool = False
) -> Judgements:
    """Count the answers of people: one presentation per trial, with conditions as coordinates.

    Omitted answers, such as an empty one, do not count. With `single`, several answers of a subject to a stimulus in a
    condition are refused.
    """
    coords = tuple(condition_coords)
    answers, truth = labels_of(assembly, role="target"), coordinate(assembly, "truth")
    stimulus_ids = coordinate(assembly, "stimulus_id").astype(str)
    stimuli, stimulus = np.unique(stimulus_ids, return_inverse=True)
    subjects, subject = np.unique(coordinate(assembly, "subject"), return_inverse=True)
    conditions, condition = _combinations([coordinate(assembly, name) for name in coords], len(stimulus_ids))
    shape = (len(conditions), len(subjects), len(stimuli))
    if shape[1] == 0:
        raise AssemblyError("The target assembly has no presentations, so it has no human answers to compare with.")
    cell = np.ravel_multi_index((condition, subject, stimulus), shape)
    valid = ~np.isin(answers.astype(str), list(omitted))
    size = int(np.prod(shape))
    judged = np.bincount(cell[valid], minlength=size).reshape(shape)
    right = np.bincount(cell[valid & same_label(answers, truth)], minlength=size).reshape(shape)
    if single and np.bincount(cell, minlength=size).max(initial=0) > 1:
        count = np.bincount(cell, minlength=size).reshape(shape)
        where = tuple(index[0] for index in np.nonzero(count > 1))
        raise AssemblyError(
            f"{int((count > 1).sum())} stimuli were judged more than once by the same subject in the same condition, "
            f"such as {str(stimuli[where[2]])!r} by {str(subjects[where[1]])!r}. This metric needs single trials: "
            "select one, or distinguish them by a coordinate 'condition'."
        )
    labels = dict(zip(stimulus_ids.tolist(), truth.tolist(), strict=True))
    return Judgements(coords, conditions, subjects, stimuli, labels, right, judged)


def read_model_judgements(
    source: DataAssembly,
    people: Judgements,
    *,
    omitted: Collection[str] = (),
    single: bool = False,
    partial_conditions: bool = False,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return how often a model is right about each judged stimulus, with options of `read_judgements`.

    Answers (see `labels_of`) are compared with the model's own `truth` or, without one, with that of people. A model
    without all coordinates of conditions gives one answer for all conditions. With `partial_conditions`, the source, or
    people, may lack whole conditions.

    Returns
    -------
    share : ndarray, shape (n_conditions, n_stimuli)
        Share of right answers; 0 without answers.
    answered : ndarray of bool, shape (n_conditions, n_stimuli)
        Where there is an answer that is not omitted.
    """
    several = len(people.conditions) > 1 or partial_conditions
    own = several and all(has_coordinate(source, name) for name in people.condition_coords)
    stimulus_ids = coordinate(source, "stimulus_id").astype(str)
    columns = [coordinate(source, name) for name in people.condition_coords] if own else []
    combinations, combination = _combinations(columns, len(stimulus_ids))
    conditions = people.conditions if own else [()]
    condition = _places(combinations, conditions)[combination]
    stimulus = _places(stimulus_ids.tolist(), people.stimuli.tolist())
    inside = (condition >= 0) & (stimulus >= 0)

    judged = people.judged.sum(axis=1) > 0
    asked = judged if own else judged.any(axis=0, keepdims=True)
    among = np.ones(len(condition), dtype=bool)
    if partial_conditions:
        asked = asked & np.isin(np.arange(len(conditions)), condition)[:, None]
        among = condition >= 0
    count = _counts(condition, stimulus, inside, asked.shape)
    surplus = stimulus_ids[among & ~inside]
    missing = people.stimuli[np.nonzero(asked & (count == 0))[1]]
    if len(surplus) or len(missing) or (single and count.max(initial=0) > 1):
        raise AssemblyError(_mismatch(len(stimulus_ids), int(asked.sum()), missing, surplus))

    answers = labels_of(source, role="source")
    if has_coordinate(source, "truth"):
        truth = coordinate(source, "truth")
    else:
        truth = np.array([people.truth.get(name, "") for name in stimulus_ids.tolist()])
    valid = inside & ~np.isin(answers.astype(str), list(omitted))
    number = _counts(condition, stimulus, valid, asked.shape)
    right = _counts(condition, stimulus, valid & same_label(answers, truth), asked.shape)
    share = np.divide(right, number, out=np.zeros(right.shape), where=number > 0)
    return np.broadcast_to(share, judged.shape), np.broadcast_to(number > 0, judged.shape)


def _places(values: Sequence[Hashable], known: Sequence[Hashable]) -> Indices:
    position = {value: index for index, value in enumerate(known)}
    return np.array([position.get(value, -1) for value in values], dtype=np.intp)


def _counts(condition: Indices, stimulus: Indices, counted: NDArray[np.bool_], shape: tuple[int, ...]) -> Integers:
    count = np.zeros(shape, dtype=int)
    np.add.at(count, (condition[counted], stimulus[counted]), 1)
    return count


def _combinations(columns: Sequence[Labels], n: int) -> tuple[list[tuple[Hashable, ...]], Indices]:
    """Return the combinations of values that occur, ascending, and each row's combination."""
    if not columns:
        return [()], np.zeros(n, dtype=np.intp)
    levels, codes = zip(*(np.unique(column, return_inverse=True) for column in columns), strict=True)
    sizes = tuple(len(level) for level in levels)
    cell = np.ravel_multi_index(codes, sizes)
    used, code = np.unique(cell, return_inverse=True)
    combined = [level[index].tolist() for level, index in zip(levels, np.unravel_index(used, sizes), strict=True)]
    return list(zip(*combined, strict=True)), code


def _mismatch(n_answers: int, n_asked: int, missing: Labels, surplus: Labels) -> str:
    parts = [("missing from the source", missing), ("only in the source", surplus)]
    differences = [
        f"{len(names)} {what} ({', '.join(map(repr, map(str, names[:5])))})" for what, names in parts if len(names)
    ]
    return (
        f"Source ({n_answers} answers) and target ({n_asked} stimuli) do not have the same stimulus_id: "
        f"{'; '.join(differences) or 'some answers are repeated'}. The model must answer each stimulus once."
    )
