"""Measure how often the intervals of behavioural metrics and ceilings hold what they are intervals of.

Every data set has new stimuli, and new people who answer to them; the model, a function of the stimulus, stays. An
interval of 95 % should hold the mean of the estimator over data sets in 95 % of them, and ``error`` should be its
standard deviation: the table gives the share, and the root mean square of the errors over that deviation. The result is
results/coverage_behaviour.json; cells that are there already are kept, `--again` computes them anew. An interrupted run
goes on where it was, see `simulations.py`.

    python perf/coverage_behaviour.py --workers 2
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr
from simulations import Row, column, described, markdown, measure

from brainscore_core.benchmarks import ceil_score
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    NeuroidAssembly,
    PropertyAssembly,
)
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.seeds import generator

RESULTS = Path(__file__).parent / "results" / "coverage_behaviour.json"


@dataclass(frozen=True)
class Design:
    """How many answer to how many stimuli, and how well."""

    n_subjects: int
    n_stimuli: int
    level: float = 0.7  # mean share of right answers is the normal distribution function of it
    part: float = 1.0  # of the stimuli that each subject judges


DESIGNS = {
    "A": Design(10, 200),
    "B": Design(5, 100),
    "C": Design(30, 60),
    "D": Design(20, 200, part=0.4),
    "E": Design(10, 200, level=1.6),
}
Case = Callable[[Design, np.random.Generator], Score]


# --- simulated answers


def observers(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return who is right: the model, shape (n_stimuli,); people and who judged, shape (n_subjects, n_stimuli).

    Stimuli are hard for all, for the model and people apart, and for single people; people differ in ability.
    """
    shape = design.n_subjects, design.n_stimuli
    hard = 0.8 * rng.standard_normal(design.n_stimuli)
    model = 0.6 * hard + 0.8 * rng.standard_normal(design.n_stimuli) + design.level > 0
    ability = design.level + 0.3 * rng.standard_normal((design.n_subjects, 1))
    people = ability + hard + 0.8 * rng.standard_normal(shape) > 0
    return model, people, rng.random(shape) < design.part


def answers(right: np.ndarray, judged: np.ndarray) -> BehavioralAssembly:
    """Label right and wrong answers, shape (n_subjects, n_stimuli), as choices between two labels."""
    subject, stimulus = np.nonzero(judged)
    truth = np.where(stimulus % 2, "dog", "cat")
    choices = np.where(right[subject, stimulus], truth, np.where(truth == "cat", "dog", "cat"))
    coords = {
        "stimulus_id": ("presentation", [f"s{number:04d}" for number in stimulus]),
        "truth": ("presentation", truth),
        "subject": ("presentation", [f"p{number:03d}" for number in subject]),
    }
    return BehavioralAssembly(choices, coords=coords, dims=["presentation"])


def both(design: Design, rng: np.random.Generator) -> tuple[BehavioralAssembly, BehavioralAssembly]:
    """Return the answers of the model, to what anybody judged, and of people."""
    model, people, judged = observers(design, rng)
    shown = judged.any(axis=0)
    source = answers(model[None], shown[None]).drop_vars(["subject"])
    return BehavioralAssembly(source), answers(people, judged)


# --- cases


def agreement(identifier: str, design: Design, rng: np.random.Generator) -> Score:
    """Compare the model with people."""
    return load_metric(identifier)(*both(design, rng))


def agreement_ceiling(identifier: str, design: Design, rng: np.random.Generator) -> Score:
    """Compare people with each other."""
    return load_metric(identifier).ceiling(both(design, rng)[1])


def agreement_ceiled(identifier: str, design: Design, rng: np.random.Generator) -> Score:
    """Divide the agreement of the model with people by that between people."""
    metric, (source, target) = load_metric(identifier), both(design, rng)
    return ceil_score(metric(source, target), metric.ceiling(target))


def accuracy(design: Design, rng: np.random.Generator) -> Score:
    """Return how often the model is right."""
    source, _ = both(design, rng)
    return load_metric("accuracy")(source, _true_labels(source))


def accuracy_of_people(design: Design, rng: np.random.Generator) -> Score:
    """Return how often people are right, each answer a presentation."""
    _, people = both(design, rng)
    return load_metric("accuracy")(people.values, _true_labels(people))


def _true_labels(assembly: BehavioralAssembly) -> BehavioralAssembly:
    return assembly.copy(data=assembly["truth"].values)


def matching(design: Design, rng: np.random.Generator) -> tuple[BehavioralAssembly, BehavioralAssembly]:
    """Return what a model believes of each image, and the trials of people, who choose one of two of five objects.

    Each subject sees each image once with each distractor; a sixth of these trials are missing by chance.
    """
    n_objects, n_images = 5, design.n_stimuli
    truth = np.arange(n_images) % n_objects
    objects = 0.5 * rng.standard_normal((n_objects, n_objects))[truth]
    logits = objects + 1.2 * rng.standard_normal((n_images, n_objects))
    subject, image, distractor = (axis.reshape(-1) for axis in np.indices((design.n_subjects, n_images, n_objects)))
    kept = (distractor != truth[image]) & (rng.random(len(image)) < design.part * 5 / 6)
    subject, image, distractor = subject[kept], image[kept], distractor[kept]
    ability = design.level + 0.3 * rng.standard_normal(design.n_subjects)
    wrong = 1 / (1 + np.exp(ability[subject] - logits[image, distractor] + 0.5 * rng.standard_normal(len(image))))
    names = np.array([f"object{number}" for number in range(n_objects)])
    ids = np.array([f"s{number:04d}" for number in range(n_images)])
    coords = {
        "stimulus_id": ids[image],
        "truth": names[truth[image]],
        "sample_obj": names[truth[image]],
        "dist_obj": names[distractor],
        "subject": np.array([f"p{number:03d}" for number in subject]),
    }
    chosen = names[np.where(rng.random(len(image)) < wrong, distractor, truth[image])]
    trials = BehavioralAssembly(
        chosen, coords={name: ("presentation", values) for name, values in coords.items()}, dims=["presentation"]
    )
    believed = logits + 0.8 * rng.standard_normal(logits.shape)
    believed[np.arange(n_images), truth] = design.level
    odds = np.exp(believed)
    model = BehavioralAssembly(
        odds / odds.sum(axis=1, keepdims=True),
        coords={
            "stimulus_id": ("presentation", ids),
            "n": ("presentation", np.arange(n_images)),
            "choice": ("choice", names),
        },
        dims=["presentation", "choice"],
    )
    return model, trials


def patterns(identifier: str, what: str, design: Design, rng: np.random.Generator) -> Score:
    """Correlate patterns of confusions: the raw score, its ceiling, or one normalised by the other."""
    metric = load_metric(identifier)
    source, target = matching(design, rng)
    if what == "ceiling":
        return metric.ceiling(target, skipna=True)
    score = metric(source, target)
    return score if what == "raw" else metric.ceil_score(score, metric.ceiling(target, skipna=True))


def thresholds(design: Design, rng: np.random.Generator) -> tuple[BehavioralAssembly, PropertyAssembly]:
    """Return what a model answers, three times to each stimulus of ten strengths, and thresholds of people."""
    n_each = max(6, design.n_stimuli // 10)
    strength = np.repeat(np.linspace(5, 95, 10), n_each)
    own = 0.4 * rng.standard_normal(len(strength))  # some stimuli are harder than others of their strength
    stimulus = np.repeat(np.arange(len(strength)), 3)
    right = rng.random(len(stimulus)) < 0.5 + 0.45 * ndtr(0.06 * (strength - 45) + own)[stimulus]
    left = (stimulus % 2 == 0) == right
    coords = {
        "stimulus_id": ("presentation", [f"s{number:04d}" for number in stimulus]),
        "strength": ("presentation", strength[stimulus]),
        "image_label": ("presentation", np.where(stimulus % 2, "right", "left")),
        "choice": ("choice", ["left", "right"]),
    }
    model = BehavioralAssembly(np.column_stack([left, ~left]) + 0.1, coords=coords, dims=["presentation", "choice"])
    values = 40 * np.exp(0.3 * rng.standard_normal(design.n_subjects))
    names = [f"p{number:03d}" for number in range(design.n_subjects)]
    people = PropertyAssembly(
        values, coords={"subject": ("subject", names), "n": ("subject", range(len(names)))}, dims=["subject"]
    )
    return model, people


def threshold(design: Design, rng: np.random.Generator) -> Score:
    """Compare the threshold of a model with those of people."""
    return load_metric("threshold", independent_variable="strength", threshold_accuracy=0.75)(*thresholds(design, rng))


def threshold_ceiling(design: Design, rng: np.random.Generator) -> Score:
    """Compare the thresholds of people with each other."""
    return load_metric("threshold", independent_variable="strength").ceiling(thresholds(design, rng)[1])


def value_delta(design: Design, rng: np.random.Generator) -> Score:
    """Compare the accuracy of the model with that of people, both with their errors."""
    return load_metric("value_delta", scale=3.0)(accuracy(design, rng), accuracy_of_people(design, rng))


def between_people(design: Design, rng: np.random.Generator) -> Score:
    """Correlate ratings of people, of which a part is shared, with those of the others."""
    shape = design.n_subjects, design.n_stimuli
    ratings = rng.standard_normal(design.n_stimuli) + 1.5 * rng.standard_normal(shape)
    subject, stimulus = np.nonzero(rng.random(shape) < design.part)
    coords = {
        "stimulus_id": ("presentation", [f"s{number:04d}" for number in stimulus]),
        "subject": ("presentation", [f"p{number:03d}" for number in subject]),
    }
    given = BehavioralAssembly(ratings[subject, stimulus], coords=coords, dims=["presentation"])
    return load_ceiling("leave_one_subject_out")(given)


def several_ratings(design: Design, rng: np.random.Generator) -> Score:
    """Correlate ten ratings of each stimulus, some harder than others, with those of other people."""
    n, q = design.n_stimuli, 10
    shape = design.n_subjects, n, q
    truth = np.sqrt([0.3, 0.7])
    ratings = truth[0] * rng.standard_normal((n, 1)) + truth[1] * rng.standard_normal((n, q))
    own = truth[0] * rng.standard_normal((*shape[:2], 1)) + truth[1] * rng.standard_normal(shape)
    ability = np.exp(0.3 * rng.standard_normal((design.n_subjects, 1, 1)))
    ratings = ratings + rng.uniform(0.6, 2.0, q) * ability * own
    subject, stimulus = np.nonzero(rng.random(shape[:2]) < design.part)
    coords = {
        "stimulus_id": ("presentation", [f"s{number:04d}" for number in stimulus]),
        "subject": ("presentation", [f"p{number:03d}" for number in subject]),
        "neuroid_id": ("neuroid", [f"rating{number}" for number in range(q)]),
        "region": ("neuroid", ["none"] * q),
    }
    given = NeuroidAssembly(ratings[subject, stimulus], coords=coords, dims=["presentation", "neuroid"])
    return load_ceiling("leave_one_subject_out")(given)


CASES: dict[str, Case] = {
    "leave_one_subject_out": between_people,
    "leave_one_subject_out, ten variables": several_ratings,
    **{
        f"{name} {what}": partial(patterns, name, what)
        for name in ("i1", "i2n")
        for what in ("raw", "ceiling", "ceiled")
    },
    "threshold": threshold,
    "threshold ceiling": threshold_ceiling,
    "value_delta": value_delta,
    "accuracy": accuracy,
    "accuracy of people": accuracy_of_people,
    "error_consistency": partial(agreement, "error_consistency"),
    "error_consistency ceiling": partial(agreement_ceiling, "error_consistency"),
    "error_consistency ceiled": partial(agreement_ceiled, "error_consistency"),
    "accuracy_distance": partial(agreement, "accuracy_distance"),
    "accuracy_distance ceiling": partial(agreement_ceiling, "accuracy_distance"),
    "accuracy_distance ceiled": partial(agreement_ceiled, "accuracy_distance"),
}


MOST_SETS = {"threshold": 100}  # its functions are fitted twenty times for a data set


# --- coverage


def estimates(design: str, case: str, seed: int) -> Row:
    """Estimate on one data set."""
    return described(CASES[case](DESIGNS[design], generator(seed, "coverage", case, design)))


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how often the interval holds the mean of the estimator, and how large its errors are.

    Returns
    -------
    dict
        ``held`` (share of the sets that have an interval), ``ratio`` (root mean square of errors over the standard
        deviation of the estimator), ``mean`` and ``sd`` of the estimator, ``n_sets``, ``n_without`` (sets without an
        interval).
    """
    defined = [row for row in rows if row["score"] is not None]
    score, error, low, high = (column(defined, name) for name in ("score", "error", "low", "high"))
    mean, given = score.mean(), np.isfinite(low)
    held = (low <= mean) & (mean <= high)
    sd = score.std(ddof=1)
    return {
        "held": round(float(held[given].mean()), 3) if given.any() else None,
        "ratio": round(float(np.sqrt(np.nanmean(error**2)) / sd), 3),
        "mean": round(float(mean), 4),
        "sd": round(float(sd), 4),
        "n_sets": len(rows),
        "n_without": int((~given).sum()),
    }


def table(cells: dict[str, Any]) -> str:
    """Return the results as the page about uncertainty shows them."""
    found = {case: [cells.get(case, {}).get(design) for design in DESIGNS] for case in CASES}
    return markdown(
        DESIGNS,
        {
            case: [f"{each['held']:.2f} ({each['ratio']:.2f})" if each else "not measured" for each in row]
            for case, row in found.items()
        },
    )


def main() -> None:
    """Compute the cells that are missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES), metavar="CASE")
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--scratch", type=Path, default=Path("coverage_behaviour.jsonl"), help="single data sets")
    given = parser.parse_args()
    cells = json.loads(given.out.read_text())["cells"] if given.out.exists() else {}
    sizes = {
        (design, case): min(given.sets, MOST_SETS.get(case, given.sets))
        for case in given.cases
        for design in given.designs
    }
    if given.again:
        given.scratch.unlink(missing_ok=True)
    else:
        sizes = {
            (design, case): n_sets
            for (design, case), n_sets in sizes.items()
            if cells.get(case, {}).get(design, {}).get("n_sets") != n_sets
        }
    tasks = [(*cell, seed) for cell, n_sets in sizes.items() for seed in range(n_sets)]
    rows = measure(estimates, tasks, given.scratch, given.workers)
    for (design, case), n_sets in sizes.items():
        cells.setdefault(case, {})[design] = summary([rows[design, case, seed] for seed in range(n_sets)])
    if sizes:
        designs = {name: asdict(each) for name, each in DESIGNS.items()}
        given.out.write_text(json.dumps({"designs": designs, "cells": cells}, indent=1) + "\n")
    print(table(cells))


if __name__ == "__main__":
    main()
