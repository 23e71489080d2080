"""Measure how often the interval of a perfect model holds 1, with seeds that had no part in the design.

The generating population of SimulatedCortex2026 is scored on its own noisy spikes, what people believe on their
choices, and other cells on the orientations that the recorded ones prefer, under each seed of wiring and noise.
"""

import dataclasses
import os
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np
from harness import markdown
from simulations import Row, Simulation

from brainscore_vision import load_benchmark, load_dataset
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.data.simulatedcortex2026 import cells, choices, dataset

OTHERS = {  # benchmark, data, and how its score follows from its reliability: a correlation is divided by the root
    "i2n": ("SimulatedCortex2026-i2n", "choices", np.sqrt),
    "pref_or": ("SimulatedCortex2026.V1-pref_or", "preferences", float),
}


def estimate(cell: str, seed: int) -> Row:
    dataset.PARAMETERS = dataclasses.replace(dataset.PARAMETERS, seed=seed)
    cells.SEED = choices.SEED = seed
    if cell in OTHERS:
        identifier, known, scale = OTHERS[cell]
        truth = load_dataset(f"SimulatedCortex2026.{known}.truth")
    else:
        identifier, truth = f"SimulatedCortex2026.{cell}-pls", load_dataset("SimulatedCortex2026.truth")
        truth = truth.sel(neuroid=truth["region"] == cell)
    score = load_benchmark(identifier)(PrecomputedFeatures(truth, visual_degrees=8))
    if cell in OTHERS:
        half = 1.96 * score.raw.attrs["error"] / scale(float(score.ceiling))
        interval = float(score) - half, float(score) + half
    else:
        interval = score.attrs["interval"]
    low, high = (round(float(edge), 4) for edge in interval)
    return {"seed": seed, "score": round(float(score), 4), "low": low, "high": high, "held": low <= 1 <= high}


def summary(_cell: str, rows: Sequence[Row]) -> Row:
    return {
        "held": sum(row["held"] for row in rows),
        "rows": [{name: row[name] for name in row if name != "cell"} for row in rows],
    }


def table(results: Mapping[str, Row]) -> str:
    return markdown(["", "intervals that hold 1"], ([name, f"{c['held']} of {c['n']}"] for name, c in results.items()))


SIMULATION = Simulation(
    "simulated_truth", dict.fromkeys(("V1", "IT", *OTHERS), 16), estimate, summary, table, first_seed=7000
)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["BRAINSCORE_HOME"] = home
        SIMULATION.main(__doc__)
