"""Compare geometries on parts of the stimuli, and estimate the best agreement of a model with single subjects.

Subjects are distinguished by a coordinate of neuroids, or by a dimension of stacked dissimilarities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Metric, Quantity, Score
from brainscore_core.metrics.errors import attach_influence, mean_over_units
from brainscore_core.statistics.influence import Influence, t_quantile
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.geometry.rdm import rsa_bounds, rsa_references, upper_triangle
from brainscore_vision.metric_helpers.arrays.influence import rank_influences
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, matching_order, one_each, squeeze_time_bin
from brainscore_vision.metric_helpers.labelled.rdms import RDM, SquareRDM, read_square, undefined_stimuli
from brainscore_vision.metric_helpers.labelled.splits import CrossValidation
from brainscore_vision.metric_helpers.uncertainty.errors import attach_split_error, attach_standard_error

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, Labels

__all__ = [
    "OnParts",
    "RSACeiling",
    "split_subjects",
]


def split_subjects(assembly: DataAssembly) -> dict[Hashable, DataAssembly]:
    """Divide an assembly with subjects, on neuroid or a separate dimension, into one for each.

    Sorted, without the dimension of subjects.
    """
    subjects = coordinate(assembly, "subject")
    (dim,) = assembly["subject"].dims
    names = np.unique(subjects)
    positions = {name: np.flatnonzero(subjects == name) for name in names.tolist()}
    if dim == Defaults.neuroid_dim:
        return {name: assembly.isel({dim: rows}) for name, rows in positions.items()}
    repeated = [str(name) for name, rows in positions.items() if len(rows) > 1]
    if repeated:
        raise AssemblyError(f"Subjects {repeated} occur more than once on {dim!r}; each must occur once.")
    return {name: assembly.isel({dim: int(rows[0])}) for name, rows in positions.items()}


class RSACeiling(Ceiling):
    """Bounds of the mean correlation of a model's dissimilarities with single subjects'.

    Upper bound: correlation of each subject with the mean over all, which no model can exceed. Lower bound: with the
    mean over the others, which a model of the group reaches. The true model lies between. `bound` selects the score.

    Parameters
    ----------
    rdm
        Turns responses into dissimilarities; None: `RDM`. Not applied to ready-made ones.
    similarity_func
        ``f(dissimilarities, mean_dissimilarities)`` of two arrays, shape (n_pairs,), returns a correlation, or a tuple
        that begins with it; None: Spearman's.
    compat
        Average dissimilarities, as published, not ranks: a model can exceed the upper bound.
    """

    quantity: ClassVar[Quantity | None] = "dissimilarity_correlation"
    estimator = "dissimilarities of each subject with their mean over subjects"
    third_axis: ClassVar[tuple[str, str]] = ("subject", "neuroid")

    def __init__(
        self,
        rdm: Callable[[DataAssembly], DataAssembly] | None = None,
        similarity_func: Callable[[Floats, Floats], float | tuple[float, ...]] | None = None,
        *,
        bound: Literal["upper", "lower"] = "upper",
        compat: bool = False,
    ) -> None:
        if bound not in {"upper", "lower"}:
            raise ValueError(f"Unknown bound {bound!r}; expected 'upper' or 'lower'.")
        self._rdm = rdm or RDM()
        self._similarity_func = similarity_func
        self._bound = bound
        self._compat = compat

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate from responses with the coordinate `subject` on neuroid, or dissimilarities stacked by subject.

        Needs at least two subjects, and three stimuli with a pattern in all.

        Returns
        -------
        Score
            0-d, at most 1. Attrs: ``raw`` (Score, dims (bound, subject)), ``upper_bound``, ``lower_bound`` (also as
            ``lower_bound_loo``), those of `attach_influence` over new stimuli and new subjects (over subjects alone
            with a `similarity_func`, whose influences are unknown), ``n_subjects``, ``n_stimuli``,
            ``undefined_stimuli`` (dropped: a subject's pattern is constant), ``quantity``.
        """
        parts = split_subjects(squeeze_time_bin(assembly))
        if len(parts) < 2:
            raise AssemblyError(
                f"A ceiling over subjects needs at least two subjects, found {list(parts)}. With one subject, "
                "estimate the ceiling from its repetitions instead: internal_consistency, or the metric "
                "rsa_crossnobis."
            )
        squares = [self._square(part) for part in parts.values()]
        stimuli = squares[0].stimuli
        orders = [matching_order(stimuli, square.stimuli) for square in squares]
        values = np.stack([square.values[np.ix_(order, order)] for square, order in zip(squares, orders, strict=True)])
        undefined = undefined_stimuli(*values)
        defined = ~undefined
        if defined.sum() < 3:
            raise AssemblyError(
                f"Only {int(defined.sum())} stimuli have a defined pattern in all subjects; at least three are needed."
            )
        triangles = np.stack([upper_triangle(square[np.ix_(defined, defined)]) for square in values])
        upper, lower = self._bounds(triangles)
        score = self._with_error(upper if self._bound == "upper" else lower, triangles, stimuli[defined], list(parts))
        self._describe(score, upper, lower, np.asarray(list(parts)))
        score.attrs["n_stimuli"] = int(defined.sum())
        if undefined.any():
            score.attrs["undefined_stimuli"] = [str(name) for name in stimuli[undefined]]
        return score

    def _square(self, part: DataAssembly) -> SquareRDM:
        return read_square(self._rdm(part) if Defaults.neuroid_dim in part.dims else part)

    def _bounds(self, triangles: Floats) -> tuple[Floats, Floats]:
        if self._similarity_func is None:
            return rsa_bounds(triangles, compat=self._compat)
        mean = triangles.mean(axis=0)
        subjects = np.arange(len(triangles))
        upper = [_first(self._similarity_func(own, mean)) for own in triangles]
        lower = [_first(self._similarity_func(triangles[i], triangles[subjects != i].mean(axis=0))) for i in subjects]
        return np.array(upper), np.array(lower)

    def _with_error(self, bounds: Floats, triangles: Floats, stimuli: Labels, subjects: list[Hashable]) -> Score:
        """Average over subjects; to first order, their mean does not move the bound."""
        if self._similarity_func is not None:
            score = attach_standard_error(Score(float(bounds.mean())), bounds, over="subject")
            margin = score.attrs["error"] * t_quantile(len(bounds) - 1)
            score.attrs["interval"] = (float(score) - margin, float(score) + margin)
            return score
        means, others = rsa_references(triangles, compat=self._compat)
        references = means if self._bound == "upper" else others
        scores = {}
        for subject, *sides in zip(subjects, triangles, references, strict=True):
            value, influences = rank_influences(*sides)
            influence = Influence(influences[:, None], stimuli, np.array([subject], dtype=object), "subject")
            scores[str(subject)] = attach_influence(Score(value), influence)
        return mean_over_units(scores)

    def _describe(self, score: Score, upper: Floats, lower: Floats, subjects: Labels) -> None:
        score.attrs["raw"] = Score(
            np.stack([upper, lower]),
            coords={"bound": ("bound", ["upper", "lower"]), "subject": ("subject", subjects)},
            dims=["bound", "subject"],
        )
        score.attrs.update(
            upper_bound=float(upper.mean()),
            lower_bound=float(lower.mean()),
            lower_bound_loo=float(lower.mean()),
            n_subjects=len(subjects),
            quantity=self.quantity,
            estimator=f"{self.estimator}, {self._bound} bound",
        )


def _first(result: float | tuple[float, ...]) -> float:
    return float(result[0] if isinstance(result, tuple) else result)


# Compare two assemblies on subsets of the stimuli without fitting.


class OnParts(Metric, ABC):
    """Mean of a comparison over subsets of the stimuli, by default ten times 90 % of them.

    Subsets are the test parts of `CrossValidation`; with `compat`, drawn as published (see `Split`).

    Examples
    --------
    >>> class Correlated(OnParts):
    ...     def _compared(self, assembly1, assembly2, parts):
    ...         source, target = assembly1.sortby('stimulus_id').values, assembly2.sortby('stimulus_id').values
    ...         of = [np.corrcoef(source[part].ravel(), target[part].ravel())[0, 1] for part in parts]
    ...         return np.array(of), Score(np.corrcoef(source.ravel(), target.ravel())[0, 1])
    """

    def __init__(
        self,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
        *,
        compat: bool = False,
    ) -> None:
        kwargs = {"compat": compat, **(crossvalidation_kwargs or {})}
        if kwargs.get("train_size") is None and not kwargs.get("kfold"):
            kwargs = {"test_size": 0.9, **kwargs}
        self._cross_validation = CrossValidation(**kwargs)

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """Compare assemblies.

        Attributes are ``raw`` (Score, dims (split)), ``split_error``, ``seed``, ``stratified_by``, and those of the
        metric on all stimuli, with ``error`` and ``interval`` from its influences.
        """
        plan = self._cross_validation.plan(assembly2)
        values, whole = self._compared(assembly1, assembly2, [test for _, test in plan.presentations(assembly2)])
        score = Score(values.mean())
        score.attrs.update(whole.attrs, raw=one_each(values, "split"), **plan.notes)
        attach_split_error(score, values)
        influence = whole.attrs.get("influence")
        if isinstance(influence, Influence):
            return attach_influence(score, influence, scale="fisher")
        return score

    @abstractmethod
    def _compared(
        self, assembly1: DataAssembly, assembly2: DataAssembly, parts: Sequence[Indices]
    ) -> tuple[Floats, Score]:
        """Compare on each subset, given by positions in `assembly2`, shape (n_parts,), and on all stimuli."""
