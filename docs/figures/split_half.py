"""Draw how a split-half reliability comes about: repetitions, two halves, their correlation, the correction."""

import matplotlib.pyplot as plt
import numpy as np

from brainscore_core.supported_data_standards.brainio.transform import (
    average_repetition,
)
from brainscore_vision import load_ceiling, load_dataset


def measure():
    """Take one simulated neuron, half of whose repetitions are drawn, and the ceiling of all."""
    repetitions = load_dataset("SimulatedCortex2026").squeeze("time_bin")
    one = repetitions.isel(
        neuroid=np.flatnonzero(repetitions["region"].values == "IT")[:1]
    )
    numbers = np.random.default_rng(0).permutation(np.unique(one["repetition"].values))
    first, second = (
        np.sort(numbers[: len(numbers) // 2]),
        np.sort(numbers[len(numbers) // 2 :]),
    )
    halves = [
        average_repetition(one.sel(presentation=one["repetition"].isin(half)))
        for half in (first, second)
    ]
    halves = [half.sortby("stimulus_id").values.ravel() for half in halves]
    correlation = float(np.corrcoef(*halves)[0, 1])
    trials = one.sortby(["stimulus_id", "repetition"]).values.reshape(-1, len(numbers))[
        :24
    ]
    return {
        "trials": trials,
        "first": first,
        "halves": halves,
        "correlation": correlation,
        "corrected": 2 * correlation / (1 + correlation),
        "ceiling": float(load_ceiling("internal_consistency")(one)),
    }


def draw(found):
    """Draw the trials with their halves, and the means over the halves against each other."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(7.6, 3.4), width_ratios=[1.15, 1]
    )
    left.imshow(found["trials"], cmap="cividis", aspect="auto")
    left.set_xlabel("repetition, ▲ in half 1, ▽ in half 2")
    left.set_ylabel("stimulus (24 of 500)")
    left.set_yticks([])
    n_repetitions = found["trials"].shape[1]
    left.set_xticks(
        range(n_repetitions),
        ["▲" if number in found["first"] else "▽" for number in range(n_repetitions)],
    )
    left.tick_params(length=0, labelsize=9)
    left.set_title("spikes of one neuron", fontsize=11)
    right.plot(*found["halves"], "o", color="#3b7dd8", markersize=3, alpha=0.6)
    right.set_xlabel("mean spikes over half 1")
    right.set_ylabel("mean spikes over half 2")
    r, corrected = found["correlation"], found["corrected"]
    right.set_title(
        f"$r$ = {r:.2f}, for all trials 2$r$ / (1 + $r$) = {corrected:.2f}", fontsize=11
    )
    return figure
