"""Draw receptive fields as benchmarks of single neurons map them: by small gratings all over the screen."""

import matplotlib.pyplot as plt
import numpy as np

from brainscore_vision import load_model
from brainscore_vision.benchmark_helpers.properties import (
    GratingSets,
    map_receptive_fields,
)

NAMES = ("blank", "receptive_field", "orientation")
SETS = GratingSets(*(f"SimulatedCortex2026.{name}" for name in NAMES))
N_SHOWN = 3


def measure():
    """Map the receptive fields of the Gabor filters, and take some that respond, far from each other."""
    model = load_model("gabor_bank")
    model.start_recording("V1", time_bins=[(70, 170)])
    fields = map_receptive_fields(model, SETS)
    found = np.flatnonzero(
        np.isfinite(fields.centres).all(axis=1)
        & ((fields.maps > 0).sum(axis=(1, 2)) >= 6)
    )
    columns = fields.centres[found, 1]
    shown = [
        found[np.argmin(np.abs(columns - place))]
        for place in np.quantile(columns, [0.1, 0.5, 0.9])
    ]
    return fields, shown


def draw(content):
    """Draw the map of each unit with the centre that the benchmark takes for it."""
    fields, shown = content
    figure, row = plt.subplots(1, N_SHOWN, figsize=(7.6, 2.9), sharey=True)
    half = float(np.diff(fields.position_x).mean()) / 2
    x, y = fields.position_x, fields.position_y
    edges = [x[0] - half, x[-1] + half, y[0] - half, y[-1] + half]
    for axes, unit in zip(row, shown, strict=True):
        axes.imshow(fields.maps[unit], cmap="cividis", origin="lower", extent=edges)
        centre_y, centre_x = fields.centres[unit]
        axes.plot(
            [centre_x],
            [centre_y],
            "+",
            color="#ff8c42",
            markersize=14,
            markeredgewidth=2.5,
        )
        axes.set_title(f"centre at {centre_x:.2f}, {centre_y:.2f}", fontsize=11)
        axes.set_xlabel("x in degrees")
    row[0].set_ylabel("y in degrees")
    return figure
