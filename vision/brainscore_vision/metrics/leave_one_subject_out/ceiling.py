r"""Estimate how well models can predict single subjects, from how well other subjects do.

Each subject is correlated over stimuli with the mean over the others (lower bound: that mean is noisy) and with the
mean over all (upper bound: that mean holds the subject's noise). With :math:`\bar r` the lower bound of one response
variable, averaged over the :math:`S` subjects, and :math:`x` the share of a single subject's variance that all share,
:math:`\bar r = \sqrt{S - 1}\, x / \sqrt{1 + (S - 2)\, x}`. Solved for :math:`x`:

.. math:: \text{corrected} = \operatorname{median}_j \sqrt{x_j}, \qquad
    \rho = \operatorname{median}_j \frac{S x_j}{1 + (S - 1) x_j}

The first is the highest correlation with single subjects, the second the reliability of their mean.

- Input, subjects answer for the same variables: dims (presentation) or (presentation, neuroid), with `stimulus_id` and
  `subject` on presentation: ratings, accuracies, mean responses of a region. Texts such as choices take a `metric`.
- Input, subjects have their own neuroids: `subject` on neuroid. Responses then cannot be averaged over subjects:
  `metric` predicts each subject's neuroids from the pooled neuroids of the others (inter-animal consistency). This is
  a lower bound.
- Output: Score, at most 1; a correlation, or a reliability if ``scored='mean'``. ``raw`` is the lower bound, dims
  (subject, neuroid), or (subject) with a metric; attrs also hold ``lower_bound`` and ``upper_bound``.
- Invariances: order of presentations; without a metric, shift and positive scaling of all subjects' responses.
- Error: over new stimuli, new subjects and, of several, new variables; with a metric over subjects; NaN for two
  subjects.
- When: the score is the mean correlation with subjects (``scored='subject'``, with `ceil_score`) or the correlation
  with their mean (``scored='mean'``, with `explained_variance`).

References
----------
Nili et al. (2014), doi:10.1371/journal.pcbi.1003553;
Spearman (1910), doi:10.1111/j.2044-8295.1910.tb00206.x;
Brown (1910), doi:10.1111/j.2044-8295.1910.tb00207.x;
Nayebi et al. (2022), doi:10.1371/journal.pcbi.1011506.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Ceiling, Quantity, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.correlation import median_known, ordinary
from brainscore_vision.metric_helpers.arrays.influence import leave_one_out_influences
from brainscore_vision.metric_helpers.arrays.reliability.noise_ceiling import (
    leave_one_out_correlations,
    single_reliability,
)
from brainscore_vision.metric_helpers.arrays.reliability.split_half import spearman_brown
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, coords_along, one_each, squeeze_time_bin
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_spread,
    crossed_influence,
    crossed_median_spread,
    crossed_spread,
    declare_no_error,
    spread_of_units,
    t_interval,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import Floats, Labels, NDArray

Bound = Literal["lower", "upper", "corrected"]
_SINGLE_PAIR = "of two subjects, who are a single pair"


class LeaveOneSubjectOut(Ceiling):
    """How well subjects predict each other.

    Parameters
    ----------
    bound : 'lower', 'upper', 'corrected' or None
        Which value the score is. None: corrected without a `metric`, otherwise lower.
    scored : 'subject' or 'mean'
        Compared with models: single subjects, or their mean (always corrected, no `metric`).
    metric
        ``metric(others, subject)`` returns a Score; None correlates. ``others`` is the mean of the others where
        subjects share the variables, otherwise their pooled neuroids.
    """

    quantity: ClassVar[Quantity | None] = "correlation"
    estimator = "each subject from the others"
    third_axis: ClassVar[tuple[str, str]] = ("subject", "presentation")

    def __init__(
        self,
        *,
        bound: Bound | None = None,
        scored: Literal["subject", "mean"] = "subject",
        metric: Callable[[DataAssembly, DataAssembly], Score] | None = None,
        subject_coord: str = "subject",
    ) -> None:
        self._bound = bound or ("lower" if metric else "corrected")
        if self._bound not in ("lower", "upper", "corrected") or scored not in ("subject", "mean"):
            raise ValueError(
                f"Expected bound='lower', 'upper' or 'corrected', and scored='subject' or 'mean'; got {bound!r} and "
                f"{scored!r}."
            )
        if metric is not None and (self._bound == "corrected" or scored == "mean"):
            raise ValueError(
                "The correction applies only to correlations: with a metric, use bound='lower' or 'upper'."
            )
        if scored == "mean" and self._bound != "corrected":
            raise ValueError(
                f"bound={bound!r} applies to single subjects; the ceiling for the mean over subjects (scored='mean') "
                "is its reliability: use bound='corrected'."
            )
        self._scored = scored
        self._metric = metric
        self._subject_coord = subject_coord

    def __call__(self, assembly: DataAssembly) -> Score:
        """Estimate from at least two subjects (three with a correction)."""
        assembly = squeeze_time_bin(assembly)
        names = np.unique(coordinate(assembly, self._subject_coord))
        least = 3 if self._bound == "corrected" else 2
        if len(names) < least:
            raise AssemblyError(
                f"This ceiling compares each subject with others and needs at least {least} values of "
                f"{self._subject_coord!r}, found {len(names)}. With repetitions, use 'noise_ceiling' instead."
            )
        (dim,) = assembly[self._subject_coord].dims
        if dim == "presentation" and self._metric is None:
            score = self._by_correlation(_by_subject(assembly, names, self._subject_coord), names)
        elif dim == "presentation":
            score = self._by_metric(*self._means(assembly, names), names)
        else:
            score = self._by_metric(*self._pools(assembly, names), names)
        quantity = getattr(self._metric, "quantity", None) if self._metric else self.quantity
        if self._scored == "mean":
            quantity = "reliability"
        if quantity is not None:
            score.attrs["quantity"] = quantity
        score.attrs.update(
            estimator=f"{self.estimator}, {self._bound}{' bound' if self._bound in ('lower', 'upper') else ''}",
            bound=self._bound,
            scored=self._scored,
            n_subjects=len(names),
            n_stimuli=len(np.unique(coordinate(assembly, Defaults.stimulus_coord))),
        )
        return score

    # --- the same variables in all subjects

    def _by_correlation(self, table: _Table, names: Labels) -> Score:
        lower, upper = leave_one_out_correlations(table.responses, table.present)
        r = (upper if self._bound == "upper" else lower).mean(axis=0)
        score = Score(median_known(self._ceilings(r, table)))
        coords = {"subject": ("subject", names), **table.coords}
        score.attrs.update(
            raw=Score(lower, coords=coords, dims=["subject", table.dim]),
            lower_bound=float(median_known(lower.mean(axis=0))),
            upper_bound=float(median_known(upper.mean(axis=0))),
        )
        return self._with_error(score, table, names, r)

    def _with_error(self, score: Score, table: _Table, names: Labels, r: Floats) -> Score:
        values, defined = self._ceilings(r, table), np.flatnonzero(np.isfinite(r))
        if len(names) < 3:
            return declare_no_error(score, _SINGLE_PAIR)
        if not len(defined):
            return declare_no_error(score, "the score is undefined")
        step = 1e-4 * np.maximum(np.abs(r), 1e-3)
        slopes = (self._ceilings(r + step, table) - self._ceilings(r - step, table)) / (2 * step)
        moved = np.stack([self._moved(table, place) * slopes[place] for place in defined])
        over = ["stimulus", "subject"]
        if len(values) == 1:
            spread = crossed_spread(moved[0], table.present)
            score.attrs["influence"] = crossed_influence(moved[0], table.stimuli, names)
        else:
            spread = crossed_median_spread(values[defined], moved, table.present)
            over.append(table.dim)
        return attach_spread(score, spread, over=over, interval=t_interval(score.item(), spread))

    def _moved(self, table: _Table, variable: int) -> Floats:
        """Return how each answer moves the mean correlation of a variable, shape (subjects, stimuli)."""
        responses, itself = table.responses[:, :, variable], self._bound == "upper"
        return leave_one_out_influences(responses, table.present, itself=itself)

    def _ceilings(self, r: Floats, table: _Table) -> Floats:
        """From mean correlations over subjects, of any shape (..., n_variables)."""
        if self._bound != "corrected":
            return r
        others = 1 / np.mean(1 / (table.counts - 1))
        single = single_reliability(r, 1, others)
        if self._scored == "mean":
            return spearman_brown(single, 1 / np.mean(1 / table.counts))
        return np.sign(single) * np.sqrt(np.abs(single))

    # --- with a metric

    def _means(self, assembly: DataAssembly, names: Labels) -> tuple[list[DataAssembly], list[DataAssembly]]:
        of = assembly[self._subject_coord].values
        rows = [np.flatnonzero(of == name) for name in names]
        subjects = [_averaged(assembly.isel(presentation=own)) for own in rows]
        groups = [
            np.arange(len(of)) if self._bound == "upper" else np.setdiff1d(np.arange(len(of)), own) for own in rows
        ]
        others = [_averaged(assembly.isel(presentation=group)) for group in groups]
        pairs = [_shared(*pair) for pair in zip(others, subjects, strict=True)]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def _pools(self, assembly: DataAssembly, names: Labels) -> tuple[list[DataAssembly], list[DataAssembly]]:
        if self._metric is None or self._bound != "lower":
            raise AssemblyError(
                f"The subjects of this assembly have their own neuroids ({self._subject_coord!r} is a coordinate of "
                "neuroid), so responses cannot be averaged over subjects. Pass a metric that predicts one subject's "
                "neuroids from the other subjects', such as metric=load_metric('pls'), which gives a lower bound."
            )
        of = assembly[self._subject_coord].values
        own = [assembly.isel(neuroid=np.flatnonzero(of == name)) for name in names]
        return [assembly.isel(neuroid=np.flatnonzero(of != name)) for name in names], own

    def _by_metric(self, others: list[DataAssembly], subjects: list[DataAssembly], names: Labels) -> Score:
        values = np.array([float(self._metric(*pair)) for pair in zip(others, subjects, strict=True)])
        score = Score(values.mean())
        score.attrs["raw"] = one_each(values, "subject", names)
        score.attrs[f"{self._bound}_bound"] = float(values.mean())
        if len(values) < 3:
            return declare_no_error(score, _SINGLE_PAIR)
        spread = spread_of_units((values - values.mean()) / len(values))
        return attach_spread(score, spread, over=["subject"], interval=t_interval(score.item(), spread))


@dataclass(frozen=True)
class _Table:
    responses: Floats  # (subjects, stimuli, variables), 0 where absent
    present: NDArray[np.bool_]  # (subjects, stimuli)
    stimuli: Labels  # (stimuli,)
    dim: str  # of the variables
    coords: dict[str, tuple[str, Labels]]

    @property
    def counts(self) -> Floats:
        """Subjects that have each stimulus, of those that at least two have."""
        count = self.present.sum(axis=0).astype(float)
        return count[count > 1]


def _by_subject(assembly: DataAssembly, names: Labels, subject_coord: str) -> _Table:
    dims = [dim for dim in assembly.dims if dim != "presentation"]
    values = assembly.transpose("presentation", *dims).values
    if values.dtype.kind not in "bifu" or len(dims) > 1:
        raise AssemblyError(
            f"The assembly has values of type {values.dtype} and dimensions {tuple(assembly.dims)}; expected numbers "
            "and (presentation) or (presentation, neuroid). Convert choices to numbers first, for example whether "
            "they are correct: assembly.copy(data=assembly.values == assembly['truth'].values), or pass a metric."
        )
    values = values.reshape(len(values), -1).astype(np.float64)
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).any(axis=0).sum())
        raise AssemblyError(
            f"{bad} of {values.shape[1]} response variables have NaN or infinite values. Drop these variables or "
            "these presentations; not every subject needs every stimulus."
        )
    (values,) = ordinary(values)
    stimuli, stimulus = np.unique(coordinate(assembly, Defaults.stimulus_coord).astype(str), return_inverse=True)
    subject = np.searchsorted(names, coordinate(assembly, subject_coord))
    total = np.zeros((len(names), len(stimuli), values.shape[1]))
    count = np.zeros((len(names), len(stimuli)))
    np.add.at(total, (subject, stimulus), values)
    np.add.at(count, (subject, stimulus), 1)
    dim = str(dims[0]) if dims else "neuroid"
    coords = coords_along(assembly, dim) if dims else {}
    return _Table(total / np.maximum(count, 1)[:, :, None], count > 0, stimuli, dim, coords)


def _averaged(assembly: DataAssembly) -> DataAssembly:
    ids = coordinate(assembly, Defaults.stimulus_coord)
    if len(np.unique(ids)) == len(ids):
        return assembly
    _, first, index = np.unique(ids, return_index=True, return_inverse=True)
    if assembly.dtype.kind not in "bifu":
        raise AssemblyError(
            f"Answers of type {assembly.dtype} cannot be averaged over subjects. Convert them to numbers first, for "
            "example whether they are correct: assembly.copy(data=assembly.values == assembly['truth'].values)."
        )
    axis = assembly.dims.index("presentation")
    values = np.moveaxis(assembly.values, axis, 0).astype(float)
    total = np.zeros((len(first), *values.shape[1:]))
    np.add.at(total, index, values)
    mean = total / np.bincount(index).reshape(-1, *[1] * (values.ndim - 1))
    return assembly.isel(presentation=first).copy(data=np.moveaxis(mean, 0, axis))


def _shared(*assemblies: DataAssembly) -> list[DataAssembly]:
    ids = [coordinate(assembly, Defaults.stimulus_coord) for assembly in assemblies]
    common = set(ids[0].tolist()).intersection(*(names.tolist() for names in ids[1:]))
    return [
        assembly.isel(presentation=np.flatnonzero([name in common for name in names.tolist()]))
        for assembly, names in zip(assemblies, ids, strict=True)
    ]
