"""Measure what the true geometry scores by metrics that correct for noise, for few stimuli and low reliability.

    python perf/geometry_truth.py            # results/geometry_truth.json, 100 data sets a cell
    python perf/geometry_truth.py --table    # prints the kept results as Markdown, runs nothing

The responses without noise of simulated neuroids (see `coverage.py`; 40 of them, four repetitions) are scored on the
single repetitions: a metric that is free of the effect of noise gives 1. Beside it `procrustes`, which is not, divided
by `geometry_ceiling` as if it were linear.
"""

import argparse
from collections.abc import Callable

import numpy as np
from coverage import Data, Design, simulate
from harness import keep, markdown, read

from brainscore_core.metrics import Score
from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers.scores.ceilings import geometry_ceiling

N_STIMULI = (20, 40, 80, 160)
RELIABILITIES = (0.1, 0.2, 0.3, 0.5, 0.9)
N_NEUROIDS = 40


def corrected(name: str) -> Callable[[Data], Score]:
    """Score the truth on single repetitions."""
    return lambda data: load_metric(name)(data.signal, data.repetitions)


def ceiled_procrustes(data: Data) -> float:
    """Divide the score of the truth on the average by what `geometry_ceiling` says that it reaches."""
    metric = load_metric("procrustes")
    ceiling = float(geometry_ceiling(metric, data.repetitions))
    return float(metric(data.signal, data.measured)) / ceiling if ceiling > 0 else float("nan")


CASES: dict[str, Callable[[Data], Score | float]] = {
    "rsa_crossnobis": corrected("rsa_crossnobis"),
    "cka_noise_corrected": corrected("cka_noise_corrected"),
    "procrustes / geometry_ceiling": ceiled_procrustes,
}


def measure(name: str, n_stimuli: int, reliability: float, n: int) -> dict[str, float]:
    """Score the truth on data sets of one size."""
    design = Design(n_stimuli, N_NEUROIDS, reliability)
    values = np.array([float(CASES[name](simulate(design, seed))) for seed in range(n)])
    known = values[~np.isnan(values)]
    return {
        "mean": round(float(known.mean()), 4),
        "median": round(float(np.median(known)), 4),
        "sd": round(float(known.std(ddof=1)), 4),
        "undefined": round(float(np.isnan(values).mean()), 4),
    }


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the page's table: the median, in brackets the part that is undefined."""
    rows = []
    for name, cells in results.items():
        for n_stimuli in N_STIMULI:
            levels = [cells[f"{n_stimuli} stimuli, reliability {r}"] for r in RELIABILITIES]
            undefined = [f" ({level['undefined']:.0%})" if level["undefined"] else "" for level in levels]
            entries = [f"{level['median']:.2f} ± {level['sd']:.2f}" for level in levels]
            rows.append([name, str(n_stimuli), *map("".join, zip(entries, undefined, strict=True))])
    return markdown(["metric", "stimuli", *(f"reliability {r}" for r in RELIABILITIES)], rows)


def main() -> None:
    """Measure all, or print what is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=100, help="data sets for each cell")
    parser.add_argument("--table", action="store_true", help="print the kept results as a table, run nothing")
    options = parser.parse_args()
    if not options.table:
        results = {
            name: {
                f"{n_stimuli} stimuli, reliability {r}": measure(name, n_stimuli, r, options.n)
                for n_stimuli in N_STIMULI
                for r in RELIABILITIES
            }
            for name in CASES
        }
        keep("geometry_truth", results)
    print(table(read("geometry_truth")))


if __name__ == "__main__":
    main()
