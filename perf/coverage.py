"""Measure how often intervals hold what they are for, on simulated data: `python perf/coverage.py --help`.

Every data set has new stimuli, new neuroids and new noise. A model of 40 features, 10 of which carry signal, explains
60 % of the neuroids' signal; the neuroids' reliabilities differ. For every design and estimator it counts intervals of
95 % that hold the estimator's mean over all data sets (and the true value, where there is one), and compares the root
mean square of the stated errors with the standard deviation of the scores.

An interrupted run goes on where it was, see `simulations.py`.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from simulations import Row, column, described, markdown, measure

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.errors import BrainScoreError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.benchmark_helpers.scores.ceilings import geometry_ceiling
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.uncertainty.intervals import half_sample_interval

RESULTS = Path(__file__).parent / "results"
TABLE = RESULTS / "coverage.json"
FIRST_SEED = 1000
"""Estimators were chosen by trial on data sets with lower seeds."""


@dataclass(frozen=True)
class Design:
    """What an experiment is like."""

    n_stimuli: int
    n_neuroids: int
    reliability: float
    shared: float = 0.0  # part of the noise that all neuroids have in common
    n_repetitions: int = 4
    n_subjects: int = 1
    counts: bool = False  # Poisson counts instead of Gaussian noise
    drift: float = 0.0  # standard deviation over repetitions of a level that a whole repetition has, in those of noise


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
}


@dataclass(frozen=True)
class Data:
    """What one experiment measured, and what a model answered."""

    model: NeuroidAssembly  # features
    signal: NeuroidAssembly  # responses without noise: a perfect model
    repetitions: NeuroidAssembly
    measured: NeuroidAssembly  # the mean over repetitions


def simulate(design: Design, seed: int) -> Data:
    """Make the data of one experiment."""
    rng = generator(seed, "coverage")
    n, q, n_features, n_carrying = design.n_stimuli, design.n_neuroids, 40, 10
    features = rng.standard_normal((n, n_features))
    hidden = rng.standard_normal((n, n_carrying))
    weights = rng.standard_normal((2, n_carrying, q)) / np.sqrt(n_carrying)
    signal = np.sqrt(0.6) * features[:, :n_carrying] @ weights[0] + np.sqrt(0.4) * hidden @ weights[1]
    reliability = np.clip(rng.beta(6 * design.reliability, 6 * (1 - design.reliability), q), 0.05, 0.95)
    spread = np.sqrt((1 / reliability - 1) * design.n_repetitions)
    shape = (design.n_repetitions, n, q)
    if design.counts:
        # A mean count of m and a modulation of it by s m give a variance of noise m and of signal (s m)^2.
        mean = 4 / spread**2 / 0.25
        repeated = rng.poisson(np.maximum(mean * (1 + 0.5 * signal), 0), shape).astype(float)
        signal = np.maximum(mean * (1 + 0.5 * signal), 0)
    else:
        noise = np.sqrt(1 - design.shared) * rng.standard_normal(shape)
        noise += np.sqrt(design.shared) * rng.standard_normal((*shape[:2], 1))
        noise += design.drift * rng.standard_normal((design.n_repetitions, 1, q))
        repeated = signal + spread * noise
    return _data(features, signal, repeated, design.n_subjects)


def _data(features: np.ndarray, signal: np.ndarray, repeated: np.ndarray, n_subjects: int) -> Data:
    n_repetitions, n, q = repeated.shape
    stimuli = np.array([f"s{number:03d}" for number in range(n)])
    neuroids = np.array([f"n{number:03d}" for number in range(q)])
    subjects = np.array([f"subject{number}" for number in np.arange(q) % n_subjects])

    def assembly(values: np.ndarray, names: np.ndarray, n_times: int = 1, **more: np.ndarray) -> NeuroidAssembly:
        coords = {
            "stimulus_id": ("presentation", np.tile(stimuli, n_times)),
            "repetition": ("presentation", np.repeat(np.arange(n_times), n)),
            "neuroid_id": ("neuroid", names),
            **{name: ("neuroid", labels) for name, labels in more.items()},
        }
        return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])

    region = np.full(q, "IT")
    repetitions = assembly(repeated.reshape(-1, q), neuroids, n_repetitions, subject=subjects, region=region)
    numbers = np.arange(features.shape[1])
    layers = np.where(numbers < len(numbers) // 2, "conv", "dense")
    return Data(
        assembly(features, np.array([f"f{number:02d}" for number in numbers]), layer=layers),
        assembly(signal, neuroids, subject=subjects, region=region),
        repetitions,
        average_repetition(repetitions),
    )


Estimator = Callable[[Data], Score]


def of_model(name: str) -> Estimator:
    """Score the imperfect model."""
    return lambda data: load_metric(name)(data.model, data.measured)


def ceiled(metric: str, ceiling: str, *, perfect: bool = False) -> Estimator:
    """Score the imperfect model, or the responses without noise, and divide by a ceiling."""
    return lambda data: explained_variance(
        load_metric(metric)(data.signal if perfect else data.model, data.measured),
        load_ceiling(ceiling)(data.repetitions),
    )


def by_halves(name: str) -> Estimator:
    """Score the imperfect model, with the error that halves of the stimuli and neuroids show."""
    return lambda data: half_sample_interval(load_metric(name), data.model, data.measured, n_resamples=40)


def of_ceiling(name: str) -> Estimator:
    """Estimate a ceiling."""
    return lambda data: load_ceiling(name)(data.repetitions)


def ceiled_geometry(metric: str) -> Estimator:
    """Score the imperfect model by a metric of geometry and divide by what the true geometry reaches."""

    def estimate(data: Data) -> Score:
        chosen = load_metric(metric)
        return ceil_score(chosen(data.model, data.measured), geometry_ceiling(chosen, data.repetitions))

    return estimate


def of_repetitions(name: str, *, perfect: bool = False) -> Estimator:
    """Score the imperfect model, or the responses without noise, on the single repetitions."""
    return lambda data: load_metric(name)(data.signal if perfect else data.model, data.repetitions)


_CEILINGS = ("internal_consistency", "noise_ceiling", "predictor_consistency", "rsa_ceiling")
ESTIMATORS: dict[str, tuple[Estimator, float | None]] = {
    **{name: (of_model(name), None) for name in ("ridge", "pls", "cka", "cka_biased", "cka_cv", "rdm", "rdm_cv")},
    **{name: (of_model(name), None) for name in ("one_to_one", "soft_matching", "pls_per_neuron", "banded_ridge")},
    **{name: (of_model(name), None) for name in ("rdm_rho_a", "procrustes")},
    **{name: (of_repetitions(name), None) for name in ("rdm_whitened", "rsa_crossnobis", "cka_noise_corrected")},
    **{name: (of_model(name), None) for name in ("ridge_kfold", "pls_kfold", "ridgecv_kfold")},
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


def estimates(design: str, estimator: str, seed: int) -> Row:
    """Estimate on one data set; what cannot be estimated has no number but a reason."""
    try:
        score = ESTIMATORS[estimator][0](simulate(DESIGNS[design], seed))
    except (BrainScoreError, ValueError) as error:
        return {"reason": f"{type(error).__name__}: {error}"[:200]}
    found = described(score)
    return found if found["error"] is not None else {**found, "reason": _reason(score)}


def _reason(score: Score) -> str:
    return str(score.attrs.get("error_nan_reason", ""))[:200]


def summary(rows: list[Row], truth: float | None) -> Row:
    """Count intervals that hold the mean of the scores (and the true value), and compare errors with their scatter."""
    scores = column(rows, "score")
    scores = scores[np.isfinite(scores)]
    with_interval = [row for row in rows if row.get("low") is not None]
    result: Row = {"n": len(rows), "n_undefined": len(rows) - len(with_interval)}
    if len(scores):
        result.update(mean=float(scores.mean()), sd=float(scores.std(ddof=1)) if len(scores) > 1 else None)
    if not with_interval:
        result["reason"] = next((row["reason"] for row in rows if row.get("reason")), "")
        return result
    low, high, error, of_splits = (column(with_interval, key) for key in ("low", "high", "error", "split_error"))
    result["coverage"] = float(np.mean((low <= scores.mean()) & (scores.mean() <= high)))
    result["error_over_sd"] = float(np.sqrt(np.mean(error**2)) / scores.std(ddof=1))
    of_splits = of_splits[np.isfinite(of_splits)]
    if len(of_splits):
        result["split_error_over_sd"] = float(np.sqrt(np.mean(of_splits**2)) / scores.std(ddof=1))
    if truth is not None:
        result["coverage_of_truth"] = float(np.mean((low <= truth) & (truth <= high)))
        result["bias"] = float(scores.mean() - truth)
    return result


def run(cells: list[tuple[str, str]], n: int, scratch: Path, processes: int) -> dict[str, Row]:
    """Measure what is missing, and summarise all."""
    seeds = range(FIRST_SEED, FIRST_SEED + n)
    rows = measure(estimates, [(*cell, seed) for cell in cells for seed in seeds], scratch, processes)
    return {
        f"{design}: {name}": summary([rows[design, name, seed] for seed in seeds], ESTIMATORS[name][1])
        for design, name in cells
    }


def table(cells: dict[str, Row], designs: list[str], estimators: list[str]) -> str:
    """Return the table of coverages, in brackets error over standard deviation, as Markdown."""
    rows = {name: [_entry(cells.get(f"{design}: {name}")) for design in designs] for name in estimators}
    return markdown(designs, rows)


def _entry(cell: Row | None) -> str:
    if cell is None:
        return ""
    if "coverage" not in cell:
        return "none"
    truth = f"; {cell['coverage_of_truth']:.2f}" if "coverage_of_truth" in cell else ""
    return f"{cell['coverage']:.2f}{truth} ({cell['error_over_sd']:.2f})"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS), metavar="DESIGN")
    parser.add_argument("--estimators", nargs="+", default=list(ESTIMATORS), choices=list(ESTIMATORS), metavar="NAME")
    parser.add_argument("-n", type=int, default=400, help="data sets for each cell")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", type=Path, default=Path("coverage.jsonl"), help="results of single data sets")
    parser.add_argument("--save", action="store_true", help=f"write the summaries to {TABLE}, beside those it has")
    arguments = parser.parse_args()
    cells = [(design, estimator) for estimator in arguments.estimators for design in arguments.designs]
    found = run(cells, arguments.n, arguments.scratch, arguments.processes)
    print(table(found, arguments.designs, arguments.estimators))
    for name, cell in found.items():
        if "coverage" not in cell:
            print(f"{name}: {cell.get('reason')}")
    if arguments.save:
        before = json.loads(TABLE.read_text()) if TABLE.exists() else {}
        TABLE.write_text(json.dumps({**before, **found}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
