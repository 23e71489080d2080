"""Compute, read and compare dissimilarities of assemblies, and arrange repetitions for distances without noise.

A *square assembly* holds ready-made dissimilarities, as fMRI data often do: two dimensions of the same stimuli,
``(presentation, presentation_other)``, with `stimulus_id` on the first. `stimulus_id_other` may state another order of
the second. `RDM` returns square assemblies. Published assemblies with the dimension presentation twice are read too.
The diagonal is zero or NaN.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from brainscore_core.errors import AssemblyError, count
from brainscore_core.metrics import Quantity, Score
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, walk_coords
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import ordinary
from brainscore_vision.metric_helpers.arrays.geometry.rdm import correlation_distances, rdm_similarity
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import (
    Neuroids,
    coordinate,
    coords_along,
    has_coordinate,
    matching_order,
    matrix,
    require_assembly,
    squeeze_time_bin,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Labels, NDArray, Notes

__all__ = [
    "OTHER",
    "RDM",
    "RDMSimilarity",
    "Repetitions",
    "Responses",
    "SquareRDM",
    "divide_repetitions",
    "is_repeated",
    "is_square",
    "paired_rdms",
    "read_means",
    "read_repetitions",
    "read_responses",
    "read_square",
    "undefined_stimuli",
]

OTHER = "_other"
"""Suffix of the second dimension of a square assembly, and of the coordinates along it."""
_DIAGONAL = 1e-6  # a diagonal up to this share of the largest entry is zero
_SYMMETRY = 1e-6  # the same for differences between the halves


@dataclass(frozen=True)
class Responses:
    """Response patterns of stimuli, without unrecorded neuroids."""

    values: Floats  # (n_stimuli, n_neuroids), finite
    stimuli: Labels  # (n_stimuli,), `stimulus_id`
    neuroids: Labels  # (n_neuroids,), `neuroid_id`, or positions without one
    notes: Notes  # for `Score.attrs`: `n_neuroids`, and omitted ones


@dataclass(frozen=True)
class SquareRDM:
    """Ready-made dissimilarities."""

    values: Floats  # (n_stimuli, n_stimuli), symmetric, zero on the diagonal
    stimuli: Labels  # (n_stimuli,), `stimulus_id` of rows and columns
    notes: Notes  # `asymmetry`, the largest difference between both triangles, if any


def is_square(assembly: DataAssembly, neuroid_dim: str = Defaults.neuroid_dim) -> bool:
    """Return whether an assembly holds dissimilarities: two dimensions of equal size, none of neuroids."""
    require_assembly(assembly)
    return assembly.ndim == 2 and neuroid_dim not in assembly.dims and assembly.shape[0] == assembly.shape[1]


def read_responses(
    assembly: DataAssembly,
    *,
    role: str = "given",
    neuroid_dim: str = Defaults.neuroid_dim,
    stimulus_coord: str = Defaults.stimulus_coord,
    dtype: DTypeLike | None = np.float64,
    scaled: bool = True,
) -> Responses:
    """Read the response patterns of an assembly.

    With `dtype` None they keep their type, without a copy. If `scaled`, responses of extreme size are divided by a
    power of two (see `arrays.scale.ordinary`), for unit-free results.
    """
    assembly = squeeze_time_bin(assembly)
    dim = _stimulus_dim(assembly, neuroid_dim)
    values, neuroids, notes = _patterns(assembly, dim, neuroid_dim, role=role, dtype=dtype)
    (values,) = ordinary(values) if scaled else [values]
    return Responses(values=values, stimuli=coordinate(assembly, stimulus_coord), neuroids=neuroids, notes=notes)


def read_square(assembly: DataAssembly, *, stimulus_coord: str = Defaults.stimulus_coord) -> SquareRDM:
    """Read ready-made dissimilarities from a square assembly, see the module.

    Differing triangles are averaged, since no order of stimuli is preferable. NaN is refused unless all pairs of a
    stimulus are NaN.
    """
    if assembly.ndim != 2 or assembly.shape[0] != assembly.shape[1]:
        raise AssemblyError(
            f"A dissimilarity matrix must be square; this assembly has dimensions {tuple(assembly.dims)} of sizes "
            f"{tuple(assembly.shape)}. Expected (presentation, presentation{OTHER})."
        )
    stimuli = _labels(assembly, stimulus_coord)
    values = np.array(assembly.values, dtype=np.float64)
    columns = f"{stimulus_coord}{OTHER}"
    if has_coordinate(assembly, columns) and not np.array_equal(assembly[columns].values, stimuli):
        values = values[:, matching_order(stimuli, assembly[columns].values, what=stimulus_coord)]
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    diagonal = np.abs(np.nan_to_num(np.diagonal(values), nan=0.0))
    if (diagonal > _DIAGONAL * largest).any():
        hint = " Convert similarities by 1 - similarities." if np.allclose(np.diagonal(values), 1) else ""
        raise AssemblyError(
            f"Dissimilarities must be zero on the diagonal; this square assembly has up to {diagonal.max():.3g} there."
            + hint
        )
    np.fill_diagonal(values, 0.0)
    notes = {}
    difference = float(np.nanmax(np.abs(values - values.T), initial=0.0))
    if difference > _SYMMETRY * largest:
        notes["asymmetry"] = difference
    values = 0.5 * (values + values.T)
    undefined = _undefined(values)
    values[undefined] = np.nan
    values[:, undefined] = np.nan
    return SquareRDM(values=values, stimuli=stimuli, notes=notes)


class RDM:
    """Compute a representational dissimilarity matrix of patterns along `neuroid_dim`."""

    def __init__(self, neuroid_dim: str = Defaults.neuroid_dim) -> None:
        self._neuroid_dim = neuroid_dim

    def __call__(self, assembly: DataAssembly) -> DataAssembly:
        """Compute ``1 - corr`` of all pairs of patterns, dims (presentation, presentation_other), in [0, 2].

        The second dimension has the coordinates of presentation with the suffix ``_other``: xarray no longer supports
        two dimensions of one name.
        """
        assembly = squeeze_time_bin(assembly)
        dim = _stimulus_dim(assembly, self._neuroid_dim)
        values, _, _ = _patterns(assembly, dim, self._neuroid_dim, role="given", dtype=None)
        coords = coords_along(assembly, dim)
        other = {f"{name}{OTHER}": (f"{dim}{OTHER}", labels) for name, (_, labels) in coords.items()}
        return DataAssembly(correlation_distances(values), coords={**coords, **other}, dims=[dim, f"{dim}{OTHER}"])


class RDMSimilarity:
    """Compare two dissimilarity matrices, aligned by a coordinate on the first dimension."""

    quantity: ClassVar[Quantity | None] = "dissimilarity_correlation"

    def __init__(self, comparison_coord: str = Defaults.stimulus_coord) -> None:
        self._comparison_coord = comparison_coord

    def __call__(self, rdm_assembly1: DataAssembly, rdm_assembly2: DataAssembly) -> Score:
        """Compute the Spearman correlation above the diagonal of square assemblies, see the module.

        NaN if a constant pattern leaves a stimulus without dissimilarities; ``undefined_stimuli`` in attrs names them.
        Attrs also: ``n_stimuli``, ``quantity``.
        """
        rdms = [read_square(rdm, stimulus_coord=self._comparison_coord) for rdm in (rdm_assembly1, rdm_assembly2)]
        first, second, notes = paired_rdms(rdms[0], rdms[1], stimulus_coord=self._comparison_coord)
        score = Score(rdm_similarity(first, second))
        score.attrs.update(notes, quantity=self.quantity)
        return score


def paired_rdms(
    first: Responses | SquareRDM, second: Responses | SquareRDM, *, stimulus_coord: str = Defaults.stimulus_coord
) -> tuple[Floats, Floats, Notes]:
    """Bring the dissimilarities of two sides (`correlation_distances` of responses) to the order of the second.

    The notes, for ``Score.attrs``, are ``n_stimuli`` (of the second side), the greater ``asymmetry`` if any, and
    ``undefined_stimuli`` if a side has stimuli without defined dissimilarities.
    """
    order = matching_order(second.stimuli, first.stimuli, what=stimulus_coord)
    values = _square_values(first, order), _square_values(second, np.arange(len(order)))
    notes = {"n_stimuli": len(order), **second.notes}
    asymmetries = [side.notes["asymmetry"] for side in (first, second) if "asymmetry" in side.notes]
    if asymmetries:
        notes["asymmetry"] = max(asymmetries)
    undefined = undefined_stimuli(*values)
    if undefined.any():
        notes["undefined_stimuli"] = [str(name) for name in second.stimuli[undefined]]
    return *values, notes


def undefined_stimuli(*rdms: Floats) -> NDArray[np.bool_]:
    """Return which stimuli have no dissimilarity in some matrix: their pattern is constant."""
    missing = np.isnan(np.stack(rdms))
    off_diagonal = missing.sum(axis=2) - np.diagonal(missing, axis1=1, axis2=2)
    # All pairs of an undefined stimulus are NaN, but not all pairs of its partners.
    undefined: NDArray[np.bool_] = (off_diagonal >= max(1, missing.shape[1] - 1)).any(axis=0)
    return undefined


def _square_values(side: Responses | SquareRDM, order: Indices) -> Floats:
    square = side.values if isinstance(side, SquareRDM) else correlation_distances(side.values)
    return square if np.array_equal(order, np.arange(len(order))) else square[np.ix_(order, order)]


def _stimulus_dim(assembly: DataAssembly, neuroid_dim: str) -> str:
    dims = [str(dim) for dim in assembly.dims if dim != neuroid_dim]
    if len(dims) != 1 or neuroid_dim not in assembly.dims:
        raise AssemblyError(
            f"Expected responses with one dimension besides {neuroid_dim!r}, or a square assembly of dissimilarities; "
            f"got dimensions {tuple(assembly.dims)} of sizes {tuple(assembly.shape)}. Select or average the others."
        )
    return dims[0]


def _patterns(
    assembly: DataAssembly, dim: str, neuroid_dim: str, *, role: str, dtype: DTypeLike | None = np.float64
) -> tuple[Floats, Labels, Notes]:
    values = matrix(assembly, [dim, neuroid_dim], role=role, dtype=dtype)
    along = coords_along(assembly, neuroid_dim)
    names = along[Defaults.neuroid_coord][1] if Defaults.neuroid_coord in along else np.arange(values.shape[1])
    # A finite sum implies finite values, and needs no copy.
    if values.shape[1] and np.isfinite(values.sum()):
        return values, names, {"n_neuroids": values.shape[1]}
    empty = np.isnan(values).all(axis=0)
    recorded = values[:, ~empty]
    broken = ~np.isfinite(recorded).all(axis=0)
    if broken.any() or recorded.shape[1] == 0:
        raise AssemblyError(
            f"Patterns must be finite, but in the {role} assembly {int(broken.sum())} of {values.shape[1]} neuroids "
            f"have NaN or infinite values for some stimuli and {int(empty.sum())} for all. Drop them before scoring."
        )
    return recorded, names[~empty], Neuroids(used=~empty, names=names).attrs


def _labels(assembly: DataAssembly, name: str) -> Labels:
    if assembly.dims[0] != assembly.dims[1]:
        return coordinate(assembly, name)
    for coord, _, values in walk_coords(assembly):
        if coord == name:
            return np.asarray(values)
    raise AssemblyError(f"The square assembly has no coordinate {name!r}; expected it on {assembly.dims[0]!r}.")


def _undefined(values: Floats) -> NDArray[np.bool_]:
    """Return which stimuli have no dissimilarity from any other; raise if single pairs are missing."""
    undefined = undefined_stimuli(values)
    rest = np.isnan(values[np.ix_(~undefined, ~undefined)])
    if rest.any():
        raise AssemblyError(
            f"{int(rest.sum())} dissimilarities are NaN although other pairs of the same stimuli are defined. Drop "
            "those stimuli, or fill in the missing pairs, before scoring."
        )
    return undefined


# Arrange a measurement by repetition and stimulus, and divide it into halves.


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
            f"Noise-free estimates need single repetitions, with at least {fewest} values of {repetition_coord!r}; "
            f"found {len(labels)}." + (f" {remedy}" if remedy and len(labels) > 1 else "")
        )
    present = np.zeros((len(labels), len(names)), dtype=bool)
    present[layer, row] = True
    if present.sum() < len(row):
        raise AssemblyError(
            f"{count(len(row) - int(present.sum()), 'further presentation')} of a stimulus with the same value of "
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
            f"Source and target do not have the same {Defaults.stimulus_coord}: they have {len(names)} and "
            f"{len(expected)} distinct values, and only one side has {only}."
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
