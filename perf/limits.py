"""Put every regression and RDM kernel beside its floor: its matrix products at the speed of the BLAS.

The floor counts the multiplications and additions of the matrix products and factorisations that the best way we know
needs, in float64, each of them once: a product of (a, b) and (b, c) counts 2abc, a symmetric one abb, a Cholesky factor
n^3 / 3, its inverse n^3 2 / 3, a symmetric eigendecomposition n^3 10 / 3 (4/3 for the tridiagonal form, 2 to turn its
vectors back). It divides them by the speed of one large product, measured before every case in the same process. So it
is a bound that nobody reaches: it knows no memory, no products with few rows, no sorting. Times are CPU time of one
thread, best of three.
"""

import cProfile
import pstats

import numpy as np
from harness import QUICK, Case, markdown, measure_cases, times_of

from brainscore_vision.metric_helpers.arrays.geometry.cka import cka as unbiased_cka
from brainscore_vision.metric_helpers.arrays.geometry.rdm import (
    correlation_distances,
    rdm_similarity,
    squared_distances,
)
from brainscore_vision.metric_helpers.arrays.geometry.whitened import unbiased_distances
from brainscore_vision.metric_helpers.arrays.regression.linear_maps import centred_gram
from brainscore_vision.metric_helpers.arrays.regression.pls import pls_predict_splits
from brainscore_vision.metric_helpers.arrays.regression.ridge import (
    least_squares_split_fits,
    ridge_cv_predict_splits,
    ridge_split_fits,
)
from brainscore_vision.metric_helpers.arrays.regression.single import best_source_predict_splits
from brainscore_vision.metrics.mask_regression.metric import MaskSettings, mask_predict_splits

AIM, CALLS = 1.5, 3
SIDE = 1536  # of the matrices whose product tells the speed
SPLITS, COMPONENTS, EPOCHS, BATCH = 10, 25, 4, 50
ALPHAS = np.logspace(-2, 6, 17)
REMARK = """
Above the aim, by what the profile of the same run says: PLS spends its time in products of a matrix and one vector (the
power iterations, whose number the published stop rule fixes, and the deflation), which memory bounds and the floor does
not count. Twice the floor is out of reach for `pls-tall`: the stop rule takes 109 iterations per component on average;
their 27,351 products alone, timed apart, take .077 s, and scores and loadings, ten rows times the source, .157 s. For
`pls-wide` (25,643) these are .061 and .033 s. Eigenvalues alone cost .82 ms per component, as its iterations do; in
blocks of 12 to 32 with one check, to the same 1e-15, all took from 4 % more to 16 % less, which is not worth the lines.
`ridge_cv` waits for the eigendecomposition, half of which is of that kind, and for the residuals of all penalties,
squared and summed one by one. `best_source` divides, compares and chooses for each pair and split; `mask` multiplies by
channel weights and differentiates masks; `rdm` sorts half a million dissimilarities for their ranks; `crossnobis`
centres and masks responses in several passes; ridge and least squares over features turn and copy the rows of each
split. With errors, `rdm` of 3,200 stimuli has .8 times the published speed (section Metrics): the two sorts of five
million dissimilarities take 1.0 s alone, more than the .8 s that 4.5 times would allow, and errors 1.1 s, a dozen
passes over as many numbers. `internal_consistency` has 80 times, with half of its .17 s spent on the errors.
"""


def data(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p))
    return x, x[:, : min(p, 50)] @ rng.standard_normal((min(p, 50), q)) + rng.standard_normal((n, q))


def ten_splits(n):
    """Cut stimuli into ten parts; each is left out once."""
    return [(np.delete(np.arange(n), part), part) for part in np.array_split(np.arange(n), SPLITS)]


# Each case returns what to time and how many operations its products need.


def pls(n, p, q):
    """PLS of ten splits: cross-products once and less each test part; per component scores and loadings."""
    x, y = data(n, p, q)
    width = min(n, p)  # features, or the factor of their Gram matrix
    gram = n * n * p + n**3 / 3 if p > n else 0
    products = 2 * 2 * n * width * q + SPLITS * COMPONENTS * 2 * 2 * n * width
    return lambda: pls_predict_splits(x, y, ten_splits(n), COMPONENTS), gram + products


def by_deletion(fit):
    """Return a case of a regression of ten splits, by deletion from one fit of all."""

    def case(n, p, q):
        x, y = data(n, p, q)
        return lambda: fit(x, ten_splits(n)).predict(y), smoother(n, p, q)

    return case


def smoother(n, p, q):
    """Count one fit of all stimuli, and what deletes a tenth of them ten times."""
    m = n // SPLITS
    deletion = SPLITS * (m**3 / 3 + 2 * m * m * q)
    if p > n:
        return n * n * p + n**3 + 2 * n * n * q + deletion
    blocks = SPLITS * m * m * p  # of the hat matrix, symmetric
    return n * p * p + p**3 / 3 + n * p * p + 4 * n * p * q + blocks + deletion


def ridge_cv(n, p, q):
    x, y = data(n, p, q)
    t = n - n // SPLITS
    side = min(t, p)
    once = n * n * p if p > n else 0
    # The leave-one-out residuals of all penalties are mixed from those of a few, as many as the rank of the shrinkage.
    squares = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
    rank = np.linalg.matrix_rank(ALPHAS / (squares[:, None] + ALPHAS), rtol=1e-13)
    each = side**3 * 10 / 3 + 2 * t * side * q * (rank + 2) + (0 if p > n else t * p * p + 2 * t * p * side)
    return lambda: ridge_cv_predict_splits(x, y, ten_splits(n), ALPHAS), once + SPLITS * each


def ridge_fits(x, splits):
    return ridge_split_fits(x, splits, 10.0)


def best_source(n, p, q):
    """Correlations of all pairs for ten splits: all stimuli once, and each test part once."""
    x, y = data(n, p, q)
    return lambda: best_source_predict_splits(x, y, ten_splits(n)), 2 * 2 * n * p * q


def mask(n, channels, side, q):
    """Masks of ten splits: each step looks through the masks and turns back, products of stimuli x channels rows."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, channels, side, side))
    y = rng.standard_normal((n, q))
    settings = MaskSettings(n_epochs=EPOCHS, batch_size=BATCH)
    rows = SPLITS * EPOCHS * (n - n // SPLITS) * channels
    return lambda: mask_predict_splits(x, y, ten_splits(n), settings), 2 * 2 * rows * side**2 * q


def symmetric(kernel):
    """Return a case of products of all stimuli with each other."""

    def case(n, p):
        x, _ = data(n, p, 1)
        return lambda: kernel(x), n * n * p

    return case


def rdm(n, p, q):
    x, y = data(n, p, q)
    return lambda: rdm_similarity(correlation_distances(x), correlation_distances(y)), n * n * (p + q)


def crossnobis(repetitions, n, p):
    """Distances from products across repetitions: within each, and of the sum."""
    x = np.random.default_rng(0).standard_normal((repetitions, n, p))
    return lambda: unbiased_distances(x), (repetitions + 1) * n * n * p


def cka(n, p, q):
    x, y = data(n, p, q)
    if n > max(p, q):  # over features: three cross-products
        return lambda: unbiased_cka(x, y), n * p * p + n * q * q + 2 * n * p * q
    return lambda: unbiased_cka(x, y), n * n * (p + q)


KERNELS = {
    "gram": (symmetric(centred_gram), (3200, 5000)),
    "pls-tall": (pls, (3200, 1000, 168)),
    "pls-wide": (pls, (1000, 5000, 150)),
    "ridge-tall": (by_deletion(ridge_fits), (3200, 1000, 168)),
    "ridge-wide": (by_deletion(ridge_fits), (1000, 5000, 150)),
    "ridgecv-tall": (ridge_cv, (2000, 500, 168)),
    "ridgecv-wide": (ridge_cv, (1000, 5000, 150)),
    "least_squares-tall": (by_deletion(least_squares_split_fits), (3200, 1000, 168)),
    "least_squares-wide": (by_deletion(least_squares_split_fits), (1000, 5000, 150)),
    "best_source": (best_source, (1000, 5000, 150)),
    "mask": (mask, (400, 32, 12, 100)),
    "correlation_distances": (symmetric(correlation_distances), (3200, 1000)),
    "squared_distances": (symmetric(squared_distances), (3200, 1000)),
    "rdm": (rdm, (1000, 5000, 168)),
    "crossnobis": (crossnobis, (10, 500, 1000)),
    "cka-wide": (cka, (1000, 5000, 5000)),
    "cka-tall": (cka, (3200, 1000, 168)),
}
CASES = {name: Case(name, peer=False, data=kernel) for name, kernel in KERNELS.items()}


def blas_speed():
    a, b = (np.random.default_rng(seed).standard_normal((SIDE, SIDE)) for seed in (0, 1))
    return 2 * SIDE**3 / min(times_of(lambda: a @ b, CALLS))


def own_times(compute, most=2):
    """Return where most of the time of one call goes: functions of their own time, less that of what they call."""
    profile = cProfile.Profile()
    profile.runcall(compute)
    functions = pstats.Stats(profile).stats
    total = sum(function[2] for function in functions.values())
    largest = sorted(functions.items(), key=lambda item: -item[1][2])[:most]
    return [[name.strip("<>").split(" of ")[0], own[2] / total] for (_, _, name), own in largest]


def measure(name, _folder):
    maker, sizes = CASES[name].data
    if QUICK:
        sizes = tuple(max(12, length // 10) for length in sizes)
    compute, operations = maker(*sizes)
    speed = blas_speed()
    seconds = min(times_of(compute, CALLS))
    floor = operations / speed
    measured = {"cpu_s": seconds, "floor_s": floor, "times": seconds / floor, "blas_gflops": speed / 1e9}
    return {"sizes": sizes, **measured, "own_times": own_times(compute)}


def row(name, result):
    sizes = " x ".join(map(str, result["sizes"]))
    shares = ", ".join(f"{share:.0%} {function}" for function, share in result["own_times"])
    times = [f"{result[key]:.3f}" for key in ("cpu_s", "floor_s")]
    verdict = "yes" if result["times"] <= AIM else "no"
    return [name, sizes, *times, f"{result['times']:.2f}", f"{result['blas_gflops']:.0f}", verdict, shares]


def table(results):
    head = ["kernel", "sizes", "CPU s", "floor, s", "times the floor", "BLAS, GFLOP/s", f"<= {AIM}"]
    rows = (row(case, results[case]["here"]) for case in CASES if case in results)
    return markdown([*head, "own time of functions"], rows)


if __name__ == "__main__":
    measure_cases(
        __doc__, CASES, measure, table=table, title="Kernels and their floors", remark=REMARK, calls=1,
        how=f"one thread, best of {CALLS}, float64.",
    )  # fmt: skip
