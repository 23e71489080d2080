"""Compare confusions of 24 objects with people's (Rajalingham et al. 2018).

People saw an image (8 degrees, 100 ms) and chose between the object shown and a distractor. A model learns the objects
from the public images and gives their probabilities for the test images; ``i2n`` compares single images.
"""

from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_probabilities, probabilities_by_halves
from brainscore_vision.benchmark_helpers.checks import name_tested
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metrics import Score
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

BIBTEX = cite_data("rajalingham2018")

VISUAL_DEGREES = 8
NUMBER_OF_TRIALS = 2


class Rajalingham2018(BenchmarkBase):
    """Correlate the confusions of single images, and divide by the correlation between two halves of the trials.

    Of ``'public'`` images, models learn from one half, with every object in it, and are tested on the other, in turn;
    with `published` they learn from all, even if these are tested, as for published scores.
    """

    def __init__(self, metric: str = "i2n", *, access: str = "private", published: bool = False) -> None:
        self._metric = load_metric(metric)
        self._is_public = access == "public"
        self._learn_apart = self._is_public and not published
        self._assembly = LazyLoad(lambda: load_assembly(access))
        self._visual_degrees = VISUAL_DEGREES
        self._number_of_trials = NUMBER_OF_TRIALS
        super().__init__(
            identifier=f"Rajalingham2018{'public' if self._is_public else ''}-{metric}",
            version=2,
            ceiling_func=lambda: self._metric.ceiling(self._assembly, skipna=self._is_public),
            parent="behavior",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; ``raw`` is the mean correlation with random halves of the trials."""
        tested = self._assembly.stimulus_set
        how = {"visual_degrees": self._visual_degrees, "number_of_trials": self._number_of_trials}
        if self._learn_apart:
            probabilities = probabilities_by_halves(candidate, tested, **how)
        else:
            probabilities = learned_probabilities(candidate, tested, load_stimulus_set("objectome.public"), **how)
        score = self._metric(probabilities, self._assembly)
        ceiled = self._metric.ceil_score(score, self.ceiling)
        described = ("n_stimuli", "n_trials", "seed")
        ceiled.attrs.update({name: score.attrs[name] for name in described if name in score.attrs})
        name_tested(ceiled, loaded(self._assembly))
        return ceiled


def load_assembly(access: str = "private"):
    """Load single trials of people, dims (presentation), with the coordinate ``correct``."""
    assembly = load_dataset(f"Rajalingham2018.{access}")
    choices = assembly["choice"] if "choice" in assembly.coords else assembly
    return assembly.assign_coords(correct=("presentation", choices.values == assembly["sample_obj"].values))


# Names that published code imports.
_DicarloRajalingham2018 = Rajalingham2018
DicarloRajalingham2018I2n = Rajalingham2018
