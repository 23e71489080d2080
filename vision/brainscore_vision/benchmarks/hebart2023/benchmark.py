"""Show a model three objects at a time and ask for the odd one, as in an online experiment.

People judged 453,642 triplets of 1,854 objects of THINGS. The raw score is the share of triplets with the same answer;
the ceiling is the mean agreement on triplets judged by many people, 67.67 % (Hebart et al., 2023). ``score = (raw -
1/3) / (ceiling - 1/3)``, in [0, 1].
"""

from brainscore_vision import load_dataset
from brainscore_vision.benchmark_helpers.behaviour.odd_one_out import OddOneOutBenchmark
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("hebart2023")

VISUAL_DEGREES = 8
CEILING = 0.6767


class Hebart2023Match(OddOneOutBenchmark):
    """Share of triplets with the same answer, corrected for chance."""

    def __init__(self, *, n_triplets: int | None = None) -> None:
        super().__init__(
            "Hebart2023-match",
            lambda: load_dataset("Hebart2023"),
            visual_degrees=VISUAL_DEGREES,
            ceiling=CEILING,
            n_triplets=n_triplets,
            parent="behavior_vision",
            bibtex=BIBTEX,
        )

    def set_number_of_triplets(self, n: int) -> None:
        """Use only the first `n` triplets."""
        self._n_triplets = n
