"""Compare the cost of disturbing animal silhouettes for a model and people.

Baker & Elder (2022) rotated one half of a silhouette (Frankenstein) or moved the halves apart (fragmented): people then
recognise fewer of nine animals, networks about as many.
"""

import numpy as np

from brainscore_vision import load_dataset, load_metric
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("baker2022")

VISUAL_DEGREES = 8.8


def accuracy_delta(kind: str, orientation: str, disturbed: str, *, published: bool = False) -> AgreementWithPeople:
    """Compare the cost in accuracy with people's; the disturbance is Frankenstein or fragmented."""
    return AgreementWithPeople(
        f"Baker2022{kind}-accuracy_delta",
        load_metric("baker_accuracy_delta", image_types=["w", disturbed], compat=published),
        lambda: load_assembly(orientation),
        visual_degrees=VISUAL_DEGREES,
        parent="Baker2022",
        bibtex=BIBTEX,
    )


def load_assembly(orientation: str):
    """Load the answers of people to silhouettes of one orientation: nonzero if correct."""
    assembly = load_dataset(f"Baker2022_{orientation}_distortion")
    stimuli = assembly.stimulus_set
    answers = assembly[{"presentation": np.flatnonzero(assembly["orientation"].values == orientation)}]
    answers.attrs["stimulus_set"] = stimuli[stimuli["orientation"] == orientation]
    return answers
