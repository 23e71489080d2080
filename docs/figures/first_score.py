"""Draw what a benchmark shows and what it measures: some pictures of a simulated cortex, and responses to them."""

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from brainscore_vision import load_dataset

SHOWN = (0, 83, 166, 249, 332, 415)  # of 500
NEUROIDS = (1, 40)


def measure():
    """Return the pictures, and the responses of two neuroids to them."""
    recorded = load_dataset("SimulatedCortex2026")
    measured = recorded.sel(neuroid=recorded["region"] == "IT").mean(dim="repetition")
    stimuli = recorded.attrs["stimulus_set"]
    ids = stimuli["stimulus_id"].tolist()
    pictures = [np.asarray(Image.open(stimuli.get_stimulus(ids[row]))) for row in SHOWN]
    rows = [measured["stimulus_id"].values.tolist().index(ids[row]) for row in SHOWN]
    return pictures, measured.values.squeeze()[rows][:, NEUROIDS]


def draw(measured):
    """Draw pictures in a row, and bars below them."""
    pictures, responses = measured
    figure, axes = plt.subplots(2, len(pictures), figsize=(7, 2.6), sharey="row")
    for column, (picture, values) in enumerate(zip(pictures, responses, strict=True)):
        axes[0, column].imshow(
            picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest"
        )
        axes[0, column].axis("off")
        axes[1, column].bar(["a", "b"], values, color=["#3b7dd8", "#d8853b"])
        axes[1, column].tick_params(length=0)
    axes[1, 0].set_ylabel("mean response")
    return figure
