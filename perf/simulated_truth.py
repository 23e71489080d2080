"""Measure how often the interval of a perfect model holds 1, with seeds that had no part in the design.

The generating population of SimulatedCortex2026 is scored on its own noisy spikes, what people believe on their
choices, and other cells on the orientations that the recorded ones prefer, under each seed of wiring and noise.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import tempfile

from harness import keep

REGIONS = ("V1", "IT")
OTHERS = ("i2n", "pref_or")


def main() -> None:
    """Score, print a row for each seed and region, and write results/simulated_truth.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(7000, 7016), metavar=("FIRST", "END"))
    first, end = parser.parse_args().seeds
    with tempfile.TemporaryDirectory() as home:
        os.environ["BRAINSCORE_HOME"] = home
        rows = [row for seed in range(first, end) for row in scores(seed)]
    held = {name: sum(row["held"] for row in rows if row["region"] == name) for name in (*REGIONS, *OTHERS)}
    summary = {"n_seeds": end - first, "interval_held_1": held, "rows": rows}
    keep("simulated_truth", summary)
    print(f"the interval held 1 for {held} of {end - first} seeds")


def scores(seed: int) -> list[dict[str, object]]:
    """Return the score of what generated the data and its interval, for each kind of data under one seed."""
    import numpy as np

    from brainscore_vision import load_benchmark, load_dataset
    from brainscore_vision.benchmark_helpers import PrecomputedFeatures
    from brainscore_vision.data.simulatedcortex2026 import cells, choices, dataset

    dataset.PARAMETERS = dataclasses.replace(dataset.PARAMETERS, seed=seed)
    cells.SEED = choices.SEED = seed
    truth = load_dataset("SimulatedCortex2026.truth")
    rows = []
    for region in REGIONS:
        responses = truth.sel(neuroid=truth["region"] == region)
        score = load_benchmark(f"SimulatedCortex2026.{region}-pls")(PrecomputedFeatures(responses, visual_degrees=8))
        rows.append(_row(seed, region, score, score.attrs["interval"]))
    for name, identifier, known, scale in (
        ("i2n", "SimulatedCortex2026-i2n", "choices", np.sqrt),  # a correlation is divided by the root of reliability
        ("pref_or", "SimulatedCortex2026.V1-pref_or", "preferences", float),
    ):
        truth = load_dataset(f"SimulatedCortex2026.{known}.truth")
        score = load_benchmark(identifier)(PrecomputedFeatures(truth, visual_degrees=8))
        half = 1.96 * score.raw.attrs["error"] / scale(float(score.ceiling))
        rows.append(_row(seed, name, score, (float(score) - half, float(score) + half)))
    return rows


def _row(seed: int, region: str, score: float, interval: tuple[float, float]) -> dict[str, object]:
    low, high = (round(float(edge), 4) for edge in interval)
    row = {"seed": seed, "region": region, "score": round(float(score), 4), "low": low, "high": high}
    row["held"] = low <= 1 <= high
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
