"""Measure how often comparisons of models are right on simulated data.

Every experiment has new stimuli and new subjects (or neuroids) and new noise, which all models meet; the models stay
the same. Counted are intervals of 95 % that hold the true difference, families of tests in which no pair is called
different that is not, and intervals of ranks that hold all ranks.

- Means of tables of stimuli by subjects, of five models of which three are equal: from influences, from sketches as
  records keep them, and for averages of two benchmarks on the same stimuli, where also the error of one model on one of
  them is missing and bounded by that of the others.
- Scores by metrics, of four imperfect models of which two are equal: `ridge` and `rdm` of simulated neuroids,
  `error_consistency` of simulated people.
- Copies of one model, by `ridge` and `cka`: rotated, permuted, scaled or in 32 bits, or each with noise of its own.
  Counted are pairs that differ at the level of .05.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import coverage
import coverage_behaviour
import numpy as np
from harness import markdown
from simulations import Row, Simulation

from brainscore_core.metrics import Score
from brainscore_core.statistics.averages import Estimate, combined, with_bounds
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.joint_errors import JointErrors
from brainscore_core.statistics.sketch import InfluenceSketch
from brainscore_core.statistics.tests import Comparison
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays.seeds import generator


@dataclass(frozen=True)
class Design:
    """An experiment whose score is the mean over stimuli and subjects."""

    n_stimuli: int
    n_subjects: int
    shared: float = 1.0  # standard deviation of what all models have in common, of stimuli, of subjects and of cells
    own: float = 0.3  # the same of each model for itself, of stimuli and of subjects
    unequal: float = 1.0  # how many times noisier the last model is than the first
    skewed: bool = False


DESIGNS = {
    "100 x 20": Design(100, 20),
    "few stimuli": Design(15, 20),
    "few subjects": Design(100, 4),
    "both few": Design(15, 5),
    "shared noise": Design(100, 20, shared=3.0, own=0.1),
    "unequal noise": Design(100, 20, unequal=5.0),
    "skewed": Design(40, 10, skewed=True),
}
TRUTH = np.array([0.0, 0.0, 0.0, 0.25, 0.5])

METRIC_DESIGNS = {
    "ridge": ("A", "C"), "rdm": ("A", "5 objects"), "cka": ("5 objects",), "error_consistency": ("A", "B", "C"),
}  # fmt: skip
COPIES = {
    f"A: {metric} copies, noise {noise:g}": (metric, noise)
    for metric in ("ridge", "cka")
    for noise in (0, 1e-7, 1e-5, 1e-3, 1e-1)
}  # noise is in standard deviations of each feature
EQUAL = ((0, 1),)  # models of these that are equal but for chance


def tables(design: Design, rng: np.random.Generator, n_benchmarks: int = 1) -> list[np.ndarray]:
    """Return the answers of all models on benchmarks with the same stimuli and other subjects.

    Each has shape (n_models, n_stimuli, n_subjects).
    """
    n, q, n_models = design.n_stimuli, design.n_subjects, len(TRUTH)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_exponential(shape) - 1 if design.skewed else rng.standard_normal(shape)

    spread = np.geomspace(1, design.unequal, n_models)[:, None, None]
    of_stimuli = design.shared * draw(n, 1) + design.own * spread * draw(n_models, n, 1)
    answers = []
    for _ in range(n_benchmarks):
        common = design.shared * (draw(1, q) + draw(n, q))
        own = spread * (design.own * draw(n_models, 1, q) + draw(n_models, n, q))
        answers.append(TRUTH[:, None, None] + of_stimuli + common + own)
    return answers


def estimates(table: np.ndarray, units: str, *, are_sketched: bool = True) -> list[Estimate]:
    """Return the scores of all models, with influences or as their records keep them."""
    n, q = table.shape[1:]
    scores = []
    for answers in table:
        influence = Influence.of_mean(answers, np.arange(n), np.arange(q), "subject")
        score = Estimate(float(answers.mean()), influence.error, df=influence.degrees_of_freedom, influence=influence)
        scores.append(sketched(score, units) if are_sketched else score)
    return scores


def sketched(score: Estimate, units: str = "") -> Estimate:
    """Return a score with its influences as its record keeps them."""
    sketch = InfluenceSketch.from_text(InfluenceSketch.of(score.influence, stimuli="", units=units).to_text())
    return replace(score, influence=sketch * (score.error / sketch.error))


def of_estimates(scores: Sequence[Estimate]) -> Comparison:
    return Comparison(np.array([score.value for score in scores]), JointErrors.of_estimates(scores))


def estimate_of(score: Score) -> Estimate:
    """Return value, error and influences of a score with influences."""
    influence = score.attrs["influence"]
    return Estimate(float(score), score.attrs["error"], df=influence.degrees_of_freedom, influence=influence)


def of_scores(scores: Iterable[Score]) -> Comparison:
    return of_estimates([estimate_of(score) for score in scores])


def of_averages(first: np.ndarray, second: np.ndarray, *, without_error: int | None = None) -> Comparison:
    of_first = estimates(first, "first")
    if without_error is not None:
        of_first[without_error] = replace(of_first[without_error], error=np.nan)
    pairs = zip(with_bounds(of_first), estimates(second, "second"), strict=True)
    weights = {"first": 0.5, "second": 0.5}
    return of_estimates([combined(dict(zip(weights, pair, strict=True)), weights) for pair in pairs])


ESTIMATORS = {
    "means": lambda design, rng: of_estimates(estimates(tables(design, rng)[0], "", are_sketched=False)),
    "sketches": lambda design, rng: of_estimates(estimates(tables(design, rng)[0], "")),
    "averages": lambda design, rng: of_averages(*tables(design, rng, 2)),
    "bounded": lambda design, rng: of_averages(*tables(design, rng, 2), without_error=int(rng.integers(len(TRUTH)))),
}


def of_neuroids(metric: str, design: str, seed: int) -> Comparison:
    """Compare models with six, other six, all ten and three of the features that carry signal."""
    data = coverage.simulate(coverage.DESIGNS[design], seed)
    noise = range(10, data.model.sizes["neuroid"])
    subsets = (range(6), range(4, 10), range(10), range(3))
    scores = (load_metric(metric)(data.model[:, [*subset, *noise]], data.measured) for subset in subsets)
    return of_scores(coverage.over_objects(score, coverage.DESIGNS[design]) for score in scores)


def of_copies(metric: str, noise: float, seed: int) -> Row:
    """Return p values of two copies of a model, by influences and by sketches, and their scores and errors."""
    data, rng = coverage.simulate(coverage.DESIGNS["A"], seed), generator(seed, "copies", metric, str(noise))
    model = data.model
    if noise:
        spread = model.values.std(axis=0)
        copies = [model.copy(data=model + noise * spread * rng.standard_normal(model.shape)) for _ in range(2)]
    else:
        n = model.sizes["neuroid"]
        rotation = np.linalg.qr(rng.standard_normal((n, n)))[0]
        kinds = (
            lambda: model.copy(data=model.values @ rotation),
            lambda: model[:, rng.permutation(n)],
            lambda: model * 1.0000001,
            lambda: model.astype(np.float32),
        )
        copies = [model, kinds[seed % len(kinds)]()]
    scores = [estimate_of(load_metric(metric)(copy, data.measured)) for copy in copies]
    exact, recorded = of_estimates(scores), of_estimates([sketched(score) for score in scores])
    return {
        "exact": float(exact.p[0, 1]),
        "recorded": float(recorded.p[0, 1]),
        "gap": abs(float(exact.differences[0, 1])),
        "error": scores[0].error,
    }


def of_people(metric: str, design: str, seed: int) -> Comparison:
    """Compare models whose errors have more or less to do with what people find hard."""
    chosen, rng = coverage_behaviour.DESIGNS[design], generator(seed, "comparison", metric, design)
    shape = chosen.n_subjects, chosen.n_stimuli
    hard = 0.8 * rng.standard_normal(chosen.n_stimuli)
    ability = chosen.level + 0.3 * rng.standard_normal((chosen.n_subjects, 1))
    right = ability + hard + 0.8 * rng.standard_normal(shape) > 0
    judged = rng.random(shape) < chosen.part
    judged[0] |= ~judged.any(axis=0)  # so that each stimulus has an answer
    people, scores = coverage_behaviour.choices_of(right, judged), []
    for slope in (0.6, 0.6, 1.0, 0.2):
        answers = slope * hard + np.sqrt(0.64 + 0.64 * (0.36 - slope**2)) * rng.standard_normal(len(hard))
        model = coverage_behaviour.choices_of((answers + chosen.level > 0)[None], people=False)
        scores.append(load_metric(metric)(model, people))
    return of_scores(scores)


def estimate(cell: str, seed: int) -> Row:
    if cell in COPIES:
        return of_copies(*COPIES[cell], seed)
    design, estimator = cell.split(": ")
    if estimator in METRIC_DESIGNS:
        compare = of_people if estimator == "error_consistency" else of_neuroids
        compared = compare(estimator, design, seed)
    else:
        compared = ESTIMATORS[estimator](DESIGNS[design], generator(seed, "comparison", design))
    return {
        "scores": compared.scores.tolist(),
        "margins": compared.margins.tolist(),
        "errors": compared.joint.pair_errors.tolist(),
        "differs": compared.differs.tolist(),
        "ranks": compared.rank_intervals().tolist(),
    }


def summary(cell: str, rows: Sequence[Row]) -> Row:
    """Count what holds. The truth is the true scores, or the mean over the experiments, equal for `EQUAL` models.

    Returns
    -------
    dict of str to float
        Shares of the experiments (of pairs, where there are several): ``interval``, ``tests``, ``ranks``; ``power``,
        the share of differing pairs that are called different the right way; and ``error``, the root mean square of
        stated errors over the standard deviation of differences. Of copies the shares that differ, ``exact`` and
        ``recorded``, and ``gap``, the root mean square of the differences over that of the errors of scores.
    """
    if cell in COPIES:
        of = {name: np.array([row[name] for row in rows]) for name in ("exact", "recorded", "gap", "error")}
        shares = {name: float((of[name] < 0.05).mean()) for name in ("exact", "recorded")}
        return {**shares, "gap": float(np.sqrt((of["gap"] ** 2).mean() / (of["error"] ** 2).mean()))}
    names = ("scores", "margins", "errors", "differs", "ranks")
    stacked = {name: np.array([row[name] for row in rows], dtype=float) for name in names}
    scores, truth = stacked["scores"], TRUTH
    if cell.split(": ")[1] in METRIC_DESIGNS:
        truth = scores.mean(axis=0)
        for pair in EQUAL:
            truth[list(pair)] = truth[list(pair)].mean()
    upper = np.triu_indices(len(truth), 1)
    gaps, true_gaps = scores[:, :, None] - scores[:, None], truth[:, None] - truth
    held = np.abs(gaps - true_gaps) <= stacked["margins"]
    wrong = (stacked["differs"] > 0) & ((true_gaps == 0) | (gaps * true_gaps < 0))
    found = (stacked["differs"] > 0) & (gaps * true_gaps > 0)
    best, worst = 1 + (true_gaps < 0).sum(axis=1), (true_gaps <= 0).sum(axis=1)  # of equal models, in any order
    ranks = (stacked["ranks"][..., 0] <= best) & (worst <= stacked["ranks"][..., 1])
    spread = gaps.std(axis=0, ddof=1)[upper]
    return {
        "interval": float(held[:, upper[0], upper[1]].mean()),
        "tests": float(1 - wrong.any(axis=(1, 2)).mean()),
        "power": float(found[:, true_gaps != 0].mean()),
        "ranks": float(ranks.all(axis=1).mean()),
        "error": float((np.sqrt((stacked["errors"] ** 2).mean(axis=0)[upper]) / spread).mean()),
    }


SHOWN = (
    ("interval of a difference", "means", "interval"),
    ("the same, from sketches", "sketches", "interval"),
    ("the same, of averages of two benchmarks", "averages", "interval"),
    ("the same, one error bounded", "bounded", "interval"),
    ("no false difference of all pairs (Holm)", "means", "tests"),
    ("the same, of averages of two benchmarks", "averages", "tests"),
    ("true differences of .25 or .5 found", "means", "power"),
    ("the same, of averages of two benchmarks", "averages", "power"),
    ("intervals of all ranks", "means", "ranks"),
)
SHOWN_OF_COPIES = (
    ("`{}`: differ, by influences", "exact", ".3f"),
    ("`{}`: differ, from records", "recorded", ".3f"),
    ("`{}`: difference / error of a score", "gap", ".1e"),
)
SHOWN_OF_METRICS = {"interval": "interval", "no false difference": "tests", "all ranks": "ranks"}


def table(results: Mapping[str, Mapping[str, float]], name: str = "means") -> str:
    """Return a table of the page: means of stimuli by subjects, scores by "metrics", or "copies"."""

    def entry(design: str, estimator: str, key: str) -> str:
        cell = results.get(f"{design}: {estimator}")
        ratio = f" ({cell['error']:.2f})" if cell and key == "interval" else ""
        return f"{cell[key]:.3f}{ratio}" if cell else "-"

    if name == "means":
        rows = ([text, *(entry(design, estimator, key) for design in DESIGNS)] for text, estimator, key in SHOWN)
        return markdown(["", *DESIGNS], rows)
    if name == "copies":
        noises = list(dict.fromkeys(noise for _, noise in COPIES.values()))
        of = {COPIES[cell]: results[cell] for cell in COPIES if cell in results}
        rows = (
            [
                text.format(metric),
                *(f"{of[metric, noise][key]:{form}}" if (metric, noise) in of else "-" for noise in noises),
            ]
            for metric in dict.fromkeys(metric for metric, _ in COPIES.values())
            for text, key, form in SHOWN_OF_COPIES
        )
        return markdown(["noise of each copy", *(f"{noise:g}" for noise in noises)], rows)
    cells = ((metric, design) for metric, designs in METRIC_DESIGNS.items() for design in designs)
    rows = (
        [f"{metric}, {design}", *(entry(design, metric, key) for key in SHOWN_OF_METRICS.values())]
        for metric, design in cells
    )
    return markdown(["", *SHOWN_OF_METRICS], rows)


SIMULATION = Simulation(
    "comparison",
    {
        **{f"{design}: {name}": 1000 for name in ESTIMATORS for design in DESIGNS},
        **{f"{design}: {metric}": 200 for metric, designs in METRIC_DESIGNS.items() for design in designs},
        **dict.fromkeys(COPIES, 400),
    },
    estimate,
    summary,
    table,
    first_seed=1000,
    tables=("means", "metrics", "copies"),
)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
