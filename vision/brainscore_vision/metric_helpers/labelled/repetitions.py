"""Arrange a measurement by repetition and stimulus, and divide it into halves."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError, count
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, has_coordinate, squeeze_time_bin
from brainscore_vision.metric_helpers.labelled.rdms import read_responses

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Labels, NDArray, Notes

__all__ = ["Repetitions", "divide_repetitions", "is_repeated", "read_means", "read_repetitions"]


@dataclass(frozen=True)
class Repetitions:
    """Responses to each stimulus in each repetition."""

    values: Floats  # (n_repetitions, n_stimuli, n_neuroids), zero where not present
    present: NDArray[np.bool_]  # (n_repetitions, n_stimuli)
    stimuli: Labels  # (n_stimuli,), sorted `stimulus_id`
    neuroids: Labels  # (n_neuroids,), their `neuroid_id`, or positions without one
    notes: Notes  # for `Score.attrs`: `n_stimuli`, `n_neuroids`, omitted neuroids, `n_repetitions`

    def means(self, chosen: NDArray[np.bool_] | None = None) -> Floats:
        """Average over all or selected repetitions; NaN for stimuli shown in none."""
        part = slice(None) if chosen is None else chosen
        counts = self.present[part].sum(axis=0)
        with np.errstate(invalid="ignore"):
            means: Floats = self.values[part].sum(axis=0) / counts[:, None]
        return means


def is_repeated(assembly: DataAssembly, repetition_coord: str) -> bool:
    """Return whether an assembly has several repetitions."""
    return has_coordinate(assembly, repetition_coord) and len(np.unique(coordinate(assembly, repetition_coord))) > 1


def read_repetitions(
    assembly: DataAssembly,
    *,
    repetition_coord: str = "repetition",
    role: str = "target",
    fewest: int = 2,
    fewest_stimuli: int = 3,
    stimuli: Labels | None = None,
    remedy: str = "",
) -> Repetitions:
    """Arrange responses by repetition and stimulus; a stimulus may lack repetitions.

    At least `fewest` repetitions and `fewest_stimuli` are needed; the error for too few, but several, repetitions ends
    with `remedy`. If `stimuli` are given, sorted, exactly these are required.
    """
    assembly = squeeze_time_bin(assembly)
    read = read_responses(assembly, role=role)
    names, row = _numbered(read.stimuli, stimuli)
    labels, layer = np.unique(coordinate(assembly, repetition_coord), return_inverse=True)
    if len(labels) < fewest:
        raise AssemblyError(
            f"Noise-free estimates need single repetitions, at least {fewest} values of {repetition_coord!r}; "
            f"found {len(labels)}." + (f" {remedy}" if remedy and len(labels) > 1 else "")
        )
    present = np.zeros((len(labels), len(names)), dtype=bool)
    present[layer, row] = True
    if present.sum() < len(row):
        raise AssemblyError(
            f"{count(len(row) - int(present.sum()), 'further presentation')} of a stimulus within one value of "
            f"{repetition_coord!r}; number the repetitions of each stimulus."
        )
    if len(names) < fewest_stimuli:
        raise AssemblyError(
            f"Geometries of {len(names)} stimuli cannot be compared; at least {fewest_stimuli} are needed."
        )
    values = np.zeros((*present.shape, read.values.shape[1]))
    values[layer, row] = read.values
    notes = {"n_stimuli": len(names), **read.notes, "n_repetitions": len(labels)}
    return Repetitions(values=values, present=present, stimuli=names, neuroids=read.neuroids, notes=notes)


def read_means(assembly: DataAssembly, stimuli: Labels, *, role: str = "source") -> Floats:
    """Return the responses to exactly these stimuli (sorted), averaged over the presentations of each."""
    read = read_responses(assembly, role=role)
    names, row = _numbered(read.stimuli, stimuli)
    if len(row) == len(names):
        return read.values[np.argsort(row)]
    sums = np.zeros((len(names), read.values.shape[1]))
    np.add.at(sums, row, read.values)
    return sums / np.bincount(row)[:, None]


def _numbered(given: Labels, expected: Labels | None) -> tuple[Labels, Indices]:
    names, row = np.unique(given if expected is None else given.astype(expected.dtype), return_inverse=True)
    if expected is not None and not np.array_equal(names, expected):
        only = [str(name) for name in np.setxor1d(names, expected)[:5]]
        raise AssemblyError(
            f"Source and target do not hold the same {Defaults.stimulus_coord}: they have {len(names)} and "
            f"{len(expected)} different ones, and only one of them has {only}."
        )
    return names, row


def divide_repetitions(n_repetitions: int, *, most: int, seed: int) -> NDArray[np.bool_]:
    """Divide repetitions into two halves, True for the first; the second is larger by one if the number is odd.

    All divisions if there are at most `most`, otherwise random ones.
    """
    size = n_repetitions // 2
    number = math.comb(n_repetitions, size) // (2 if n_repetitions % 2 == 0 else 1)
    if number <= most:
        # For an even number, the second half of combinations complements the first.
        divisions = list(itertools.islice(itertools.combinations(range(n_repetitions), size), number))
    else:
        rng = generator(seed, "halves")
        divisions = [tuple(rng.permutation(n_repetitions)[:size]) for _ in range(most)]
    halves = np.zeros((len(divisions), n_repetitions), dtype=bool)
    for half, members in zip(halves, divisions, strict=True):
        half[list(members)] = True
    return halves
