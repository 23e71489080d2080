"""Measure how often intervals hold what they are for, on simulated data.

Every data set has new stimuli, new neuroids and new noise. A model of 40 features, 10 of which carry signal, explains
60 % of the neuroids' signal; the neuroids' reliabilities differ. Objects, new ones in each set, have ten pictures,
which share four fifths of the variance of features and signal. Frames are a sequence: features and signal of neighbours
correlate at .9. For every design and estimator it counts intervals of
95 % that hold the estimator's mean over all data sets (and the true value, where there is one), and compares the root
mean square of the stated errors with the standard deviation of the scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from simulations import Row, Simulation, counted, coverage_table, described, labelled

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.errors import BrainScoreError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import over_clusters
from brainscore_core.statistics import FEW_CLUSTERS
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.benchmark_helpers.scores.ceilings import geometry_ceiling
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.uncertainty.intervals import half_sample_interval


@dataclass(frozen=True)
class Design:
    """An experiment."""

    n_stimuli: int
    n_neuroids: int
    reliability: float
    shared: float = 0.0  # part of the noise that all neuroids have in common
    n_repetitions: int = 4
    n_subjects: int = 1
    counts: bool = False  # Poisson counts instead of Gaussian noise
    drift: float = 0.0  # standard deviation over repetitions of a level that a whole repetition has, in those of noise
    n_objects: int = 0  # that the stimuli show; 0: each its own
    memory: float = 0.0  # correlation of features and signal of consecutive stimuli; objects are then blocks of them

    def object_of(self, number: int) -> str:
        """Return the object in a stimulus, or its block."""
        return str(number * self.n_objects // self.n_stimuli if self.memory else number % self.n_objects)


DESIGNS = {
    "A": Design(100, 20, 0.5),
    "B": Design(400, 40, 0.5),
    "C": Design(100, 20, 0.2),
    "D": Design(200, 40, 0.5, shared=0.3),
    "E": Design(200, 4, 0.5),
    "one neuroid": Design(200, 1, 0.5),
    "two repetitions": Design(200, 20, 0.5, n_repetitions=2),
    "five subjects": Design(100, 60, 0.5, n_subjects=5),
    "counts": Design(200, 20, 0.5, counts=True),
    "drift": Design(200, 20, 0.5, drift=1.0),
    **{f"{number} objects": Design(10 * number, 20, 0.5, n_objects=number) for number in (5, 8, 20)},
}
SMALL_DESIGNS = {
    **{f"{n} stimuli": Design(n, 20, 0.5) for n in (8, 12, 16)},
    "200 frames, singly": Design(200, 100, 0.8, memory=0.9),
    "200 frames": Design(200, 100, 0.8, memory=0.9, n_objects=FEW_CLUSTERS),
}
"""Few stimuli, and sequences with errors over single frames and over blocks; in a table of their own."""


@dataclass(frozen=True)
class Data:
    """Hold the measurements of one experiment, and the answers of a model."""

    model: NeuroidAssembly  # features
    signal: NeuroidAssembly  # responses without noise: a perfect model
    repetitions: NeuroidAssembly
    measured: NeuroidAssembly  # the mean over repetitions


def simulate(design: Design, seed: int) -> Data:
    rng = generator(seed, "coverage")
    n, q, n_features, n_carrying = design.n_stimuli, design.n_neuroids, 40, 10
    features = rng.standard_normal((n, n_features))
    hidden = rng.standard_normal((n, n_carrying))
    if design.memory:
        for values in (features, hidden):
            values[1:] *= np.sqrt(1 - design.memory**2)
            for number in range(1, n):
                values[number] += design.memory * values[number - 1]
    elif design.n_objects:
        objects = rng.standard_normal((design.n_objects, n_features + n_carrying))[np.arange(n) % design.n_objects]
        features = np.sqrt(0.2) * features + np.sqrt(0.8) * objects[:, :n_features]
        hidden = np.sqrt(0.2) * hidden + np.sqrt(0.8) * objects[:, n_features:]
    weights = rng.standard_normal((2, n_carrying, q)) / np.sqrt(n_carrying)
    signal = np.sqrt(0.6) * features[:, :n_carrying] @ weights[0] + np.sqrt(0.4) * hidden @ weights[1]
    reliability = np.clip(rng.beta(6 * design.reliability, 6 * (1 - design.reliability), q), 0.05, 0.95)
    spread = np.sqrt((1 / reliability - 1) * design.n_repetitions)
    shape = (design.n_repetitions, n, q)
    if design.counts:
        # A mean count of m and a modulation of it by s m give a variance of noise m and of signal (s m)^2.
        mean = 4 / spread**2 / 0.25
        signal = np.maximum(mean * (1 + 0.5 * signal), 0)
        repeated = rng.poisson(signal, shape).astype(float)
    else:
        noise = np.sqrt(1 - design.shared) * rng.standard_normal(shape)
        noise += np.sqrt(design.shared) * rng.standard_normal((*shape[:2], 1))
        noise += design.drift * rng.standard_normal((design.n_repetitions, 1, q))
        repeated = signal + spread * noise

    subjects = ("neuroid", [f"subject{number % design.n_subjects}" for number in range(q)])
    layers = ("neuroid", np.where(np.arange(n_features) < n_features // 2, "conv", "dense"))
    repetitions = labelled(repeated.reshape(-1, q), n, subject=subjects)
    return Data(
        labelled(features, n, "f", region=None, layer=layers),
        labelled(signal, n, subject=subjects),
        repetitions,
        average_repetition(repetitions),
    )


def over_objects(score: Score, design: Design) -> Score:
    """State the errors over new objects or blocks, if the stimuli have some."""
    if not design.n_objects:
        return score
    objects = {f"s{number:04d}": design.object_of(number) for number in range(design.n_stimuli)}
    return over_clusters(score, objects, "stimulus_block" if design.memory else "object_name")


Estimator = Callable[[Data], Score]


def of_model(name: str) -> Estimator:
    return lambda data: load_metric(name)(data.model, data.measured)


def ceiled(metric: str, ceiling: str, *, perfect: bool = False) -> Estimator:
    """Score the imperfect model, or the responses without noise, and divide by a ceiling."""
    return lambda data: explained_variance(
        load_metric(metric)(data.signal if perfect else data.model, data.measured),
        load_ceiling(ceiling)(data.repetitions),
    )


def by_halves(name: str) -> Estimator:
    return lambda data: half_sample_interval(load_metric(name), data.model, data.measured, n_resamples=40)


def of_ceiling(name: str) -> Estimator:
    return lambda data: load_ceiling(name)(data.repetitions)


def ceiled_geometry(name: str) -> Estimator:
    """Score the imperfect model by a metric of geometry and divide by the score of the true geometry."""

    def estimate(data: Data) -> Score:
        metric = load_metric(name)
        return ceil_score(metric(data.model, data.measured), geometry_ceiling(metric, data.repetitions))

    return estimate


def of_repetitions(name: str, *, perfect: bool = False) -> Estimator:
    """Score the imperfect model, or the responses without noise, on the single repetitions."""
    return lambda data: load_metric(name)(data.signal if perfect else data.model, data.repetitions)


_OF_MODEL = (
    "ridge", "pls", "cka", "cka_biased", "cka_cv", "rdm", "rdm_cv", "one_to_one", "soft_matching", "pls_per_neuron",
    "banded_ridge", "rdm_rho_a", "procrustes",
)  # fmt: skip
_CEILINGS = ("internal_consistency", "noise_ceiling", "predictor_consistency", "rsa_ceiling")
ESTIMATORS: dict[str, tuple[Estimator, float | None]] = {
    **{name: (of_model(name), None) for name in _OF_MODEL},
    **{name: (of_repetitions(name), None) for name in ("rdm_whitened", "rsa_crossnobis", "cka_noise_corrected")},
    **{name: (of_model(name), None) for name in ("ridge_kfold", "pls_kfold", "ridgecv_kfold", "neuron_to_neuron")},
    **{name: (of_repetitions(name), None) for name in ("ridge_signal", "ridgecv_signal", "ridge_r2er")},
    "perfect ridge_signal": (of_repetitions("ridge_signal", perfect=True), 1.0),
    "perfect cka_noise_corrected": (of_repetitions("cka_noise_corrected", perfect=True), 1.0),
    "ridge / internal_consistency": (ceiled("ridge", "internal_consistency"), None),
    "ridge / noise_ceiling": (ceiled("ridge", "noise_ceiling"), None),
    "perfect ridge / internal_consistency": (ceiled("ridge", "internal_consistency", perfect=True), 1.0),
    "perfect ridge / noise_ceiling": (ceiled("ridge", "noise_ceiling", perfect=True), 1.0),
    "rdm / geometry_ceiling": (ceiled_geometry("rdm"), None),
    "cka / geometry_ceiling": (ceiled_geometry("cka"), None),
    **{name: (of_ceiling(name), None) for name in _CEILINGS},
    **{f"{name} by halves": (by_halves(name), None) for name in ("ridge", "rdm")},
}
"""By name; with the true value where theory gives one."""


def estimate(cell: str, seed: int) -> Row:
    """Estimate on one data set; the row has a reason in place of numbers that are undefined."""
    name, estimator = cell.split(": ")
    design = (DESIGNS | SMALL_DESIGNS)[name]
    try:
        score = over_objects(ESTIMATORS[estimator][0](simulate(design, seed)), design)
    except (BrainScoreError, ValueError) as error:
        return {"reason": f"{type(error).__name__}: {error}"[:200]}
    row = described(score)
    return row if row["error"] is not None else {**row, "reason": str(score.attrs.get("error_nan_reason", ""))[:200]}


def summary(cell: str, rows: Sequence[Row]) -> Row:
    return counted(rows, ESTIMATORS[cell.split(": ")[1]][1])


SETS = {  # more for cells whose coverage with 200 was below .93, or which have few intervals; few for slow ones
    **dict.fromkeys(("C: ridge by halves", "counts: rdm by halves"), 40),
    **{f"five subjects: {name}": 600 for name in ("pls_per_neuron", "ridge_signal", "ridgecv_signal")},
    **dict.fromkeys(("counts: rsa_crossnobis", "counts: cka / geometry_ceiling", "C: ridgecv_signal"), 600),
    **{f"C: {name}": 1800 for name in ("cka_noise_corrected", "perfect cka_noise_corrected")},
}
OF_SMALL = ("ridge", "cka", "rdm", "neuron_to_neuron", "one_to_one")


def table(results: Mapping[str, Row], name: str = "designs") -> str:
    designs, estimators = (SMALL_DESIGNS, OF_SMALL) if name == "small" else (DESIGNS, ESTIMATORS)
    chosen = {cell: row for cell, row in results.items() if cell.split(": ")[0] in designs}
    return coverage_table(chosen, designs, estimators)


SIMULATION = Simulation(
    "coverage",
    {
        f"{design}: {estimator}": SETS.get(f"{design}: {estimator}", 200)
        for estimator in ESTIMATORS
        for design, chosen in DESIGNS.items()
        if estimator in ("ridge", "cka", "rdm") or not (chosen.n_objects or estimator == "neuron_to_neuron")
    }
    | {
        f"{design}: {estimator}": 200
        for estimator in OF_SMALL
        for design, chosen in SMALL_DESIGNS.items()
        if estimator in ("ridge", "cka", "rdm") or not chosen.memory
    },
    estimate,
    summary,
    table,
    first_seed=1000,
    tables=("designs", "small"),
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
