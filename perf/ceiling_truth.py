"""Measure how often the interval of the generating model's normalised score holds 1, for pairs of metric and ceiling.

Every case simulates measurements from a known truth under several noise levels and seeds, scores the truth on them, and
asks whether the 95 % interval of the normalised score holds 1. The result is results/ceiling_truth.json; the page
docs/explanation/ceilings quotes it. Identifiers that are not registered are named and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.uncertainty.intervals import half_sample_interval

RESULTS = Path(__file__).parent / "results" / "ceiling_truth.json"
RELIABILITIES = (0.3, 0.6, 0.9)
REGRESSIONS = ("pls", "ridge", "linear_predictivity", "neuron_to_neuron", "ridgecv")
CEILINGS = ("internal_consistency", "noise_ceiling", "predictor_consistency")

Case = Callable[[float, np.random.Generator], Score]


# --- simulated measurements


def responses(
    reliability: float, rng: np.random.Generator, *, n_stimuli: int = 500, n_neuroids: int = 40, n_repetitions: int = 6
) -> tuple[NeuroidAssembly, NeuroidAssembly]:
    """Return the noise-free responses of a population of five dimensions, and repetitions of them with noise.

    The mean over repetitions has about the given reliability.
    """
    signal = rng.standard_normal((n_stimuli, 5)) @ rng.standard_normal((5, n_neuroids))
    noise = signal.std(axis=0) * np.sqrt(n_repetitions * (1 - reliability) / reliability)
    repeated = np.tile(signal, (n_repetitions, 1))
    repeated += noise * rng.standard_normal(repeated.shape)
    return neural(signal), neural(repeated, np.repeat(np.arange(n_repetitions), n_stimuli))


def neural(values: np.ndarray, repetition: np.ndarray | None = None, **coords: Any) -> NeuroidAssembly:
    """Label responses, dims (presentation, neuroid); stimuli repeat in order."""
    n_stimuli = len(values) if repetition is None else int((repetition == repetition[0]).sum())
    stimulus = np.arange(len(values)) % n_stimuli
    presentation: dict[str, Any] = {
        "stimulus_id": ("presentation", [f"s{number:04d}" for number in stimulus]),
        "object_name": ("presentation", [f"object{number % 8}" for number in stimulus]),
    }
    if repetition is not None:
        presentation["repetition"] = ("presentation", repetition)
    neuroid = {
        "neuroid_id": ("neuroid", [f"n{number:03d}" for number in range(values.shape[1])]),
        "region": ("neuroid", ["IT"] * values.shape[1]),
    }
    return NeuroidAssembly(values, coords={**presentation, **neuroid, **coords}, dims=["presentation", "neuroid"])


def answers(correct: np.ndarray) -> BehavioralAssembly:
    """Label right and wrong answers, shape (n_subjects, n_stimuli), as choices between two labels."""
    n_subjects, n_stimuli = correct.shape
    truth = np.tile(np.where(np.arange(n_stimuli) % 2, "dog", "cat"), n_subjects)
    wrong = np.where(truth == "cat", "dog", "cat")
    choices = np.where(correct.reshape(-1), truth, wrong)
    coords: dict[str, Any] = {
        "stimulus_id": ("presentation", [f"s{number:04d}" for number in np.tile(np.arange(n_stimuli), n_subjects)]),
        "truth": ("presentation", truth),
        "subject": ("presentation", np.repeat([f"subject{number}" for number in range(n_subjects)], n_stimuli)),
        "condition": ("presentation", ["all"] * len(truth)),
        "choice": ("presentation", choices),
    }
    return BehavioralAssembly(choices, coords=coords, dims=["presentation"])


# --- cases


def regression(metric: str, ceiling: str) -> Case:
    """Score the noise-free responses on the mean over repetitions: explained_variance."""

    def case(reliability: float, rng: np.random.Generator) -> Score:
        truth, repetitions = responses(reliability, rng)
        raw, top = load_metric(metric)(truth, average_repetition(repetitions)), load_ceiling(ceiling)(repetitions)
        return explained_variance(raw, top)

    return case


def single_subjects(reliability: float, rng: np.random.Generator) -> Score:
    """Correlate a shared response with each of eight subjects; leave_one_subject_out, ceil_score."""
    truth, measured = _subjects(reliability, rng)

    def ceiled(model: Any, people: Any) -> Score:
        each = [
            np.corrcoef(model.values[:, 0], people.values[np.flatnonzero(people["subject"].values == name), 0])[0, 1]
            for name in np.unique(people["subject"].values)
        ]
        raw = Score(float(np.mean(each)))
        raw.attrs["quantity"] = "correlation"
        return ceil_score(raw, load_ceiling("leave_one_subject_out")(people))

    return half_sample_interval(ceiled, truth, measured, over=["presentation"], n_resamples=100)


def mean_subject(reliability: float, rng: np.random.Generator) -> Score:
    """Correlate a shared response with the mean over eight subjects; leave_one_subject_out, explained_variance."""
    truth, measured = _subjects(reliability, rng)

    def ceiled(model: Any, people: Any) -> Score:
        mean = people.values[:, 0].reshape(-1, model.sizes["presentation"]).mean(axis=0)
        raw = Score(float(np.corrcoef(model.values[:, 0], mean)[0, 1]))
        raw.attrs["quantity"] = "correlation"
        return explained_variance(raw, load_ceiling("leave_one_subject_out", scored="mean")(people))

    return half_sample_interval(ceiled, truth, measured, over=["presentation"], n_resamples=100)


def _subjects(reliability: float, rng: np.random.Generator) -> tuple[Any, Any]:
    truth, measured = responses(reliability, rng, n_stimuli=1200, n_neuroids=1, n_repetitions=8)
    names = [f"subject{number}" for number in measured["repetition"].values]
    return truth, neural(measured.values, measured["repetition"].values, subject=("presentation", names))


def error_consistency(reliability: float, rng: np.random.Generator) -> Score:
    """Let a further member of the population of observers be the model: error_consistency, its ceiling, ceil_score."""
    metric = load_metric("error_consistency")
    # Easy and hard stimuli; the closer to 0 and 1 the chances, the more people agree.
    easy = rng.random((1, 800)) < 0.7
    chance = np.where(easy, 0.5 + reliability / 2, 0.5 - reliability / 2)
    correct = rng.random((11, 800)) < chance
    model, people = answers(correct[:1]), answers(correct[1:])
    return half_sample_interval(
        lambda source, target: ceil_score(metric(source, target), metric.ceiling(target)),
        model,
        people,
        over=["presentation", "subject"],
    )


def accuracy(reliability: float, rng: np.random.Generator) -> Score:
    """Let a further member of the population be the model: accuracy, the accuracy of people, ceil_score."""
    metric = load_metric("accuracy")
    chance = np.where(rng.random((1, 800)) < 0.7, 0.5 + reliability / 2, 0.5 - reliability / 2)
    correct = rng.random((11, 800)) < chance
    model, people = answers(correct[:1]), answers(correct[1:])

    def ceiled(source: Any, target: Any) -> Score:
        raw = metric(source["choice"].values, source["truth"].values)
        return ceil_score(raw, metric(target["choice"].values, target["truth"].values))

    return half_sample_interval(ceiled, model, people, over=["presentation"])


def patterns(reliability: float, rng: np.random.Generator) -> Score:
    """Let the chances of an observer in a match-to-sample task be the model: i2n, its ceiling and its ceil_score."""
    metric = load_metric("i2n")
    n_objects, n_images, n_trials = 6, 180, {0.3: 20, 0.6: 60, 0.9: 150}[reliability]
    true = np.arange(n_images) % n_objects
    # Chance of taking a distractor for the object.
    error = 1 / (1 + np.exp(1.0 + 0.8 * rng.standard_normal((n_images, n_objects))))
    image, distractor, _ = (axis.reshape(-1) for axis in np.indices((n_images, n_objects, n_trials)))
    image, distractor = (axis[distractor != true[image]] for axis in (image, distractor))
    chosen = np.where(rng.random(len(image)) < error[image, distractor], distractor, true[image])
    names = np.array([f"object{number}" for number in range(n_objects)])
    trials = BehavioralAssembly(
        names[chosen],
        coords={
            "stimulus_id": ("presentation", [f"s{number:04d}" for number in image]),
            "truth": ("presentation", names[true[image]]),
            "sample_obj": ("presentation", names[true[image]]),
            "dist_obj": ("presentation", names[distractor]),
        },
        dims=["presentation"],
    )
    odds = error / (1 - error)
    odds[np.arange(n_images), true] = 1.0
    model = BehavioralAssembly(
        odds / odds.sum(axis=1, keepdims=True),
        coords={
            "stimulus_id": ("presentation", [f"s{number:04d}" for number in range(n_images)]),
            "truth": ("presentation", names[true]),
            "choice": ("choice", names),
        },
        dims=["presentation", "choice"],
    )
    return half_sample_interval(
        lambda source, target: metric.ceil_score(metric(source, target), metric.ceiling(target, skipna=True)),
        model,
        trials,
        over=["presentation"],
        n_resamples=40,
    )


def crossnobis(reliability: float, rng: np.random.Generator) -> Score:
    """Score the noise-free responses on single repetitions: rsa_crossnobis needs no ceiling."""
    truth, repetitions = responses(reliability, rng, n_stimuli=80, n_neuroids=60, n_repetitions=6)
    return half_sample_interval(
        load_metric("rsa_crossnobis"), truth, repetitions, over=["presentation"], n_resamples=40
    )


def geometry(metric: str) -> Case:
    """Score noise-free dissimilarities on those of six subjects with neuroids of their own: between the bounds."""

    def case(reliability: float, rng: np.random.Generator) -> Score:
        truth, measured = _geometries(reliability, rng)
        subjects = np.unique(measured["subject"].values)
        compare = load_metric(metric)

        def raw(model: Any, brains: Any) -> Score:
            each = [
                float(compare(model, brains.isel(neuroid=np.flatnonzero(brains["subject"].values == name))))
                for name in subjects
            ]
            return Score(float(np.mean(each)))

        bounds = load_ceiling("rsa_ceiling")(measured)
        lower, upper = (float(bounds.attrs[name]) for name in ("lower_bound", "upper_bound"))
        score = half_sample_interval(raw, truth, measured, over=["presentation"], n_resamples=60)
        low, high = score.attrs["interval"]
        result = Score(float(score) / upper)
        # The truth lies between the bounds: at most the upper one, at least the lower one.
        result.attrs["interval"] = (low / upper, high / lower)
        return result

    return case


def _geometries(reliability: float, rng: np.random.Generator, n_stimuli: int = 60) -> tuple[Any, Any]:
    n_subjects, n_neuroids = 6, 60
    latent = rng.standard_normal((n_stimuli, 8))
    signal = latent @ rng.standard_normal((8, n_subjects * n_neuroids))
    noise = signal.std(axis=0) * np.sqrt((1 - reliability) / reliability)
    measured = signal + noise * rng.standard_normal(signal.shape)
    names = np.repeat([f"subject{number}" for number in range(n_subjects)], n_neuroids)
    return neural(signal), neural(measured, subject=("neuroid", names))


def cases() -> Iterator[tuple[str, str, str, Case]]:
    """Yield metric, ceiling, normalisation and what to run."""
    for metric in REGRESSIONS:
        for ceiling in CEILINGS:
            yield metric, ceiling, "explained_variance", regression(metric, ceiling)
    yield "correlation with subjects", "leave_one_subject_out", "ceil_score", single_subjects
    yield "correlation with their mean", "leave_one_subject_out (mean)", "explained_variance", mean_subject
    yield "error_consistency", "its ceiling", "ceil_score", error_consistency
    yield "accuracy", "accuracy of people", "ceil_score", accuracy
    yield "i2n", "its ceiling", "its ceil_score", patterns
    yield "rdm", "rsa_ceiling (between its bounds)", "ceil_score", geometry("rdm")
    yield "rsa_crossnobis", "none needed", "none", crossnobis


def table(results: dict[str, Any]) -> list[str]:
    """Return the rows of the page's table, in Markdown."""
    n = results["n_seeds"]
    rows = [f"| metric | ceiling | {' | '.join(f'reliability {r}' for r in RELIABILITIES)} | intervals that hold 1 |"]
    rows.append("|" + "---|" * (len(RELIABILITIES) + 3))
    for case in results["cases"]:
        levels = [case["reliability"][str(r)] for r in RELIABILITIES]
        cells = [f"{level['mean']:.3f} ({level['held']}/{n})" for level in levels]
        rows.append(f"| {case['metric']} | {case['ceiling']} | {' | '.join(cells)} | {case['held']} of {case['of']} |")
    return rows


def main() -> None:
    """Run the cases, print a row for each and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds (20)")
    parser.add_argument("--only", default="", help="cases whose metric or ceiling contains this text")
    parser.add_argument("--table", action="store_true", help="print the kept results as a table, run nothing")
    options = parser.parse_args()
    if options.table:
        print("\n".join(table(json.loads(RESULTS.read_text()))))
        return
    rows, absent = [], set()
    for metric, ceiling, normalization, case in cases():
        if options.only not in f"{metric} {ceiling}":
            continue
        started = time.process_time()
        try:
            found = [
                [case(r, generator(9000, metric, ceiling, seed)) for seed in range(options.seeds)]
                for r in RELIABILITIES
            ]
        except UnknownIdentifierError as error:
            absent.add(str(error).split(" (")[0])
            continue
        levels = {str(r): _summary(scores) for r, scores in zip(RELIABILITIES, found, strict=True)}
        held = sum(level["held"] for level in levels.values())
        rows.append(
            {"metric": metric, "ceiling": ceiling, "normalization": normalization, "held": held}
            | {"of": options.seeds * len(RELIABILITIES), "reliability": levels}
        )
        text = "  ".join(f"{r}: {level['mean']:.3f} {level['held']}/{options.seeds}" for r, level in levels.items())
        print(f"{metric} x {ceiling}: {text}  ({time.process_time() - started:.0f} s)", flush=True)
    for name in sorted(absent):
        print(f"left out: {name}")
    _keep(rows, options.seeds)


def _keep(rows: list[dict[str, Any]], n_seeds: int) -> None:
    """Write the results; those of other cases with as many seeds stay."""
    order = {(metric, ceiling): number for number, (metric, ceiling, *_) in enumerate(cases())}
    found = {(row["metric"], row["ceiling"]): row for row in rows}
    if RESULTS.exists():
        kept = json.loads(RESULTS.read_text())
        if kept["n_seeds"] == n_seeds:
            found = {(row["metric"], row["ceiling"]): row for row in kept["cases"]} | found
    known = sorted((key for key in found if key in order), key=order.__getitem__)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"n_seeds": n_seeds, "cases": [found[key] for key in known]}, indent=1) + "\n")


def _summary(scores: list[Score]) -> dict[str, Any]:
    held = sum(score.attrs["interval"][0] <= 1 <= score.attrs["interval"][1] for score in scores)
    width = np.mean([score.attrs["interval"][1] - score.attrs["interval"][0] for score in scores])
    values = [float(score) for score in scores]
    return {"held": held, "mean": round(float(np.mean(values)), 4), "interval_width": round(float(width), 4)}


if __name__ == "__main__":
    main()
