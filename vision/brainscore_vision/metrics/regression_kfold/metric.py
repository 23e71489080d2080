r"""Score predictions of all stimuli together, each made from the other folds.

The regressions are those of `pls`, `ridge` and `ridgecv`. Stimuli are divided into ten folds over their sorted ids,
three times; predictions of all folds are compared with the responses at once, the mean of each fold removed from both.
For ``*_kfold`` and ``*_r2er``, predictions of each fold are first divided by their standard deviation over all stimuli,
which gives folds equal weights (`arrays.reliability.held_out` explains why).

``*_kfold``: correlation over all stimuli, for averaged responses.

.. math:: \text{score} = \operatorname{median}_j \overline{r_{jd}}, \qquad
    r_{jd} = \frac{\sum_i f_{ij} y_{ij}}{\sqrt{\sum_i f_{ij}^2 \sum_i y_{ij}^2}}

with stimuli i, neuroids j, divisions d.

``*_signal``: share of the signal that is explained, summed over stimuli and neuroids.

.. math:: \text{score} = \frac{\sum_j w_j \sum_i (f_{Aij} y_{Bij} + f_{Bij} y_{Aij} - f_{Aij} f_{Bij})}
    {\sum_j w_j \sum_i y_{Aij} y_{Bij}}

A and B are halves of the repetitions, new in each division, :math:`f_A` is predicted from responses in A, and
:math:`w_j` is one over the variance of the mean responses of a neuroid, so neuroids are weighted by their reliability.
A jackknife over stimuli removes the bias of the ratio.

``*_r2er``: the squared correlation with expected responses (Pospisil and Bair 2021), median over neuroids.

.. math:: r^2_{ER,j} = \frac{(\sum_i f_{ij} y_{ij})^2 - \sum_i f_{ij}^2 v_{ij}}
    {\sum_i f_{ij}^2 \, \bigl(\sum_i y_{ij}^2 - \sum_i (1 - 1/m_i) v_{ij}\bigr)}

with the variance v of the noise in the mean responses.

- Input: source, each stimulus once; target. ``*_signal`` and ``*_r2er`` take single repetitions with `repetition`, each
  stimulus at least twice. At least eight stimuli.
- Output: Score. ``*_kfold``: a correlation in [-1, 1], with `explained_variance` and a reliability. ``*_signal`` and
  ``*_r2er``, without a ceiling: a share, on average 1 for the best model. If the mean reliability of neuroids is below
  `min_reliability`, .15, or below two of its standard errors, the score is NaN, with the reason in
  ``attrs['not_applicable']``, and ``attrs['not_estimable']`` is True: no model is scored 0 for it.
- Invariances: order of presentations and of neuroids; shifts and positive scaling of each neuroid of the target
  (``pls``, whose components are common to all neuroids: of all together); rotations and shifts of the source.
- When: fewer than some 200 stimuli, fewer than some 20 neuroids, or a reliability below .5.
  ``docs/explanation/ceilings.md`` lists the bias of each.

References
----------
Sahani & Linden (2003), NIPS 15; Schoppe et al. (2016), doi:10.3389/fncom.2016.00010 (signal power explained); Pospisil
& Bair (2021), doi:10.1371/journal.pcbi.1009212; Spearman (1904), doi:10.2307/1412159.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from brainscore_core.errors import AssemblyError, count
from brainscore_core.metrics import Metric, Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import mean_known, median_known
from brainscore_vision.metric_helpers.arrays.influence import median_of_columns
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import centred_gram, gram_factor
from brainscore_vision.metric_helpers.arrays.reliability.held_out import (
    Shares,
    explained_share,
    in_own_spread,
    pooled_correlation,
    r2_er,
    signal_products,
)
from brainscore_vision.metric_helpers.arrays.reliability.noise_ceiling import repeated_responses
from brainscore_vision.metric_helpers.arrays.reliability.split_half import distinct_halves
from brainscore_vision.metric_helpers.arrays.seeds import generator, seed_sequence
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, matching_order
from brainscore_vision.metric_helpers.labelled.splits import Split
from brainscore_vision.metric_helpers.regression.estimators import OfInnerProducts, SplitPredictor, predict_splits
from brainscore_vision.metric_helpers.regression.problem import is_constant
from brainscore_vision.metric_helpers.regression.sides import (
    Features,
    Options,
    Side,
    as_array,
    in_ordinary_units,
    take_rows,
)
from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error, influence_on_medians

if TYPE_CHECKING:
    import xarray as xr

    from brainscore_core.metrics import Quantity
    from brainscore_vision.metric_helpers.arrays.types import Floats, Indices, NDArray
    from brainscore_vision.metric_helpers.labelled.alignment import Neuroids
    from brainscore_vision.metric_helpers.regression.sides import Matrix

# Hold features, responses and folds for metrics on predictions of all folds.


Halves = tuple["Floats", "Floats"]


@dataclass(frozen=True)
class FoldedMeasurement:
    """Features, responses and folds; source rows are `stimuli`, response rows presentations, `row` their stimuli.

    The source holds the features, or others with the same inner products. Responses are those of usable neuroids.
    """

    source: Matrix
    constant: bool
    responses: Floats
    row: Indices
    stimuli: NDArray[Any]
    target: Side
    neuroids: Neuroids
    folds: Sequence[Sequence[Indices]]
    notes: dict[str, object] = field(default_factory=dict)

    @cached_property
    def means(self) -> Floats:
        """Mean responses to each stimulus, shape (n_stimuli, n_neuroids)."""
        return self.mean_of(np.ones(len(self.row), dtype=bool))

    def mean_of(self, selected: NDArray[np.bool_]) -> Floats:
        """Average the selected presentations of each stimulus."""
        row = self.row[selected]
        sums = np.zeros((len(self.stimuli), self.responses.shape[1]))
        np.add.at(sums, row, self.responses[selected])
        means: Floats = sums / np.bincount(row, minlength=len(self.stimuli))[:, None]
        return means

    def influence_on_mean(self, table: Floats) -> Influence:
        """Return the influence of cells on the mean of a table of shape (n_stimuli, n_neuroids)."""
        return Influence.of_mean(table, self.stimuli, self.neuroids.names[self.neuroids.used])

    def influence_on_median(self, values: Floats, influence: Floats) -> Influence:
        """Return the influence of cells on the median over neuroids of values (unless NaN) that depend on all stimuli.

        `influence`, of each stimulus on the neuroid's value, is enlarged here for fold means and two scales estimated
        from the same stimuli.
        """
        n = len(self.stimuli)
        on_median = median_of_columns(values, influence * np.sqrt(n / max(n - len(self.folds[0]) - 3, 1)))
        return influence_on_medians(on_median, self.stimuli, self.neuroids.names[self.neuroids.used])

    @cached_property
    def repetition(self) -> Indices:
        """Repetition number of each presentation; raises unless every stimulus has two or more, numbered."""
        names, repetition = np.unique(coordinate(self.target.labels, "repetition"), return_inverse=True)
        counts = np.bincount(self.row)
        twice = len(self.row) - len(np.unique(self.row * len(names) + repetition))
        if counts.min() < 2 or twice:
            wrong = f"{count(twice, 'further presentation')} of a stimulus with the same value of 'repetition'"
            if counts.min() < 2:
                wrong = f"{int((counts < 2).sum())} of {len(counts)} stimuli were shown once"
            raise AssemblyError(
                "Noise can be separated from signal only if every stimulus was shown at least twice; in the target, "
                f"{wrong}. Pass single repetitions, before averaging, numbered for each stimulus, and leave out "
                "stimuli shown once. For averaged responses, use the metric named *_kfold."
            )
        return np.asarray(repetition)

    def halves(self, n_halves: int, rng: np.random.Generator) -> Iterator[Halves]:
        """Yield mean responses over either half of the repetitions; missing ones are balanced per stimulus."""
        repetition = self.repetition
        counts = np.bincount(self.row)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        for half in distinct_halves(rng, n_halves, int(repetition.max()) + 1):
            order = np.lexsort((repetition, ~half[repetition], self.row))
            rank = np.empty(len(order), dtype=np.intp)
            rank[order] = np.arange(len(order)) - np.repeat(starts, counts)
            first = rank < counts[self.row] // 2
            yield self.mean_of(first), self.mean_of(~first)


# Score predictions of all stimuli together, each from the other folds, for few stimuli and much noise.
#
# Stimuli, sorted by id, are divided into k folds several times.


SMALLEST_FOLD = 4  # stimuli; the fold mean costs one degree of freedom
SIGNIFICANT = 2  # least reliability in standard errors for a bounded interval of a ratio


class PooledFolds(Metric):
    """Base of metrics on predictions of all folds, by a regression with an intercept such as `Ridge`.

    Parameters
    ----------
    folds
        Number of folds; fewer where a fold would have less than four stimuli.
    repeats
        Number of divisions into folds.
    split_kwargs : dict or None
        Further arguments of `Split`: ``stratification_coord``.
    """

    def __init__(
        self,
        estimator: SplitPredictor,
        *,
        folds: int = 10,
        repeats: int = 3,
        seed: int = 1,
        split_kwargs: Options = None,
    ) -> None:
        if folds < 2 or repeats < 1:
            raise ValueError(
                f"Stimuli must be divided into at least 2 folds, at least once; got {folds} and {repeats}."
            )
        self._estimator = estimator
        self._folds = folds
        self._repeats = repeats
        self._seed = seed
        self._split_kwargs = dict(split_kwargs or {})

    def divisions(self, target: xr.DataArray) -> list[list[Indices]]:
        """Return, for each repeat, the folds: positions among the target's stimuli sorted by id."""
        _, first = np.unique(coordinate(target, Defaults.stimulus_coord), return_index=True)
        return self._divide(target.isel(presentation=first))[0]

    def _measured(self, source: Features, target: xr.DataArray) -> FoldedMeasurement:
        features, responses_side = Side.of(source, "source"), Side.of(target, "target")
        neuroids = responses_side.neuroids()
        ids = coordinate(responses_side.labels, Defaults.stimulus_coord)
        stimuli, first, row = np.unique(ids, return_index=True, return_inverse=True)
        place = matching_order(stimuli, coordinate(features.labels, Defaults.stimulus_coord))
        (x,) = in_ordinary_units([take_rows(features.finite(), place)], "source", self._estimator, allow_small=False)
        constant = is_constant(x)
        if isinstance(self._estimator, OfInnerProducts) and x.shape[1] > x.shape[0]:
            backend = getattr(self._estimator, "backend", None)
            gram = centred_gram(ColumnBlocks.of(x), backend=backend)
            x = np.asarray(gram_factor(gram, backend=backend))
        folds, notes = self._divide(responses_side.labels.isel(presentation=first))
        (used,) = in_ordinary_units([as_array(responses_side.columns(neuroids.used))], "target", self._estimator)
        responses = as_array(used)
        return FoldedMeasurement(x, constant, responses, row, stimuli, responses_side, neuroids, folds, notes)

    def _divide(self, labels: xr.DataArray) -> tuple[list[list[Indices]], dict[str, object]]:
        n = labels.sizes["presentation"]
        if n < 2 * SMALLEST_FOLD:
            raise AssemblyError(
                f"{n} stimuli cannot be divided into folds of at least {SMALLEST_FOLD}; at least {2 * SMALLEST_FOLD} "
                "are needed, and many more for an informative score."
            )
        k = min(self._folds, n // SMALLEST_FOLD)
        divided, notes = [], {}
        for repeat in range(self._repeats):
            state = int(seed_sequence(self._seed, "folds", repeat).generate_state(1)[0])
            with warnings.catch_warnings():  # folds may lack classes
                warnings.filterwarnings("ignore", "The least populated class", UserWarning)
                plan = Split(**self._split_kwargs, splits=k, kfold=True, random_state=state).plan(labels)
            divided.append([test for _, test in plan.presentations(labels)])
            notes = {**plan.notes, "seed": self._seed, "n_folds": k, "n_repeats": self._repeats}
        return divided, notes

    def _predict(
        self, measurement: FoldedMeasurement, responses: Floats, folds: Sequence[Indices], *, alike: bool = False
    ) -> Floats:
        """Predict each fold from the others, if `alike` in units of the spread of its fit (`in_own_spread`)."""
        trains = [np.setdiff1d(np.arange(len(responses)), test) for test in folds]
        tests = [np.concatenate(pair) for pair in zip(folds, trains, strict=True)] if alike else folds
        splits = list(zip(trains, tests, strict=True))
        parts = predict_splits(self._estimator, measurement.source, responses, splits)
        prediction = np.empty_like(responses)
        for test, part in zip(folds, parts, strict=True):
            prediction[test] = in_own_spread(part, responses, len(test)) if alike else part
        return prediction

    def _score(self, value: float, measurement: FoldedMeasurement, raw: Floats, **more: object) -> Score:
        score = Score(value)
        score.attrs.update(measurement.notes)
        score.attrs.update(measurement.neuroids.attrs)
        if np.isnan(raw).any():
            score.attrs["n_undefined"] = int(np.isnan(raw).sum())
        score.attrs.update(
            raw=measurement.target.labelled(raw, measurement.neuroids),
            n_stimuli=len(measurement.stimuli),
            quantity=self.quantity,
            **more,
        )
        return score


class FoldedCorrelation(PooledFolds):
    """Correlation of responses with predictions of all stimuli, for each neuroid."""

    quantity: ClassVar[Quantity | None] = "correlation"

    def __call__(self, source: Features, target: xr.DataArray) -> Score:
        """Compare at least eight stimuli; repetitions of the target are averaged.

        Returns
        -------
        Score
            0-d, in [-1, 1]: the median over neuroids of the mean over repeats. Attrs: ``raw`` (Score, dims (neuroid)),
            ``error`` (with fixed fits) and ``interval``, ``n_stimuli``, ``n_neuroids``, ``n_folds``, ``n_repeats``,
            ``seed``, ``stratified_by``; ``neuroids_left_out`` if any.
        """
        measurement = self._measured(source, target)
        y = measurement.means
        parts = [
            pooled_correlation(self._predict(measurement, y, folds, alike=True), y, folds)
            for folds in measurement.folds
        ]
        repeats = np.stack([r for r, _ in parts])
        if measurement.constant:
            repeats[...] = np.nan
        r = mean_known(repeats, axis=0)
        score = self._score(float(median_known(r)), measurement, r)
        if np.isnan(float(score)):
            return declare_no_error(score, "no neuroid has a correlation")
        influence = np.mean([x for _, x in parts], axis=0)
        return attach_influence(score, measurement.influence_on_median(r, influence), scale="fisher")


class _OfRepetitions(PooledFolds):
    """Base of metrics on single repetitions.

    An estimate needs a reliability of the mean over repetitions, averaged over neuroids, of at least `min_reliability`
    and two of its standard errors (over stimuli and neuroids).
    """

    quantity: ClassVar[Quantity | None] = "share"
    takes_repetitions: ClassVar[bool] = True

    def __init__(self, estimator: SplitPredictor, *, min_reliability: float = 0.15, **kwargs: Any) -> None:
        super().__init__(estimator, **kwargs)
        self._min_reliability = min_reliability

    def _finished(
        self, measurement: FoldedMeasurement, value: float, shares: Shares, influence: Influence, signal: Floats
    ) -> Score:
        with np.errstate(divide="ignore", invalid="ignore"):
            raw = np.where(shares.signal > 0, shares.explained / shares.signal, np.nan)
        reliability = signal.sum(axis=0)
        n_repetitions = int(np.bincount(measurement.row).max())
        notes = {
            "reliability": measurement.target.labelled(reliability, measurement.neuroids),
            "min_reliability": self._min_reliability,
            "n_repetitions": n_repetitions,
        }
        certain = measurement.influence_on_mean(signal * len(signal))
        error = float(np.sqrt(certain.variance))
        # The data first: where they allow no estimate, no source is at fault.
        unreliable = self._why_unreliable(float(reliability.mean()), error, measurement, n_repetitions)
        reason = unreliable or ("The source is the same for all stimuli." if measurement.constant else "")
        score = self._score(float("nan") if reason else value, measurement, raw, **notes)
        if reason:
            score.attrs.update(not_applicable=reason, not_estimable=bool(unreliable))
            return declare_no_error(score, reason)
        return attach_influence(score, influence)

    def _why_unreliable(
        self, reliability: float, error: float, measurement: FoldedMeasurement, n_repetitions: int
    ) -> str:
        least = max(self._min_reliability, SIGNIFICANT * error)
        if reliability >= least:
            return ""
        n, q = measurement.means.shape
        return (
            f"Not estimable: the mean responses of {q} neuroids to {n} stimuli over {n_repetitions} repetitions have a "
            f"reliability of {reliability:.3f} (standard error {error:.3f}), and at least {least:.3f} is needed: "
            f"{self._min_reliability} and {SIGNIFICANT} standard errors. Take more repetitions, stimuli or neuroids, "
            "or leave out neuroids that do not respond."
        )


class ExplainedSignal(_OfRepetitions):
    """Explained share of all neuroids' signal; see `signal_products`."""

    def __call__(self, source: Features, target: xr.DataArray) -> Score:
        """Compare; the target holds single repetitions, with `repetition`, and every stimulus at least twice.

        Returns
        -------
        Score
            0-d; on average 1 for a model that predicts the signal, 0 for one that predicts nothing, negative for one
            worse than the mean. NaN with too little reliability, with the reason in ``not_applicable`` and
            ``not_estimable`` (True: whatever the source). Attrs: ``raw`` (Score, dims (neuroid), not jackknifed),
            ``reliability`` (Score, dims (neuroid)), ``min_reliability``, ``n_repetitions``, and those of
            `FoldedCorrelation`.
        """
        measurement = self._measured(source, target)
        halves = list(measurement.halves(self._repeats, generator(self._seed, "halves")))
        parts = []
        for number, folds in enumerate(measurement.folds):
            responses = halves[number % len(halves)]
            first, second = (self._predict(measurement, half, folds) for half in responses)
            parts.append(signal_products((first, second), responses, folds))
        freedom = len(measurement.stimuli) - len(measurement.folds[0])
        products = Shares(*(np.mean(terms, axis=0) / freedom for terms in zip(*parts, strict=True)))
        value, weighted = explained_share(products, measurement.means)
        shares = Shares(*(part.sum(axis=0) for part in weighted))
        influence = measurement.influence_on_mean(
            (weighted.explained - value * weighted.signal) * products.signal.size / shares.signal.sum()
        )
        return self._finished(measurement, value, shares, influence, weighted.signal)


class ExplainedR2ER(_OfRepetitions):
    """Squared correlation of predictions with expected responses, median over neuroids; see `r2_er`."""

    def __call__(self, source: Features, target: xr.DataArray) -> Score:
        """Compare as `ExplainedSignal`.

        Returns
        -------
        Score
            0-d: the median over sufficiently reliable neuroids; others are NaN in ``raw``. Noise in training responses
            lowers it, noise in test responses does not. ``design`` is that of `RepeatedResponses`.
        """
        measurement = self._measured(source, target)
        measured = repeated_responses(measurement.responses, measurement.row, measurement.repetition)
        y, noise = measured.without_drift()
        parts = [
            r2_er(self._predict(measurement, y, folds, alike=True), y, noise, folds) for folds in measurement.folds
        ]
        totals, influences = (Shares(*np.mean(repeats, axis=0)) for repeats in zip(*parts, strict=True))
        scale = (len(measurement.stimuli) - len(measurement.folds[0])) * y.var(axis=0, ddof=1)
        signal = influences.signal / scale
        estimable = signal.sum(axis=0) >= self._min_reliability
        shares = Shares(totals.explained, np.where(estimable, totals.signal, np.nan))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = shares.explained / shares.signal
            influence = (influences.explained - ratios * influences.signal) / shares.signal
        cells = measurement.influence_on_median(ratios, influence)
        score = self._finished(measurement, float(median_known(ratios)), shares, cells, signal)
        score.attrs["design"] = measured.design
        return score


# Make this plugin's metrics; see `metric`.


Pooled = TypeVar("Pooled", bound=PooledFolds)


def folded(
    kind: type[Pooled],
    regression: str,
    *,
    regression_kwargs: Options = None,
    crossvalidation_kwargs: Options = None,
    backend: str | None = None,
    **kwargs: Any,  # checked by the class
) -> Pooled:
    """Make this kind of metric with another one's regression.

    The folds respect ``stratification_coord``. Others are ``folds`` (10), ``repeats`` (3), ``seed`` (1), for
    repetitions ``min_reliability`` (.15); see `PooledFolds`.
    """
    estimator = load_metric(regression, regression_kwargs=regression_kwargs, backend=backend).regression.estimator
    if not isinstance(estimator, SplitPredictor):
        raise TypeError(
            f"The regression of {regression!r} with {dict(regression_kwargs or {})} is computed by scikit-learn, but "
            "pooled folds need this library's regression. Leave out the options that only scikit-learn has."
        )
    return kind(estimator, split_kwargs=crossvalidation_kwargs, **kwargs)
