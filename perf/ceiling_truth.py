"""Measure how often the interval of the generating model's normalised score holds 1, for pairs of metric and ceiling.

Every case simulates measurements from a known truth under several noise levels and seeds, scores the truth on them, and
asks whether the 95 % interval of the normalised score holds 1. The page docs/explanation/ceilings shows the result.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from coverage_behaviour import choices_of, match_to_sample
from harness import markdown
from simulations import Row, Simulation, column, described, labelled

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import mean_over_units
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.metric_helpers.arrays.seeds import generator
from brainscore_vision.metric_helpers.uncertainty.intervals import half_sample_interval

RELIABILITIES = (0.3, 0.6, 0.9)
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
    return neural(signal, n_stimuli), neural(repeated, n_stimuli)


def neural(values: np.ndarray, n_stimuli: int, **coords: object) -> NeuroidAssembly:
    """Label responses to stimuli of eight objects."""
    objects = [f"object{number % n_stimuli % 8}" for number in range(len(values))]
    return labelled(values, n_stimuli, object_name=objects, **coords)


def people_and_model(reliability: float, rng: np.random.Generator) -> tuple[BehavioralAssembly, BehavioralAssembly]:
    """Return the choices of one member of a population of observers, the model, and of ten others.

    Stimuli are easy or hard; the closer to 0 and 1 the chances, the more people agree.
    """
    chance = np.where(rng.random((1, 800)) < 0.7, 0.5 + reliability / 2, 0.5 - reliability / 2)
    correct = rng.random((11, 800)) < chance
    return choices_of(correct[:1]), choices_of(correct[1:])


# --- cases


def regression(metric: str, ceiling: str, reliability: float, rng: np.random.Generator) -> Score:
    """Score the noise-free responses on the mean over repetitions: explained_variance."""
    truth, repetitions = responses(reliability, rng)
    raw, top = load_metric(metric)(truth, average_repetition(repetitions)), load_ceiling(ceiling)(repetitions)
    return explained_variance(raw, top)


def shared_response(with_mean: bool, reliability: float, rng: np.random.Generator) -> Score:
    """Correlate a shared response with each of eight subjects, or with their mean: leave_one_subject_out."""
    truth, measured = responses(reliability, rng, n_stimuli=1200, n_neuroids=1, n_repetitions=8)
    names = [f"subject{number}" for number in measured["repetition"].values]
    measured = neural(measured.values, 1200, subject=names)

    def ceiled(model: NeuroidAssembly, people: NeuroidAssembly) -> Score:
        n = model.sizes["presentation"]
        columns = people.values[np.argsort(people["subject"].values, kind="stable"), 0].reshape(-1, n)
        columns = columns.mean(axis=0, keepdims=True) if with_mean else columns
        raw = Score(float(np.mean([np.corrcoef(model.values[:, 0], one)[0, 1] for one in columns])))
        raw.attrs["quantity"] = "correlation"
        if with_mean:
            return explained_variance(raw, load_ceiling("leave_one_subject_out", scored="mean")(people))
        return ceil_score(raw, load_ceiling("leave_one_subject_out")(people))

    return half_sample_interval(ceiled, truth, measured, n_resamples=100)


def error_consistency(reliability: float, rng: np.random.Generator) -> Score:
    """Let a further member of the population of observers be the model: error_consistency, its ceiling, ceil_score."""
    metric = load_metric("error_consistency")
    model, people = people_and_model(reliability, rng)
    return ceil_score(metric(model, people), metric.ceiling(people))


def accuracy(reliability: float, rng: np.random.Generator) -> Score:
    def share(answers: BehavioralAssembly) -> Score:
        return load_metric("accuracy")(answers.values, answers["truth"].values)

    return half_sample_interval(
        lambda source, target: ceil_score(share(source), share(target)),
        *people_and_model(reliability, rng),
    )


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
    odds = error / (1 - error)
    odds[np.arange(n_images), true] = 1.0
    return half_sample_interval(
        lambda source, target: metric.ceil_score(metric(source, target), metric.ceiling(target, skipna=True)),
        *match_to_sample(odds, true, image, distractor, chosen),
        n_resamples=40,
    )


def crossnobis(reliability: float, rng: np.random.Generator) -> Score:
    """Score the noise-free responses on single repetitions: rsa_crossnobis needs no ceiling."""
    truth, repetitions = responses(reliability, rng, n_stimuli=80, n_neuroids=60, n_repetitions=6)
    return load_metric("rsa_crossnobis")(truth, repetitions)


def geometry(reliability: float, rng: np.random.Generator) -> Score:
    """Score noise-free dissimilarities on those of six subjects with neuroids of their own: between the bounds."""
    n_stimuli, n_subjects, n_neuroids = 60, 6, 60
    signal = rng.standard_normal((n_stimuli, 8)) @ rng.standard_normal((8, n_subjects * n_neuroids))
    noise = signal.std(axis=0) * np.sqrt((1 - reliability) / reliability)
    names = np.repeat([f"subject{number}" for number in range(n_subjects)], n_neuroids)
    measured = neural(signal + noise * rng.standard_normal(signal.shape), n_stimuli, subject=("neuroid", names))
    model, bounds = neural(signal, n_stimuli), load_ceiling("rsa_ceiling")(measured)
    lower, upper = (float(bounds.attrs[name]) for name in ("lower_bound", "upper_bound"))
    score = mean_over_units(
        {
            str(name): load_metric("rdm")(model, measured.isel(neuroid=np.flatnonzero(names == name)))
            for name in np.unique(names)
        }
    )
    low, high = score.attrs["interval"]
    result = Score(float(score) / upper)
    # The truth lies between the bounds: at most the upper one, at least the lower one.
    result.attrs["interval"] = (low / upper, high / lower)
    return result


CASES: dict[tuple[str, str], Case] = {
    **{
        (metric, ceiling): partial(regression, metric, ceiling)
        for metric in ("pls", "ridge", "linear_predictivity", "neuron_to_neuron", "ridgecv")
        for ceiling in ("internal_consistency", "noise_ceiling", "predictor_consistency")
    },
    ("correlation with subjects", "leave_one_subject_out"): partial(shared_response, False),
    ("correlation with their mean", "leave_one_subject_out (mean)"): partial(shared_response, True),
    ("error_consistency", "its ceiling"): error_consistency,
    ("accuracy", "accuracy of people"): accuracy,
    ("i2n", "its ceiling"): patterns,
    ("rdm", "rsa_ceiling (between its bounds)"): geometry,
    ("rsa_crossnobis", "none needed"): crossnobis,
}
CELLS = {
    f"{metric} / {ceiling}: {reliability}": (metric, ceiling, reliability)
    for metric, ceiling in CASES
    for reliability in RELIABILITIES
}


def estimate(cell: str, seed: int) -> Row:
    metric, ceiling, reliability = CELLS[cell]
    return described(CASES[metric, ceiling](reliability, generator(9000, metric, ceiling, seed)))


def summary(_cell: str, rows: Sequence[Row]) -> Row:
    """Count intervals that hold 1, and average scores and widths of intervals."""
    scores, low, high = (column(rows, name) for name in ("score", "low", "high"))
    widths = {"mean": round(float(scores.mean()), 4), "interval_width": round(float((high - low).mean()), 4)}
    return {"held": int(((low <= 1) & (high >= 1)).sum()), **widths}


def table(results: Mapping[str, Row]) -> str:
    rows = []
    for metric, ceiling in CASES:
        levels = [results[f"{metric} / {ceiling}: {reliability}"] for reliability in RELIABILITIES]
        cells = [f"{level['mean']:.3f} ({level['held']}/{level['n']})" for level in levels]
        held, n = (sum(level[name] for level in levels) for name in ("held", "n"))
        rows.append([metric, ceiling, *cells, f"{held} of {n}"])
    levels = [f"reliability {reliability}" for reliability in RELIABILITIES]
    return markdown(["metric", "ceiling", *levels, "intervals that hold 1"], rows)


SIMULATION = Simulation("ceiling_truth", dict.fromkeys(CELLS, 20), estimate, summary, table)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
