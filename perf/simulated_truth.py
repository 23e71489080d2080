"""Measure how often the interval of a perfect model holds 1, with seeds that had no part in the design.

The generating population of SimulatedCortex2026 is scored on its own noisy spikes under each seed of
wiring and noise.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
REGIONS = ("V1", "IT")


def main() -> None:
    """Score, print a row for each seed and region, and write results/simulated_truth.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(7000, 7016), metavar=("FIRST", "END"))
    first, end = parser.parse_args().seeds
    with tempfile.TemporaryDirectory() as home:
        os.environ["BRAINSCORE_HOME"] = home
        rows = [row for seed in range(first, end) for row in scores(seed)]
    held = {region: sum(row["held"] for row in rows if row["region"] == region) for region in REGIONS}
    summary = {"n_seeds": end - first, "interval_held_1": held, "rows": rows}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "simulated_truth.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(f"the interval held 1 for {held} of {end - first} seeds")


def scores(seed: int) -> list[dict[str, object]]:
    """Return the score of the generating population and its interval, for both regions under one seed."""
    from brainscore_vision import load_benchmark, load_dataset
    from brainscore_vision.benchmark_helpers import PrecomputedFeatures
    from brainscore_vision.data.simulatedcortex2026 import dataset

    dataset.PARAMETERS = dataclasses.replace(dataset.PARAMETERS, seed=seed)
    truth = load_dataset("SimulatedCortex2026.truth")
    rows = []
    for region in REGIONS:
        responses = truth.sel(neuroid=truth["region"] == region)
        score = load_benchmark(f"SimulatedCortex2026.{region}-pls")(PrecomputedFeatures(responses, visual_degrees=8))
        low, high = (round(float(edge), 4) for edge in score.attrs["interval"])
        row = {"seed": seed, "region": region, "score": round(float(score), 4), "low": low, "high": high}
        rows.append({**row, "held": low <= 1 <= high})
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    main()
