"""Ask a model to name manipulated images, and compare its answers with those of people.

Geirhos et al. (2021) manipulated images in 17 ways; people chose among 16 categories. ``error_consistency`` is the
agreement with people on wrongly named images, beyond that expected from equal accuracy (Geirhos et al.
2020, doi:10.48550/arXiv.2006.16736); its ceiling is the agreement between people. ``top1`` is the share of correct
answers.
"""

from typing import Any

import numpy as np

from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople, LabelAccuracy
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("geirhos2021")

DATASETS = [
    "colour", "contrast", "cue-conflict", "edge", "eidolonI", "eidolonII", "eidolonIII", "false-colour", "high-pass",
    "low-pass", "phase-scrambling", "power-equalisation", "rotation", "silhouette", "sketch", "stylized",
    "uniform-noise",
]  # fmt: skip
VISUAL_DEGREES = 3

# Left out as in the paper (toolbox modelvshuman): unchanged images, and levels at which people answer less than a fifth
# correctly.
EXCLUDED_CONDITIONS = {
    "colour": ["cr"],
    "contrast": ["c100", "c03", "c01"],
    "eidolonI": ["1-10-10", "64-10-10", "128-10-10"],
    "eidolonII": ["1-3-10", "32-3-10", "64-3-10", "128-3-10"],
    "eidolonIII": ["1-0-10", "16-0-10", "32-0-10", "64-0-10", "128-0-10"],
    "false-colour": ["False-Colour"],
    "high-pass": [np.inf, 0.55, 0.45, 0.4],
    "low-pass": [0, 15, 40],
    "phase-scrambling": [0, 150, 180],
    "power-equalisation": [0],
    "rotation": [0],
    "uniform-noise": [0.0, 0.6, 0.9],
}


class Geirhos2021ErrorConsistency(AgreementWithPeople):
    """Agreement with people on the images named wrongly, divided by the agreement between people.

    `condition` is a manipulation, such as ``'silhouette'``; `dataset` has the human choices,
    ``Geirhos2021_<condition>`` by default.
    """

    def __init__(self, condition: str, *, dataset: str | None = None, visual_degrees: float = VISUAL_DEGREES) -> None:
        super().__init__(
            f"Geirhos2021{condition.replace('-', '')}-error_consistency",
            load_metric("error_consistency"),
            lambda: load_choices(condition, dataset or f"Geirhos2021_{condition}"),
            visual_degrees=visual_degrees,
            parent="Geirhos2021",
            bibtex=BIBTEX,
        )


class Geirhos2021Accuracy(LabelAccuracy):
    """Share of images named correctly; they fill the model's field of view."""

    def __init__(self, condition: str, *, stimuli: str | None = None) -> None:
        super().__init__(
            f"Geirhos2021{condition.replace('-', '')}-top1",
            lambda: without_excluded(load_stimulus_set(stimuli or f"Geirhos2021_{condition}"), condition),
            number_of_trials=10,  # as published: models that vary are averaged over ten answers
            parent="Geirhos2021-top1",
            bibtex=BIBTEX,
        )


def load_choices(condition: str, dataset: str) -> Any:
    """Load the human choices for a manipulation, without excluded levels."""
    assembly = load_dataset(dataset)
    if condition not in EXCLUDED_CONDITIONS:
        return assembly
    stimulus_set = without_excluded(assembly.stimulus_set, condition)
    tested = np.isin(assembly["stimulus_id"].values, stimulus_set["stimulus_id"].to_numpy())
    answers = assembly[{"presentation": np.flatnonzero(tested)}]
    answers.attrs["stimulus_set"] = stimulus_set
    return answers


def without_excluded(stimulus_set: Any, condition: str) -> Any:
    """Return the stimuli of analysed levels."""
    excluded = {_level(level) for level in EXCLUDED_CONDITIONS.get(condition, [])}
    if not excluded:
        return stimulus_set
    return stimulus_set[[_level(level) not in excluded for level in stimulus_set["condition"]]]


def _level(value: object) -> object:
    """Make levels comparable: 0, '0' and 0.0 are equal."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)
