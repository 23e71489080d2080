"""The benchmark contract, the base class of most benchmarks, and normalisation of scores by ceilings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from brainscore_core.errors import AssemblyError, CeilingError, ContractError, NotApplicableError, did_you_mean
from brainscore_core.metrics import Quantity, Score, described, single_score
from brainscore_core.metrics.errors import over_clusters, propagate
from brainscore_core.statistics import FEW_CLUSTERS

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Benchmark",
    "BenchmarkBase",
    "InSequence",
    "LazyCeiling",
    "Score",
    "as_ceiling",
    "ceil_score",
    "ceiled_ratio",
    "explained_variance",
    "explained_variance_ratio",
    "not_applicable",
    "score_benchmark",
    "validate_pair",
    "validate_quantities",
]


# -- the contract ------------------------------------------------------------------------------------------------------


class Benchmark:
    """One experiment (stimuli, measurements, metric, ceiling), called with a candidate; derive from `BenchmarkBase`."""

    def __call__(self, candidate: Any) -> Score:
        """Score a candidate that has the domain's model interface.

        Returns
        -------
        Score
            0-d, about 0 (chance) to 1 (the ceiling), with attributes ``raw`` (before normalisation) and ``ceiling``;
            NaN if the candidate cannot be scored, with the reason in ``not_applicable``, and ``not_estimable`` True if
            the data alone are the reason, whatever the candidate answers. If they apply, also ``error`` (standard
            error), ``interval`` (low, high; 95 %), ``n_stimuli``, ``n_neuroids``, ``n_trials``, ``seed``, ``layers``
            and ``simulated``.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot score a candidate: define __call__.")

    @property
    def identifier(self) -> str:
        """Unique name, equal to the registry key: ``<AuthorYear>[public].<region>-<metric>``."""
        raise NotImplementedError(f"{type(self).__name__} has no identifier: define it or derive from BenchmarkBase.")

    @property
    def version(self) -> Any:
        """Integer that increases whenever scores change."""
        raise NotImplementedError(f"{type(self).__name__} has no version: define it or derive from BenchmarkBase.")

    @property
    def ceiling(self) -> Score:
        """Highest raw score that the noise of the measurement allows: above 0 and at most 1."""
        raise NotImplementedError(f"{type(self).__name__} has no ceiling: define it or derive from BenchmarkBase.")

    @property
    def bibtex(self) -> str | None:
        """Reference of the experiment as a BibTeX entry; None if it has none."""
        raise NotImplementedError(f"{type(self).__name__} has no bibtex: define it or derive from BenchmarkBase.")

    # Published benchmarks assign it.
    parent: str | None = None

    presentation_order: Literal["content", "experiment"] = "content"
    """Order of the stimuli that a model sees; records state ``'experiment'``.

    ``'content'`` depends only on the stimuli, so the order tells a model nothing about them. ``'experiment'`` is
    the order of the stimulus set, for models whose answer depends on earlier stimuli.
    """

    def __repr__(self) -> str:
        try:
            parent = "" if self.parent is None else f", parent {self.parent!r}"
            return f"<{type(self).__name__} {self.identifier!r}, version {self.version}{parent}>"
        except (AttributeError, NotImplementedError):  # not fully constructed
            return f"<{type(self).__name__}, without identifier or version>"

    def preallocate_memory(self, candidate: Any) -> None:
        """Raise `MemoryError` before scoring if the candidate will not fit."""


class BenchmarkBase(Benchmark):
    """Keep identifier, version, parent and reference, see `Benchmark`, and compute the ceiling once.

    Parameters
    ----------
    ceiling_func
        Called when `ceiling` is first read; numbers become a `Score`.
    parent
        Node of the hierarchy: ``'V1'``, ``'V2'``, ``'V4'``, ``'IT'``, ``'behavior'``, or your own. None: directly below
        the root.
    ceiling : Score or number, optional
        In place of ``ceiling_func``.
    stimulus_cluster : str, optional
        Coordinate of presentation, or column of the stimuli, that another experiment would sample again, such as
        ``'object_name'``: errors are then over new objects; ``InSequence('frame')``: over new blocks of frames. None:
        over new stimuli.

    Examples
    --------
    >>> benchmark = BenchmarkBase('Mine2026-accuracy', ceiling_func=lambda: 1, version=1)
    >>> benchmark.ceiling.item()
    1.0

    A subclass defines how to score a candidate:

    >>> class Squares(BenchmarkBase):
    ...     def __init__(self):
    ...         super().__init__('Mine2026-accuracy', lambda: 0.8, version=1)
    ...     def __call__(self, candidate):
    ...         raw = Score(np.mean([candidate(2) == 4, candidate(3) == 9]))
    ...         return ceil_score(raw, self.ceiling)
    >>> score = Squares()(lambda number: number + number)
    >>> score.item(), score.attrs['ceiling'].item()
    (0.625, 0.8)
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Any] | Score | float | None = None,
        version: Any = None,
        parent: str | None = None,
        bibtex: str | None = None,
        *,
        ceiling: Score | float | None = None,
        stimulus_cluster: str | None = None,
    ) -> None:
        if version is None:
            raise TypeError(f"Benchmark {identifier!r} has no version; pass version=1 and raise it when scores change.")
        if (ceiling_func is None) == (ceiling is None):
            raise TypeError(
                f"Benchmark {identifier!r} needs exactly one of ceiling_func=lambda: ... (computed on first use) and "
                "ceiling=Score(...)."
            )
        self._identifier = identifier
        self._version = version
        self._bibtex = bibtex
        self.parent = parent
        self.stimulus_cluster = stimulus_cluster
        source = ceiling if ceiling_func is None else ceiling_func
        self._ceiling_func: Callable[..., Any] = source if callable(source) else lambda: source
        # Mangled, because published benchmarks have their own `_ceiling`.
        self.__ceiling: Score | None = None

    @property
    def identifier(self) -> str:
        """See `Benchmark.identifier`."""
        return self._identifier

    @property
    def version(self) -> Any:
        """See `Benchmark.version`."""
        return self._version

    @property
    def bibtex(self) -> str | None:
        """See `Benchmark.bibtex`."""
        return self._bibtex

    @property
    def ceiling(self) -> Score:
        """Ceiling, computed on the first read; `CeilingError` unless it is a number above 0 and at most 1."""
        if self.__ceiling is None:
            ceiling = as_ceiling(self._ceiling_func(), of=f"benchmark {self.identifier!r}")
            self.__ceiling = self.over_clusters(ceiling)
        return self.__ceiling

    def over_clusters(self, score: Score) -> Score:
        """Return a score with errors over ``stimulus_cluster``, see `brainscore_core.metrics.errors.over_clusters`."""
        cluster = self.stimulus_cluster
        if cluster is None:
            return score
        name = "stimulus_block" if isinstance(cluster, InSequence) else cluster
        return over_clusters(score, clusters_of(self.measurement(), cluster), name)

    def measurement(self) -> xr.DataArray:
        """Return the measurement with the clusters of the scored stimuli."""
        raise NotImplementedError(
            f"Benchmark {self.identifier!r} names stimulus_cluster={self.stimulus_cluster!r} but has no assembly to "
            "read it from: define measurement() to return that assembly."
        )


def not_applicable(reason: str) -> Score:
    """Return NaN as a candidate's score, with the reason in ``attrs['not_applicable']``."""
    return Score(float("nan"), attrs={"raw": Score(float("nan")), "not_applicable": reason})


def score_benchmark(benchmark: Benchmark, candidate: Any, *, name: str | None = None) -> Score:
    """Score a candidate, after `Benchmark.preallocate_memory`, and check the result.

    ``name`` replaces the identifier in messages. If the score is NaN, or `NotApplicableError` was raised, the reason is
    in ``attrs['not_applicable']``.
    """
    if hasattr(benchmark, "preallocate_memory"):  # callers may pass other objects
        benchmark.preallocate_memory(candidate)
    by = f"benchmark {(benchmark.identifier if name is None else name)!r}"
    try:
        score = single_score(benchmark(candidate), by=by)
    except NotApplicableError as error:
        return not_applicable(str(error))
    if math.isnan(float(score)) and not score.attrs.get("not_applicable"):
        score.attrs["not_applicable"] = (
            f"The {by} returned NaN without a reason. Its maintainer should state the reason in "
            "attrs['not_applicable']."
        )
    return score


# -- normalisation by ceilings -----------------------------------------------------------------------------------------
#
# Divide raw scores by noise ceilings, as plain numbers or labelled.
#
# Declared quantities (``attrs['quantity']``) are checked, see `validate_quantities`.


_REMEDY = "Check that the ceiling function gets the data with repetitions, not their average."
# Attributes that are wrong for the normalised score.
_OF_RAW_ONLY = ("raw", "ceiling", "error", "interval", "influence", "quantity")
_QUANTITIES = get_args(Quantity)
_RELIABILITY_OF = {"correlation": "reliability", "dissimilarity_correlation": "dissimilarity_reliability"}
_ZERO_AT_CHANCE = {"correlation", "reliability", "dissimilarity_correlation", "dissimilarity_reliability", "kappa"}
_HIGHEST = 1 + 1e-6  # tolerance for rounding


def ceiled_ratio(raw: Any, ceiling: Any) -> Any:
    """Return ``raw / ceiling``, 1 at the ceiling, not clipped.

    Both are relative to chance: correlations, kappas, or accuracies minus that of guessing.

    Examples
    --------
    >>> ceiled_ratio(0.3, 0.6)
    0.5
    """
    return raw / ceiling


def explained_variance_ratio(raw: Any, ceiling: Any) -> Any:
    r"""Return ``raw * abs(raw) / ceiling``, the explained share of the explainable variance, with its sign.

    .. math:: EV = \operatorname{sign}(r) \, r^2 / \rho

    Parameters
    ----------
    raw : float or array
        Pearson correlation ``r`` of prediction and measurement, between -1 and 1.
    ceiling : float or array, broadcastable
        Reliability ``rho`` of the measurement, the signal's share of its variance, above 0. Not squared, as it is a
        ratio of variances.

    References
    ----------
    Spearman (1904), doi:10.2307/1412159.
    Schoppe et al. (2016), doi:10.3389/fncom.2016.00010.

    Examples
    --------
    >>> round(explained_variance_ratio(0.65, 0.82), 3)
    0.515
    >>> explained_variance_ratio(-0.5, 0.5)
    -0.5
    """
    return raw * abs(raw) / ceiling


def as_ceiling(value: Any, *, of: str = "this benchmark") -> Score:
    """Return a ceiling (Score, labelled array, array or number) as a `Score`; ``of`` names its owner in messages.

    Values with dimensions are checked later, when they divide a score. Raises `CeilingError` if it is not a number
    above 0 and at most 1, the score of a perfect match.
    """
    if isinstance(value, Score):
        ceiling = value
    else:
        try:
            numbers = np.asarray(value, dtype=float) if value is not None else None
        except (TypeError, ValueError):
            numbers = None
        if numbers is None:
            raise CeilingError(
                f"The ceiling of {of} is {value!r}; expected a Score or a number above 0. Return one from ceiling_func."
            )
        ceiling = Score(value) if hasattr(value, "dims") else Score(numbers)
    if ceiling.ndim == 0:
        _require_positive(ceiling, of)
        if float(ceiling) > _HIGHEST:
            raise CeilingError(
                f"The ceiling of {of} is {float(ceiling):g}; expected at most 1, the score of a perfect match. If it "
                "is in percent, divide it by 100; if it is a sum over subjects or splits, take their mean."
            )
    return ceiling


def _require_positive(ceiling: Score, of: str) -> None:
    values = np.asarray(ceiling.values, dtype=float)
    wrong = ~(np.isfinite(values) & (values > 0))
    if not wrong.any():
        return
    if values.ndim == 0:
        raise CeilingError(
            f"The ceiling of {of} is {values.item()}; expected a finite number above 0. A score cannot be divided by "
            f"it: the measurement is not reliable, or its ceiling is computed from the wrong data. {_REMEDY}"
        )
    raise CeilingError(
        f"{int(wrong.sum())} of {wrong.size} ceilings of {of} are NaN, infinite, zero or negative (first: "
        f"{values[wrong][0]}); expected finite numbers above 0. Drop these entries from score and ceiling. {_REMEDY}"
    )


def validate_quantities(
    score: Any, ceiling: Any, *, normalization: Literal["ceil_score", "explained_variance"]
) -> None:
    r"""Refuse a ceiling of another kind than the score's.

    =============================  =============================  ===========================================
    score                          ceiling                        lawful normalisation
    =============================  =============================  ===========================================
    ``correlation``                ``reliability``                `explained_variance`, :math:`r^2 / \rho`
    ``dissimilarity_correlation``  ``dissimilarity_reliability``  `explained_variance`, :math:`r^2 / \rho`
    any                            the same                       `ceil_score`, :math:`s / c`
    =============================  =============================  ===========================================

    Raises `CeilingError` if both declare a `brainscore_core.metrics.Quantity` and the table lacks the combination.
    """
    of_score, of_ceiling = (str(getattr(side, "attrs", {}).get("quantity")) for side in (score, ceiling))
    problem = _problem(of_score, of_ceiling, normalization)
    if problem is not None:
        raise CeilingError(problem)


def validate_pair(metric: Any, ceiling: Any, normalization: Callable[..., Any], *, of: str) -> None:
    """Refuse a metric and a ceiling that cannot be normalised, before anything is computed.

    Parameters
    ----------
    metric : Metric or callable
        Its ``quantity`` is the scores'; a `functools.partial` is unwrapped.
    ceiling : Score, Ceiling, callable or number
        Likewise, or with ``attrs['quantity']``. Undeclared, it counts as a ``reliability`` for `explained_variance` and
        as lawful for `ceil_score`.
    normalization
        Others than `ceil_score` and `explained_variance` are not checked.
    of
        Object being built, for the message.
    """
    of_score, of_ceiling = _declared(metric), _declared(ceiling)
    if normalization is explained_variance:
        problem = _problem(of_score, of_ceiling or "reliability", "explained_variance")
    elif normalization is ceil_score:
        problem = _problem(of_score, of_ceiling, "ceil_score")
    else:
        return
    if problem is not None:
        raise CeilingError(f"{of} combines a metric with a ceiling that does not fit it. {problem}")


def _declared(thing: Any) -> str | None:
    while isinstance(thing, partial):
        thing = thing.func
    quantity = getattr(thing, "attrs", {}).get("quantity", getattr(thing, "quantity", None))
    return None if quantity is None else str(quantity)


def _problem(score: str | None, ceiling: str | None, normalization: str) -> str | None:
    """Return why the normalisation of one quantity by another is unlawful; None if lawful or undeclared."""
    if score is None or ceiling is None or not {score, ceiling} <= set(_QUANTITIES):
        return None
    squared = _RELIABILITY_OF.get(score) == ceiling
    if squared if normalization == "explained_variance" else score == ceiling:
        return None
    return f"{normalization} got a score that is {_a(score)} and a ceiling that is {_a(ceiling)}. " + _advice(
        score, ceiling
    )


def _a(quantity: str) -> str:
    return f"{'an' if quantity[0] in 'aeiou' else 'a'} {quantity.replace('_', ' ')}"


def _advice(score: str, ceiling: str) -> str:
    if _RELIABILITY_OF.get(score) == ceiling:
        return (
            "A reliability is a share of variance, the square of the highest possible correlation: use "
            "explained_variance(score, ceiling), which is r * abs(r) / reliability."
        )
    if score == ceiling:
        return "Both are the same quantity, so nothing needs to be squared: use ceil_score(score, ceiling)."
    fitting = {
        "correlation": "explained_variance with a ceiling that is a reliability (such as the split-half reliability), "
        "or ceil_score with one that is a correlation (such as each subject with the others)",
        "dissimilarity_correlation": "ceil_score with a ceiling that is a dissimilarity correlation (the same metric "
        "between halves of the repetitions, or between each subject and the others)",
    }.get(
        score,
        f"ceil_score with a ceiling that is also {_a(score)}, such as the same metric applied to people or to halves "
        "of the data",
    )
    return f"No formula divides {_a(score)} by {_a(ceiling)}: use {fitting}."


@dataclass(frozen=True)
class LazyCeiling:
    """Estimate the ceiling of a loaded measurement when first needed.

    As ``ceiling_func`` it lets `validate_pair` check its quantity before loading the measurement.

    Examples
    --------
    >>> LazyCeiling(lambda measurement: measurement / 2, lambda: 1)()
    0.5
    """

    ceiler: Callable[[Any], Any]
    load: Callable[[], Any]

    @property
    def quantity(self) -> str | None:
        """Quantity that the ceiler declares, or None."""
        return _declared(self.ceiler)

    def __call__(self) -> Any:
        """Return the ceiling of the loaded measurement."""
        return self.ceiler(self.load())


def ceil_score(score: Score, ceiling: Any, *, chance: float = 0.0) -> Score:
    """Normalise a score by a ceiling that is the same quantity: :math:`(s - a) / (c - a)` with chance :math:`a`.

    Parameters
    ----------
    score
        Raw score, 0-d or with dimensions that the ceiling shares.
    ceiling : Score or number
        Above chance.
    chance
        Exact score of guessing, in [0, 1): 0 for correlations and kappa, 1 / n for accuracy among n equally frequent
        answers.

    Returns
    -------
    Score
        0 at chance, 1 at the ceiling; not clipped. Attributes: ``raw`` (`score`), ``ceiling``, ``chance`` if not 0,
        ``normalization`` (this function's name), ``error``, ``interval`` and their notes (``error_nan_reason``,
        ``error_over``), ``split_error`` to first order, and all descriptive attributes of the raw score (``n_stimuli``,
        ``layers``, ...) except ``quantity``. The error is over new stimuli and units, joint if score and ceiling have
        influences (`brainscore_core.statistics.influence`); otherwise the ceiling counts as exact.

    Raises
    ------
    CeilingError
        If the ceiling is not a finite number above 0 and above chance, or is another quantity than the score
        (`validate_quantities`).
    ContractError
        If the score is not numeric.
    ValueError
        If chance is not in [0, 1), or not 0 for a quantity that is 0 at chance.

    Examples
    --------
    >>> float(ceil_score(Score(0.7), 0.9, chance=0.5))
    0.5
    """
    _require_number(score)
    validate_quantities(score, ceiling, normalization="ceil_score")
    if not 0 <= chance < 1:
        raise ValueError(f"Chance is a share of correct answers, in [0, 1); got {chance!r}. In percent, divide by 100.")
    quantity = getattr(score, "attrs", {}).get("quantity")
    if chance and quantity in _ZERO_AT_CHANCE:
        raise ValueError(
            f"Chance is {chance}, but the score is {_a(quantity)}, which is 0 at chance. Leave out chance."
        )
    return _normalize(score, ceiling, squared=False, chance=chance)


def explained_variance(score: Score, ceiling: Any) -> Score:
    r"""Normalise a score that is a correlation: :math:`\operatorname{sign}(s) \, s^2 / c`.

    Parameters
    ----------
    score
        Pearson correlation, 0-d or with dimensions that the ceiling shares.
    ceiling : Score or number
        Reliability of the measurement (split-half consistency after the Spearman-Brown correction, share of signal
        variance).

    Returns
    -------
    Score
        Not clipped; negative when the raw correlation is (see `explained_variance_ratio`). Attributes as in
        `ceil_score`; an error without influences is propagated to first order: :math:`|2 s / c|` times the raw one.

    """
    _require_number(score)
    validate_quantities(score, ceiling, normalization="explained_variance")
    return _normalize(score, ceiling, squared=True)


def _require_number(score: Any) -> None:
    if isinstance(score, type) or np.asarray(getattr(score, "values", score)).dtype.kind not in "biuf":
        raise ContractError(
            f"The raw score is {described(score)}; expected a Score, which can be divided by a ceiling. The metric "
            "must return one."
        )


def _normalize(score: Any, ceiling: Any, *, squared: bool, chance: float = 0.0) -> Score:
    raw = score if isinstance(score, Score) else Score(score)
    top = as_ceiling(ceiling, of="this score")
    _require_positive(top, "this score")
    if chance and (np.asarray(top.values) <= chance).any():
        raise CeilingError(
            f"The ceiling {float(np.min(top.values)):g} is not above chance, {chance:g}, so scores cannot differ. "
            f"{_REMEDY}"
        )
    formula = explained_variance_ratio if squared else ceiled_ratio
    normalized = Score(formula(_bare(raw) - chance, _bare(top) - chance))
    normalized.attrs = {
        key: value for key, value in raw.attrs.items() if not any(part in str(key) for part in _OF_RAW_ONLY)
    }
    normalized.attrs.update(raw=raw, ceiling=top, normalization="explained_variance" if squared else "ceil_score")
    if chance:
        normalized.attrs["chance"] = chance
    error, slope = raw.attrs.get("error"), abs(2 * _bare(raw) / _bare(top)) if squared else 1 / (_bare(top) - chance)
    if raw.attrs.get("split_error") is not None:
        normalized.attrs["split_error"] = _scaled(raw.attrs["split_error"], slope)
    if not propagate(raw, top, normalized, squared=squared, chance=chance) and error is not None:
        normalized.attrs["error"] = _scaled(error, slope)
        # Notes on the raw error hold for the propagated one.
        normalized.attrs.update({key: value for key, value in raw.attrs.items() if str(key).startswith("error_")})
    return normalized


def _scaled(error: Any, slope: Score) -> float | Score:
    propagated = _bare(Score(error)) * slope
    return float(propagated) if propagated.ndim == 0 else propagated


def _bare(score: Score) -> Score:
    """Return values and coordinates without attributes."""
    bare = score.copy(deep=False)
    bare.attrs = {}
    return bare


# -- clusters of stimuli -----------------------------------------------------------------------------------------------
#
# Read the cluster of each stimulus, such as the object in a picture or a part of a video, from measurements.


class InSequence(str):
    """Coordinate that numbers the stimuli of a sequence, such as the frames of a video.

    If a benchmark has it as ``stimulus_cluster``, errors are over new blocks of consecutive stimuli. Neighbours
    resemble each other, and squares over single stimuli miss their covariance; sums over blocks contain it (Künsch
    1989, doi:10.1214/aos/1176347265). A few large blocks, whatever the dependence within them, and Student's t with one
    degree of freedom less than blocks suffice (Ibragimov & Müller 2010, doi:10.1198/jbes.2009.08046): no length is
    estimated. Stimuli an eighth of the sequence apart should be about independent.

    Examples
    --------
    >>> InSequence("frame")
    InSequence('frame')
    """

    def __repr__(self) -> str:
        return f"InSequence({str(self)!r})"


def clusters_of(assembly: xr.DataArray, coordinate: str) -> dict[str, str]:
    """Return stimulus -> its one cluster, from a coordinate of presentation or else a column of the stimulus set.

    The clusters of a coordinate that is `InSequence` are eight blocks, in the order of its numbers.
    """
    dim = assembly["stimulus_id"].dims[0]
    coords = {str(name): coord.values for name, coord in assembly.coords.items() if coord.dims == (dim,)}
    stimuli = assembly.attrs.get("stimulus_set")
    columns = {} if stimuli is None else {str(name): stimuli[name].to_numpy() for name in stimuli.columns}
    table = coords if coordinate in coords else columns
    whose = f"stimulus_cluster={coordinate!r}"
    if coordinate not in table:
        known = sorted({*coords, *columns} - {dim})
        raise AssemblyError(
            f"{whose} is neither a coordinate of {dim} nor a column of the stimulus set; expected one of "
            f"{', '.join(known)}.{did_you_mean(coordinate, known)}"
        )
    values = np.asarray(table[coordinate], dtype=object)
    pairs = pd.DataFrame({"stimulus": np.asarray(table["stimulus_id"]).astype(str), "cluster": values})
    absent, pairs = pairs[pairs["cluster"].isna()], pairs.drop_duplicates()
    several = pairs[pairs["stimulus"].duplicated()]
    for problem, wrong in (("missing for", absent), ("not the same in all presentations of", several)):
        if len(wrong):
            names = wrong["stimulus"].unique()
            raise AssemblyError(
                f"{whose} is {problem} {len(names)} stimuli, such as {names[0]!r}; expected one cluster for each. "
                "Correct the coordinate, or choose another one."
            )
    if isinstance(coordinate, InSequence):
        numbers = pd.to_numeric(pairs["cluster"], errors="coerce")
        if numbers.isna().any():
            raise AssemblyError(
                f"{whose} has values that are not numbers, such as {pairs['cluster'][numbers.isna()].iloc[0]!r}."
            )
        pairs["cluster"] = (numbers.rank(method="first").astype(int) - 1) * FEW_CLUSTERS // len(pairs)
    return dict(zip(pairs["stimulus"], pairs["cluster"].astype(str), strict=True))
