"""Score whether a model solves images in the order of IT (object solution times).

In every split a linear decoder of the object is trained for each time bin of the model's responses. The model's
solution time of an image is when its d' against other objects (I1 of Rajalingham et al. 2018), interpolated between
bins, reaches the given one.

    ``score = mean_s spearman(t_model, t_IT)`` over the held-out images of split ``s`` that both solve

- Input: source, dims (presentation, neuroid, time_bin), with `stimulus_id`, `image_label` and `time_bin_start`, each
  stimulus once; target, dims (presentation), solution times in ms, NaN for images that are never solved, with
  `stimulus_id` and `i1`, the d' to reach.
- Output: Score in [-1, 1], a correlation; ``raw`` has dim (split).
- Invariances: order of presentations of the source; shift and positive scaling of each of its neuroids; increasing
  functions of the target.
- Error: over new images of the tests, with the same decoders. `compat=True` gives the ``split_error``.
- When: models whose responses change over time; of others the score is NaN.

The decoder is the minimum of the published objective, that of scikit-learn's `LogisticRegression` with ``C = 1 / (0.463
n)`` and a penalised intercept. ``compat=True`` takes the published 40 passes of small steps (1e-4); the first weights
are other draws.

References
----------
Kar et al. (2019), doi:10.1038/s41593-019-0392-5;
Kubilius, Schrimpf et al. (2019), arXiv:1909.06161;
Rajalingham et al. (2018), doi:10.1523/JNEUROSCI.0388-18.2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Metric, Score
from brainscore_vision.metric_helpers import Defaults
from brainscore_vision.metric_helpers.arrays.behavior import image_dprimes, two_way_rates
from brainscore_vision.metric_helpers.arrays.correlation import mean_known, ordinary, spearman
from brainscore_vision.metric_helpers.arrays.regression.adam import Adam
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.labelled.alignment import (
    coordinate,
    has_coordinate,
    matching_order,
    matrix,
    one_each,
    require_assembly,
)
from brainscore_vision.metric_helpers.labelled.splits import CrossValidation
from brainscore_vision.metric_helpers.uncertainty.errors import (
    attach_split_error,
    attach_spread,
    attach_standard_error,
    spread_of_units,
    t_interval,
)

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats, Indices

# Decode classes from responses in many time bins, and find when a decoder reaches a given accuracy.
#
# A linear decoder has the probabilities ``softmax(W^T z + b)`` of the standardised responses ``z`` and minimises
#
# ``mean cross-entropy + penalty / 2 (||W||^2 + ||b||^2)``
#
# `decoded_probabilities` finds the unique minimum; `briefly_decoded_probabilities` takes a fixed number of stochastic
# steps towards it, as published (Kar et al. 2019, doi:10.1038/s41593-019-0392-5).


PENALTY = 0.463
"""1 / (C n) of a support vector machine with C = 1e-3 and n = 2160 images."""


_RATE, _EPOCHS, _BATCH, _TOLERANCE = 1e-4, 40, 64, 1e-4  # of the published training
_TRUNCATED_NORMAL_STD = 0.8796256610342398  # of a standard normal cut off at 2


def decoded_probabilities(
    train: ArrayLike, labels: ArrayLike, test: ArrayLike, n_classes: int, penalty: float = PENALTY
) -> Floats:
    """Fit a decoder to the training stimuli of every time bin and apply it to the test stimuli.

    Features, shape (n_bins, n_stimuli, n_neuroids), are standardised per neuroid and bin, by the training stimuli.
    Classes of these are numbered from 0; the penalty is larger than zero. Probabilities, shape (n_bins, n_test,
    n_classes), are those at the minimum, to about 1e-7.
    """
    x, z = _standardized(train, test)
    features, applied = _compressed(x, z)
    truth = np.eye(n_classes)[np.asarray(labels)]
    shape = (len(features), features.shape[2], n_classes)
    n_train = features.shape[1]
    transposed = np.ascontiguousarray(features.transpose(0, 2, 1))

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        logits = features @ weights
        logits -= logits.max(axis=2, keepdims=True)
        probabilities = np.exp(logits)
        total = probabilities.sum(axis=2, keepdims=True)
        entropy = (np.log(total).sum() - np.einsum("tik,ik->", logits, truth)) / n_train
        probabilities /= total
        probabilities -= truth
        gradient = transposed @ probabilities / n_train + penalty * weights
        return entropy + 0.5 * penalty * float(flat @ flat), gradient.ravel()

    # Bins are independent: minimising the sum minimises each.
    result = minimize(
        objective,
        np.zeros(int(np.prod(shape))),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 10_000, "maxfun": 100_000, "gtol": 1e-9, "ftol": 0.0, "maxcor": 20},
    )
    return _softmax(applied @ result.x.reshape(shape))


def briefly_decoded_probabilities(
    train: ArrayLike, labels: ArrayLike, test: ArrayLike, n_classes: int, penalty: float = PENALTY, seed: int = 0
) -> Floats:
    """Train a decoder briefly, as published, and apply it as `decoded_probabilities`.

    From random weights (normal, cut off at two standard deviations, variance 1 / n_neuroids, the same in every bin) and
    offsets of 1, 40 passes over the training stimuli in batches of 64, by Adam with a step size of 1e-4. A bin stops
    once the cross-entropy of a pass's last batch is below 1e-4. Only the weights depend on `seed`: the order of stimuli
    is the published one.
    """
    x, z = _standardized(train, test)
    targets = np.eye(n_classes)[np.asarray(labels)]
    n_bins, n_train, n_neuroids = x.shape
    rng = generator(seed, "decoder", "start")
    weights = rng.standard_normal((n_neuroids, n_classes))
    while (outside := np.abs(weights) > 2).any():
        weights[outside] = rng.standard_normal(int(outside.sum()))
    weights /= _TRUNCATED_NORMAL_STD * np.sqrt(n_neuroids)
    state = [np.repeat(weights[None], n_bins, axis=0), np.ones((n_bins, n_classes))]
    final = [part.copy() for part in state]
    going = np.arange(n_bins)
    adam = Adam(state)
    shuffled = np.random.RandomState(0)
    for _ in range(_EPOCHS):
        order = np.arange(n_train)
        shuffled.shuffle(order)
        for start in range(0, n_train, _BATCH):
            batch = order[start : start + _BATCH]
            inputs = x[going][:, batch] if len(going) < n_bins else x[:, batch]
            probabilities = _softmax(inputs @ state[0] + state[1][:, None])
            hit = np.einsum("tik,ik->ti", probabilities, targets[batch])
            slopes = (probabilities - targets[batch]) / len(batch)
            gradients = [
                inputs.transpose(0, 2, 1) @ slopes + penalty * state[0],
                slopes.sum(axis=1) + penalty * state[1],
            ]
            adam.step(state, gradients, _RATE)
        with np.errstate(divide="ignore"):  # a probability of 0 has an infinite entropy
            done = -np.log(hit).mean(axis=1) < _TOLERANCE
        for whole, part in zip(final, state, strict=True):
            whole[going] = part
        if done.any():
            going, state = going[~done], [part[~done] for part in state]
            adam.keep(~done)
        if not len(going):
            break
    return _softmax(z @ final[0] + final[1][:, None])


def solution_times(accuracy: ArrayLike, times: ArrayLike, threshold: ArrayLike) -> Floats:
    """Find when each image's accuracy first reaches its threshold, interpolating linearly between time bins.

    ``t = t_a + (threshold - a_a) / (a_b - a_a) (t_b - t_a)``, where ``b`` is the first bin at or above the threshold
    and ``a`` the best of the bins before.

    Accuracies, shape (n_bins, n_images), may be NaN: below any threshold. Times increase. An image that reaches the
    threshold in the first bin gets its time; NaN if it never does.

    Examples
    --------
    >>> solution_times([[0.0, 2.0, 0.0], [1.0, 2.0, 0.5]], [70, 80], [0.5, 1.0, 1.0])
    array([75., 70., nan])
    """
    values, goal, when = (np.asarray(part, dtype=np.float64) for part in (accuracy, threshold, times))
    reached = values >= goal
    first = reached.argmax(axis=0)
    earlier = (np.arange(len(values))[:, None] < first) & (values < goal)
    candidates = np.where(earlier, values, -np.inf)
    best = candidates.argmax(axis=0)
    columns = np.arange(values.shape[1])
    low, high = candidates[best, columns], values[first, columns]
    with np.errstate(invalid="ignore"):
        between = when[best] + (goal - low) / (high - low) * (when[first] - when[best])
    result = np.where(np.isfinite(low), between, when[first])
    solved: Floats = np.where(reached.any(axis=0), result, np.nan)
    return solved


def _standardized(train: ArrayLike, test: ArrayLike) -> tuple[Floats, Floats]:
    """Centre and scale both by the training stimuli; neuroids constant there are only centred."""
    x, z = np.asarray(train, dtype=np.float64), np.asarray(test, dtype=np.float64)
    mean = x.mean(axis=1, keepdims=True)
    x = x - mean
    deviation = np.sqrt(np.einsum("tip,tip->tp", x, x) / x.shape[1])[:, None]
    # Rounding of a constant is not a signal.
    scale: Floats = np.where(deviation > 1e-13 * np.abs(mean), deviation, 1.0)
    x /= scale
    applied: Floats = (z - mean) / scale
    return np.asarray(x, dtype=np.float64), applied


def _compressed(x: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return training and test features with the inner products of (z, 1), not many more than stimuli.

    Where neuroids outnumber stimuli, rows of a Cholesky factor of the Gram matrix are such features.
    """
    n_bins, n_train, n_neuroids = x.shape
    if n_neuroids <= 2 * n_train:
        ones = [np.ones((n_bins, part.shape[1], 1)) for part in (x, z)]
        return np.concatenate([x, ones[0]], axis=2), np.concatenate([z, ones[1]], axis=2)
    gram = x @ x.transpose(0, 2, 1) + 1.0
    diagonal = np.einsum("tii->ti", gram)
    diagonal += 1e-10 * diagonal.mean(axis=1, keepdims=True)  # equal stimuli make it singular
    factor: Floats = np.asarray(np.linalg.cholesky(gram), dtype=np.float64)
    applied = np.asarray(np.linalg.solve(factor, x @ z.transpose(0, 2, 1) + 1.0), dtype=np.float64)
    return factor, applied.transpose(0, 2, 1)


def _softmax(logits: Floats) -> Floats:
    values: Floats = np.exp(logits - logits.max(axis=-1, keepdims=True))
    values /= values.sum(axis=-1, keepdims=True)
    return values


_BLOCK_BYTES = 2**28  # training responses of the time bins that are decoded together


class OSTCorrelation(Metric):
    """Correlation of object solution times.

    Parameters
    ----------
    crossvalidation_kwargs
        By default 10 splits with 10 % test stimuli, not stratified.
    label_coord
        Coordinate of the object, of source or else target.
    compat
        Train decoders as briefly, and split stimuli, as published.
    seed
        Seed of the initial weights with `compat`.
    """

    quantity: ClassVar = "correlation"

    def __init__(
        self,
        crossvalidation_kwargs: Mapping[str, Any] | None = None,  # arguments of `CrossValidation`
        *,
        label_coord: str = "image_label",
        compat: bool = False,
        seed: int = 0,
    ) -> None:
        own = {"stratification_coord": None, "splits": 10, "test_size": 0.1, "compat": compat}
        kwargs = {**own, **(crossvalidation_kwargs or {})}
        self._cross_validation = CrossValidation(**kwargs)
        self._label_coord = label_coord
        self._compat = compat
        self._seed = seed

    def __call__(self, source_recordings: DataAssembly, target_osts: DataAssembly) -> Score:
        """Compare.

        Attrs also hold ``n_undefined`` (splits with fewer than two images, or no two different times: NaN in ``raw``)
        and ``n_unsolved`` (images that the model does not solve, summed over splits).
        """
        for assembly in (source_recordings, target_osts):
            require_assembly(assembly)
        if "time_bin" not in source_recordings.dims:
            raise AssemblyError(
                f"Solution times need responses in several time bins; the source has dimensions "
                f"{tuple(source_recordings.dims)}. Record with candidate.start_recording('IT', time_bins=[...])."
            )
        ids = [coordinate(part, Defaults.stimulus_coord) for part in (target_osts, source_recordings)]
        rows = matching_order(*ids)
        labels = self._labels(source_recordings, target_osts, rows)
        starts = coordinate(source_recordings, "time_bin_start").astype(float)
        bins = np.argsort(starts, kind="stable")
        (responses,) = ordinary(matrix(source_recordings, ("time_bin", *Defaults.expected_dims), role="source"))
        if not np.isfinite(responses.sum()):
            raise AssemblyError("The source assembly has NaN or infinite values. A model's activations must be finite.")
        measured = matrix(target_osts, ("presentation",), role="target")
        threshold = coordinate(target_osts, "i1").astype(float)
        plan = self._cross_validation.plan(target_osts)
        correlations, moved, unsolved = [], [], 0
        for train, test in plan.presentations(target_osts):
            accuracy = self._accuracy(responses, bins, (rows[train], rows[test]), (labels[train], labels[test]))
            times = solution_times(accuracy, starts[bins], threshold[test])
            unsolved += int(np.isnan(times).sum())
            both = ~np.isnan(times) & ~np.isnan(measured[test])
            correlations.append(spearman(times[both], measured[test][both]))
            moved.append(np.zeros(len(rows)))
            moved[-1][test[both]] = _influences(times[both], measured[test][both])
        score = self._score(np.array(correlations), plan.notes, n_stimuli=len(rows), n_unsolved=unsolved)
        return score if self._compat else _with_error(score, np.array(moved))

    def _labels(self, source: DataAssembly, target: DataAssembly, rows: Indices) -> Indices:
        for assembly, order in ((source, rows), (target, slice(None))):
            if has_coordinate(assembly, self._label_coord):
                named = coordinate(assembly, self._label_coord).astype(str)[order]
                return np.asarray(np.unique(named, return_inverse=True)[1], dtype=np.intp)
        raise AssemblyError(
            f"Neither source nor target has a coordinate {self._label_coord!r} that names the object in each image. "
            "Add it, or name the coordinate that does: load_metric('ost', label_coord='object_name')."
        )

    def _accuracy(
        self, responses: Floats, bins: Indices, rows: tuple[Indices, Indices], labels: tuple[Indices, Indices]
    ) -> Floats:
        """Decode the test images in every bin; I1 of shape (bins, images)."""
        (train, test), (known, truth) = rows, labels
        n_classes = int(max(known.max(), truth.max())) + 1
        width = max(1, _BLOCK_BYTES // (8 * len(train) * responses.shape[2]))
        probabilities = []
        for start in range(0, len(bins), width):
            block = responses[bins[start : start + width]]
            parts = (block[:, train], known, block[:, test], n_classes)
            if self._compat:
                probabilities.append(briefly_decoded_probabilities(*parts, seed=self._seed))
            else:
                probabilities.append(decoded_probabilities(*parts))
        decoded = np.concatenate(probabilities)
        rates = two_way_rates(decoded.reshape(-1, n_classes), np.tile(truth, len(bins))).reshape(decoded.shape)
        return mean_known(image_dprimes(rates, truth), axis=2)

    def _score(self, correlations: Floats, notes: Mapping[str, object], **counts: int) -> Score:
        defined = correlations[~np.isnan(correlations)]
        score = Score(defined.mean() if len(defined) else np.nan)
        score.attrs["raw"] = one_each(correlations, "split")
        if self._compat:
            attach_standard_error(score, defined, over="split")
        else:
            attach_split_error(score, defined)
        score.attrs.update(notes, **counts, n_undefined=len(correlations) - len(defined), quantity=self.quantity)
        return score


def _influences(times: Floats, measured: Floats) -> Floats:
    """Return how leaving out each image moves the rank correlation; 0 where nothing is left."""
    n = len(times)
    without = np.array([spearman(np.delete(times, image), np.delete(measured, image)) for image in range(n)])
    defined = ~np.isnan(without)
    if not defined.any():
        return np.zeros(n)
    return np.where(defined, (without[defined].mean() - without) * (n - 1) / n, 0.0)


def _with_error(score: Score, moved: Floats) -> Score:
    defined = ~np.isnan(score.raw.values)
    tested = (moved != 0).any(axis=0)
    spread = spread_of_units(moved[defined][:, tested].mean(axis=0) if defined.any() else [])
    missing = None if tested.sum() > 1 else "fewer than two images are solved by both sides"
    return attach_spread(score, spread, over=["stimulus"], interval=t_interval(score.item(), spread), missing=missing)
