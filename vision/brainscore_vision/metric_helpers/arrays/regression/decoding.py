"""Decode classes from responses in many time bins, and find when a decoder reaches a given accuracy.

A linear decoder has the probabilities ``softmax(W^T z + b)`` of the standardised responses ``z`` and minimises

    ``mean cross-entropy + penalty / 2 (||W||^2 + ||b||^2)``

`decoded_probabilities` finds the unique minimum; `briefly_decoded_probabilities` takes a fixed number of stochastic
steps towards it, as published (Kar et al. 2019, doi:10.1038/s41593-019-0392-5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from brainscore_vision.metric_helpers.arrays.regression._adam import Adam
from brainscore_vision.metric_helpers.arrays.seeds import generator

if TYPE_CHECKING:
    from brainscore_vision.metric_helpers.arrays.types import ArrayLike, Floats

__all__ = ["PENALTY", "briefly_decoded_probabilities", "decoded_probabilities", "solution_times"]

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
    # Rounding of a constant is no signal.
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
