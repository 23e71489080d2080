"""Draw scores with their intervals: populations of a simulated cortex, compared with recordings of its IT."""

import matplotlib.pyplot as plt
import numpy as np

from brainscore_vision import load_benchmark, load_dataset
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import shuffled

BENCHMARK = "SimulatedCortex2026.IT-pls"


def measure():
    """Score what is known to be right, near and wrong; label -> (score, low, high), from best to worst."""
    truth = load_dataset("SimulatedCortex2026.truth")
    regions = {
        name: truth.sel(neuroid=truth["region"] == name) for name in ("IT", "V4", "V2")
    }
    candidates = {
        "the cells that were recorded,\nwithout noise": regions["IT"],
        "cells of V4": regions["V4"],
        "cells of V2": regions["V2"],
        "the recorded cells,\nstimuli mixed up": shuffled(regions["IT"]),
    }
    benchmark = load_benchmark(BENCHMARK)
    scores = {}
    for label, responses in candidates.items():
        score = benchmark(PrecomputedFeatures(responses, visual_degrees=8))
        scores[label] = (float(score), *map(float, score.attrs["interval"]))
    return scores


def draw(scores):
    """Draw one row for each candidate."""
    figure, axes = plt.subplots(figsize=(5.4, 3.5))
    for row, (value, low, high) in enumerate(scores.values()):
        axes.plot(
            [low, high],
            [row, row],
            color="#3b7dd8",
            linewidth=5,
            alpha=0.55,
            solid_capstyle="butt",
        )
        axes.plot([value], [row], "o", color="#3b7dd8", markersize=8)
        said = f"{abs(value) if abs(value) < 0.005 else value:.2f}"  # not -0.00
        axes.annotate(
            said, (value, row), (0, 9), textcoords="offset points", ha="center"
        )
    axes.set_yticks(np.arange(len(scores)), scores)
    axes.set_ylim(len(scores) - 0.5, -0.75)
    axes.set_xlim(-0.08, 1.08)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0\nchance", "", "0.5", "", "1\nceiling"])
    for x in (0, 1):
        axes.axvline(x, linestyle=":", linewidth=1, color=plt.rcParams["text.color"])
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("score with its 95 % interval")
    return figure
