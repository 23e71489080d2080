"""Ask whether objects can be read out of a model's IT in unseen styles (Igustibagus 2024).

A linear classifier learns ten objects from photographs of HvM, then names them in 13 domains, such as drawings and
silhouettes. The accuracy is how often the right one of two objects has the larger output, .5 by chance. The score is
its mean over the domains.
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from brainscore_core.benchmarks import ceil_score
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_stimulus_set
from brainscore_vision.benchmark_helpers.recordings import RecordingConditions, describe, show
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.metric_helpers.labelled.alignment import matching_order
from brainscore_vision.metric_helpers.regression.estimators import RidgeCV
from brainscore_vision.metric_helpers.uncertainty.errors import attach_standard_error
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad

from .neural import BIBTEX, VISUAL_DEGREES

DOMAINS: Mapping[str, tuple[str, str | None]] = {
    "hvm": ("Silhouette", "original"),
    "cartoon": ("Art", "cartoon"),
    "line_drawing": ("Art", "line_drawing"),
    "mosaic": ("Art", "mosaic"),
    "painting": ("Art", "painting"),
    "sketch": ("Art", "sketch"),
    "convex_hull": ("Silhouette", "convex_hull"),
    "outline": ("Silhouette", "outline"),
    "skeleton": ("Silhouette", "skeleton"),
    "silhouette": ("Silhouette", "silhouette"),
    "cococolor": ("COCOColor", None),
    "cocogray": ("COCOGray", None),
    "tdw": ("TDW", None),
}
"""The ``stimulus_source`` and ``object_style`` of each domain; None matches any."""
N_TEST = 30  # images of a domain in each split
N_SPLITS = 1000
ALPHAS = (0.0001, 0.001, 0.01, 0.1, 1, 10)
TIME_BINS = [(70, 170)]

Positions = NDArray[np.intp]
Floats = NDArray[np.float64]


class Igustibagus2024Readout(BenchmarkBase):
    """Accuracy of the readout over 13 domains.

    Images are drawn `n_splits` times; the published draws have no seed.
    """

    def __init__(self, n_splits: int = N_SPLITS, seed: int = 0) -> None:
        super().__init__(
            "Igustibagus2024.IT_readout-accuracy", ceiling=1, version=1, parent="engineering", bibtex=BIBTEX
        )
        self._stimuli = LazyLoad(lambda: load_stimulus_set("Igustibagus2024"))
        self._n_splits = n_splits
        self._seed = seed

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; ``raw`` of ``raw`` has dims (domain, split), ``error`` is over domains."""
        conditions = RecordingConditions("IT", TIME_BINS, VISUAL_DEGREES, number_of_trials=1)
        candidate.start_recording(conditions.region, time_bins=conditions.time_bins)
        activity = show(candidate, self._stimuli, VISUAL_DEGREES, number_of_trials=1)
        order = matching_order(self._stimuli["stimulus_id"].to_numpy(), activity["stimulus_id"].values)
        features = activity.transpose("presentation", "neuroid").values[order].astype(float)
        accuracies = self._accuracies(features)
        per_domain = accuracies.mean("split")
        raw = attach_standard_error(Score(float(per_domain.mean())), per_domain.values, over="domain")
        raw.attrs.update(raw=accuracies, quantity="accuracy", seed=self._seed)
        score = ceil_score(raw, self.ceiling)
        describe(score, candidate, [activity], conditions)
        return score

    def _accuracies(self, features: Floats) -> Score:
        """Learn and test; dims (domain, split)."""
        labels = self._stimuli["object_label"].to_numpy().astype(str)
        accuracies = []
        for train, tests in splits_of(self._stimuli, labels, self._n_splits, np.random.default_rng(self._seed)):
            classes, outputs = outputs_of(features, labels, train)
            accuracies.append([_accuracy(outputs[test], classes, labels[test]) for test in tests.values()])
        return Score(np.transpose(accuracies), coords={"domain": list(DOMAINS)}, dims=["domain", "split"])


def domains_of(stimuli: StimulusSet) -> dict[str, Positions]:
    """Return each domain's rows."""
    source, style = stimuli["stimulus_source"].to_numpy(), stimuli["object_style"].to_numpy()
    return {
        domain: np.flatnonzero((source == domains) & ((style == shape) | (shape is None)))
        for domain, (domains, shape) in DOMAINS.items()
    }


def splits_of(
    stimuli: StimulusSet, labels: NDArray[np.str_], n_splits: int, rng: np.random.Generator
) -> Iterator[tuple[Positions, dict[str, Positions]]]:
    """Yield training images, all of HvM, and test images of each domain.

    Silhouettes and the like share the split of their photograph.
    """
    rows, backgrounds = domains_of(stimuli), stimuli["background_id"].to_numpy()
    for _ in range(n_splits):
        tests: dict[str, Positions] = {}
        for domain, (source, _) in DOMAINS.items():
            if domain != "hvm" and source == "Silhouette":
                tests[domain] = rows[domain][np.isin(backgrounds[rows[domain]], backgrounds[tests["hvm"]])]
            else:
                tests[domain] = _drawn(rows[domain], labels, rng)
        yield np.setdiff1d(rows["hvm"], tests["hvm"]), tests


def _drawn(rows: Positions, labels: NDArray[np.str_], rng: np.random.Generator) -> Positions:
    if len(rows) <= N_TEST:
        return rows
    classes = np.unique(labels[rows])
    shuffled = rng.permutation(rows)
    return np.concatenate([shuffled[labels[shuffled] == label][: N_TEST // len(classes)] for label in classes])


def outputs_of(features: Floats, labels: NDArray[np.str_], train: Positions) -> tuple[NDArray[np.str_], Floats]:
    """Return the classes, and outputs, shape (n_images, n_classes)."""
    training = features[train]
    spread = training.std(axis=0)
    z = (features - training.mean(axis=0)) / np.where(spread > 0, spread, 1)
    classes = np.unique(labels[train])
    answers = np.where(labels[train, None] == classes, 1.0, -1.0)
    return classes, RidgeCV(ALPHAS).fit(z[train], answers).predict(z)


def _accuracy(outputs: Floats, classes: NDArray[np.str_], labels: NDArray[np.str_]) -> float:
    right = outputs[np.arange(len(labels)), np.searchsorted(classes, labels)]
    return float((right[:, None] > outputs).sum(axis=1).mean() / (len(classes) - 1))
