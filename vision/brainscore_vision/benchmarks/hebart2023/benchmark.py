"""Show a model three objects at a time and ask which one is odd, as people on the internet were asked.

People judged 453,642 triplets of 1,854 objects of THINGS, about one person each. The raw score is the share of triplets
in which a model takes the same one; a third would be by chance. Where triplets were judged by many, 67.67 % took the
same one on average (Hebart et al., 2023): the noise ceiling. ``score = (raw - 1/3) / (ceiling - 1/3)``, in [0, 1].
"""

from brainscore_vision import load_dataset
from brainscore_vision.benchmark_helpers.behaviour.odd_one_out import OddOneOutBenchmark
from brainscore_vision.data_helpers import cite_data

BIBTEX = cite_data("hebart2023")

VISUAL_DEGREES = 8
CEILING = 0.6767


class Hebart2023Match(OddOneOutBenchmark):
    """Share of triplets in which a model and a person take the same one as odd, corrected for chance.

    Parameters
    ----------
    n_triplets : int, optional
        Take the first ones only, to try something out. None: all.
    """

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
        """Take the first `n` triplets only."""
        self._n_triplets = n
