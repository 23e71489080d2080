"""Measure what the true geometry scores by metrics that correct for noise, for few stimuli and low reliability.

The responses without noise of simulated neuroids (see `coverage.py`; 40 of them, four repetitions) are scored on the
single repetitions: a metric that is free of the effect of noise gives 1. Beside it `procrustes`, which is not, divided
by `geometry_ceiling` as if it were linear.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from coverage import Data, Design, simulate
from harness import markdown
from simulations import Row, Simulation, column

from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers.scores.ceilings import geometry_ceiling

N_STIMULI = (20, 40, 80, 160)
RELIABILITIES = (0.1, 0.2, 0.3, 0.5, 0.9)
N_NEUROIDS = 40


def ceiled_procrustes(data: Data) -> float:
    """Divide the score of the truth on the average by that which `geometry_ceiling` expects."""
    metric = load_metric("procrustes")
    ceiling = float(geometry_ceiling(metric, data.repetitions))
    return float(metric(data.signal, data.measured)) / ceiling if ceiling > 0 else float("nan")


CASES = {
    "rsa_crossnobis": lambda data: load_metric("rsa_crossnobis")(data.signal, data.repetitions),
    "cka_noise_corrected": lambda data: load_metric("cka_noise_corrected")(data.signal, data.repetitions),
    "procrustes / geometry_ceiling": ceiled_procrustes,
}
CELLS = {
    f"{name}: {n} stimuli, reliability {reliability}": (name, Design(n, N_NEUROIDS, reliability))
    for name in CASES
    for n in N_STIMULI
    for reliability in RELIABILITIES
}


def estimate(cell: str, seed: int) -> Row:
    name, design = CELLS[cell]
    score = float(CASES[name](simulate(design, seed)))
    return {"score": score if np.isfinite(score) else None}


def summary(_cell: str, rows: Sequence[Row]) -> Row:
    """Describe the scores that are defined, and the part that is not."""
    scores = column(rows, "score")
    known = scores[~np.isnan(scores)]
    numbers = {"mean": known.mean(), "median": np.median(known), "sd": known.std(ddof=1)}
    numbers["undefined"] = np.isnan(scores).mean()
    return {name: round(float(number), 4) for name, number in numbers.items()}


def table(results: Mapping[str, Row]) -> str:
    rows = []
    for name in CASES:
        for n in N_STIMULI:
            cells = [results[f"{name}: {n} stimuli, reliability {reliability}"] for reliability in RELIABILITIES]
            undefined = [f" ({cell['undefined']:.0%})" if cell["undefined"] else "" for cell in cells]
            medians = [f"{cell['median']:.2f} ± {cell['sd']:.2f}" for cell in cells]
            rows.append([name, str(n), *map("".join, zip(medians, undefined, strict=True))])
    return markdown(["metric", "stimuli", *(f"reliability {reliability}" for reliability in RELIABILITIES)], rows)


SIMULATION = Simulation("geometry_truth", dict.fromkeys(CELLS, 100), estimate, summary, table)

if __name__ == "__main__":
    SIMULATION.main(__doc__)
