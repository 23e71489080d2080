"""Ask a model to name cluttered, occluded and phase-scrambled images, and compare its errors with people's.

Maniquet, Op de Beeck & Costantino (2024), doi:10.1101/2024.04.02.587669. A model learns the names from other images
with the same manipulations; compared are confusions between objects (`confusion_similarity`) and accuracies over tasks
(`tasks_consistency`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_probabilities
from brainscore_vision.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.utils import LazyLoad

if TYPE_CHECKING:
    from brainscore_vision.metrics import Score
    from brainscore_vision.model_interface import BrainModel

BIBTEX = cite_data("maniquet2024")

VISUAL_DEGREES = 8
PUBLISHED_CEILINGS = {"confusion_similarity": 0.53526, "tasks_consistency": 0.99810}
"""Mean correlations of halves, which a model can exceed."""


class _Maniquet2024(BenchmarkBase):
    """Similarity of one pattern of errors between a model and people.

    With `published`, the published ceiling instead of the highest correlation that the noise of the people allows.
    """

    def __init__(self, metric: str, *, published: bool = False) -> None:
        self._metric: Any = load_metric(metric)
        self._fitting_stimuli: Any = LazyLoad(lambda: load_stimulus_set("Maniquet2024-train"))
        self._stimulus_set: Any = LazyLoad(lambda: load_stimulus_set("Maniquet2024-test"))
        self._human_assembly: Any = LazyLoad(lambda: load_dataset("Maniquet2024"))
        self._visual_degrees = VISUAL_DEGREES
        super().__init__(
            identifier=f"Maniquet2024-{metric}",
            version=1,
            ceiling_func=lambda: (
                PUBLISHED_CEILINGS[metric] if published else self._metric.ceiling(self._human_assembly)
            ),
            parent="Maniquet2024",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate."""
        probabilities = learned_probabilities(
            candidate, self._stimulus_set, self._fitting_stimuli, visual_degrees=self._visual_degrees
        )
        return ceil_score(self._metric(probabilities, self._human_assembly), self.ceiling)


def Maniquet2024ConfusionSimilarity(*, published: bool = False) -> _Maniquet2024:
    """Confusions between objects; see `_Maniquet2024`."""
    return _Maniquet2024("confusion_similarity", published=published)


def Maniquet2024TasksConsistency(*, published: bool = False) -> _Maniquet2024:
    """Variation of accuracy over kinds of clutter, occlusion and scrambling; see `_Maniquet2024`."""
    return _Maniquet2024("tasks_consistency", published=published)
