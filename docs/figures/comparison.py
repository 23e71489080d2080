"""Draw a comparison of three made-up models on two benchmarks, as `brainscore plot compare` does."""

import matplotlib as mpl
import numpy as np

from brainscore_core import plots
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import Influence

SCORES = {
    "Meadow2026.V1-pls": {"wren": 0.41, "heron": 0.44, "otter": 0.29},
    "Meadow2026.IT-pls": {"wren": 0.52, "heron": 0.37},
}


def measure():
    """Make records up: models find the same stimuli hard, so that differences are surer than scores."""
    rng = np.random.default_rng(0)
    records = []
    for benchmark, scores in SCORES.items():
        hard = 0.3 * rng.standard_normal((300, 80)) + 0.2 * rng.standard_normal(
            (300, 1)
        )
        for model, value in scores.items():
            answers = hard + 0.6 * rng.standard_normal((300, 80))
            influence = Influence.of_mean(answers, np.arange(300), np.arange(80))
            score = attach_influence(Score(value), influence)
            score.attrs.update(n_stimuli=300, n_neuroids=80)
            made = {"model": model, "benchmark": benchmark, "benchmark_version": 1}
            records.append(ScoreRecord.of_score(score, **made))
    return records


def draw(records):
    """Draw them in the theme that fits the page."""
    is_dark = mpl.colors.to_rgb(mpl.rcParams["figure.facecolor"])[0] < 0.5
    return plots.compare(
        records, ["wren", "heron", "otter"], theme="dark" if is_dark else "light"
    )
