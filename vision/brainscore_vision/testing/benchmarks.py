"""Tests of every benchmark, also with models that never look."""

from __future__ import annotations

import hashlib
import math
import numbers
import re
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.benchmarks import score_benchmark
from brainscore_core.metrics import Score
from brainscore_core.scoring.isolation.wire import Connection
from brainscore_core.testing.contracts import data_available
from brainscore_vision.benchmark_helpers.screen import presented
from brainscore_vision.isolation.candidate import serve
from brainscore_vision.isolation.proxy import RemoteModel
from brainscore_vision.loading import load_benchmark
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.identifier import IdentifierContract
from brainscore_vision.testing.random_model import RandomModel

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["CLUES", "RULES", "BenchmarkContract", "NeverLooks", "as_judged", "better_than_guesses", "scores_by_rule"]

# -- models that never look --------------------------------------------------------------------------------------------
# They answer by a stimulus's place, name, columns, file or bytes.

Codes = npt.NDArray[np.int64]
Clue = Callable[["StimulusSet"], Sequence[object]]

_N_WAVES, _N_BLOCKS = 12, 16
_BLOCKS = " in blocks"


def _files(stimuli: StimulusSet) -> list[Path]:
    return [Path(stimuli.get_stimulus(stimulus_id)) for stimulus_id in stimuli["stimulus_id"]]


def _of_files(name: str) -> Clue:
    return lambda stimuli: [getattr(file.stat(), name) for file in _files(stimuli)]


def _columns(stimuli: StimulusSet) -> list[str]:
    others = [stimuli[name].astype(str) for name in stimuli.columns if name != "stimulus_id"]
    return ["|".join(row) for row in zip(*others, strict=True)] or [""] * len(stimuli)


CLUES: Mapping[str, Clue] = {
    "position": lambda stimuli: range(len(stimuli)),
    "stimulus_id": lambda stimuli: stimuli["stimulus_id"].astype(str).tolist(),
    "identifier": lambda stimuli: [f"{getattr(stimuli, 'identifier', '')} {row:06}" for row in range(len(stimuli))],
    "columns": _columns,
    "file name": lambda stimuli: [file.stem for file in _files(stimuli)],
    "size": _of_files("st_size"),
    "time of modification": _of_files("st_mtime_ns"),
    "time of change": _of_files("st_ctime_ns"),
    "time of access": _of_files("st_atime_ns"),
    "inode": _of_files("st_ino"),
    "links": _of_files("st_nlink"),
    "digest": lambda stimuli: [hashlib.sha256(file.read_bytes()).hexdigest() for file in _files(stimuli)],
}
"""Name -> a number or text for each stimulus, other than its picture.

Size and digest follow from a picture. They reveal nothing about a label only if the pictures of a test are of equal
size, or of a size that has nothing to do with their labels.
"""

_CONSTANT: Mapping[str, Callable[[list[str], int], int]] = {
    "first": lambda _labels, _usual: 0,
    "last": lambda labels, _usual: len(labels) - 1,
    "alphabetical": lambda labels, _usual: labels.index(min(labels)),
    "most frequent": lambda _labels, usual: usual,
}

RULES = (*_CONSTANT, *CLUES, *(f"{clue}{_BLOCKS}" for clue in CLUES))
"""Rules to choose among labels: always the same one; the one that a clue names or numbers; one per block of ranks."""


def _named(values: Sequence[object], labels: list[str]) -> Codes:
    """Return the label that each value contains; without any, the number in it, or that of equal values."""
    texts = [str(value) for value in values]
    distinct, codes = np.unique(texts, return_inverse=True)
    numbers = [int("".join(re.findall(r"\d", text))[-15:] or 0) for text in texts]
    others = numbers if len(distinct) == len(texts) else codes.tolist()
    named = [[place for place, label in enumerate(labels) if label in text] for text in texts]
    return np.array([places[-1] if places else other for places, other in zip(named, others, strict=True)])


def _ranks(values: Sequence[object]) -> Codes:
    ranks: Codes = np.unique(np.array(values), return_inverse=True)[1]
    return ranks


def _features(values: Sequence[object]) -> npt.NDArray[np.float64]:
    """Return sines and cosines of ranks, and blocks of ranks, shape (n, 40); constant if all values are equal."""
    ranks = _ranks(values)
    share = ranks[:, None] / (ranks.max() + 1)
    waves = np.pi * share * np.arange(1, _N_WAVES + 1)
    return np.hstack([np.sin(waves), np.cos(waves), (share * _N_BLOCKS).astype(int) == np.arange(_N_BLOCKS)])


class NeverLooks(RandomModel):
    """A model that knows all about its stimuli but the pictures.

    While it records, its features expand one of `CLUES`, other ones in each time bin. In a task, it chooses by one of
    `RULES`; among probabilities, that label has by far the highest. The rule ``"guess"`` draws a number for each
    stimulus, by the `seed`.
    """

    def __init__(self, rule: str, visual_degrees: float = 8.0, *, seed: int = 0) -> None:
        super().__init__(visual_degrees, n_neuroids=2 * _N_WAVES + _N_BLOCKS, seed=seed)
        self._rule, self._usual = rule, 0

    @property
    def identifier(self) -> str:
        """``never-looks-<rule>``."""
        return f"never-looks-{self._rule.replace(' ', '-')}"

    def start_task(self, task: str, fitting_stimuli: Any = None) -> None:
        """Accept any task."""
        super().start_task(task, fitting_stimuli)
        if task == BrainModel.Task.probabilities:
            frequent = Counter(fitting_stimuli["image_label"].astype(str)).most_common(1)[0][0]
            self._usual = list(self._labels).index(frequent)

    def look_at(self, stimuli: StimulusSet, number_of_trials: int = 1) -> BehavioralAssembly | NeuroidAssembly:
        """Answer by the rule."""
        answer: Any = super().look_at(stimuli, number_of_trials)
        if self._task is None:
            features = _features(self._clue(stimuli))
            bins = [np.roll(features, time_bin, axis=1) for time_bin in range(max(len(self._time_bins), 1))]
            data = np.stack(bins, axis=2).reshape(answer.shape)
        elif self._task == BrainModel.Task.odd_one_out:
            trios = stimuli["stimulus_id"].astype(str).to_numpy(dtype=str).reshape(-1, 3)
            data = trios[np.arange(len(trios)), self._places(stimuli.iloc[::3], ["0", "1", "2"], 1)][np.newaxis]
        else:
            places = self._places(stimuli, list(self._labels), self._usual)
            names = np.array(self._labels)[places][np.newaxis]
            data = names if self._task == BrainModel.Task.label else 0.01 + np.eye(len(self._labels))[places]
        answered: BehavioralAssembly = answer.copy(data=data)
        return answered

    def _clue(self, stimuli: StimulusSet) -> Sequence[object]:
        if self._rule == "guess":
            return [generator.random() for generator in self._generators(stimuli)]
        return CLUES[self._rule.removesuffix(_BLOCKS)](stimuli)

    def _places(self, stimuli: StimulusSet, labels: list[str], usual: int) -> Codes:
        """Return the place of a label for each stimulus."""
        if self._rule in _CONSTANT:
            return np.full(len(stimuli), _CONSTANT[self._rule](labels, usual))
        values = self._clue(stimuli)
        if not self._rule.endswith(_BLOCKS):
            return _named(values, labels) % len(labels)
        ranks = _ranks(values)
        places: Codes = ranks * len(labels) // (ranks.max() + 1)
        return places


@contextmanager
def as_judged(load: Callable[[], BrainModel], folder: Path, **options: Any) -> Iterator[RemoteModel]:
    """Yield a model as the judge's benchmarks see it: over the protocol, in a thread.

    `folder` is for the stimuli; `options` are those of `RemoteModel`.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = threading.Thread(target=serve, args=(Connection(theirs), load), daemon=True)
        thread.start()
        try:
            model = RemoteModel(Connection(ours), folder, **options)
            model.load()
            yield model
        finally:
            ours.close()
            thread.join(10)


def better_than_guesses(
    benchmark: Benchmark, rules: Iterable[str] = RULES, *, visual_degrees: float = 8.0
) -> dict[str, float]:
    """Return the score of each rule that is above chance, judged as in CI.

    Chance is what sixteen models that guess score: the mean and four standard deviations, and .05.
    """
    guesses = [float(_score(benchmark, RandomModel(visual_degrees, seed=seed))) for seed in range(16)]
    most = np.nanmean(guesses) + 4 * np.nanstd(guesses) + 0.05
    scores = scores_by_rule(benchmark, rules, visual_degrees=visual_degrees)
    return {rule: float(score) for rule, score in scores.items() if float(score) > most}


def scores_by_rule(benchmark: Benchmark, rules: Iterable[str], *, visual_degrees: float = 8.0) -> dict[str, Score]:
    """Return the score of a `NeverLooks` for each rule, judged as in CI: in order and from files as handed out."""
    scores = {}
    with tempfile.TemporaryDirectory(prefix="never-looking-") as folder:
        for rule in rules:
            with as_judged(partial(NeverLooks, rule, visual_degrees), Path(folder, rule)) as remote:
                scores[rule] = _score(benchmark, remote)
    return scores


def _score(benchmark: Benchmark, model: BrainModel) -> Score:
    keep_order = getattr(benchmark, "presentation_order", "content") == "experiment"
    return score_benchmark(benchmark, presented(model, keep_order=keep_order))


# -- contract ----------------------------------------------------------------------------------------------------------


class BenchmarkContract(IdentifierContract):
    """It loads, has its key as identifier, version, reference and a valid ceiling, and scores models that look.

    Examples
    --------
    In the ``test.py`` of a benchmark for models with another field of view::

        class TestMine(BenchmarkContract):
            identifier = "Mine2026.IT-pls"

            def candidate(self):
                return RandomModel(visual_degrees=10)
    """

    kind = "benchmark"
    base = "BenchmarkContract"
    why_one_name = "use one name for both: scores are stored under it"

    def load(self) -> Benchmark:
        """Load the benchmark."""
        return load_benchmark(self.identifier)

    def candidate(self) -> BrainModel:
        """Return a model with random answers and the benchmark's visual degrees."""
        degrees = getattr(self.loaded, "_visual_degrees", None)
        return RandomModel(float(degrees) if isinstance(degrees, numbers.Real) else 8.0)

    def test_version(self) -> None:
        """Its version is an integer."""
        version = self.loaded.version
        if isinstance(version, bool) or not isinstance(version, (int, np.integer)):
            self.broken(
                f"has the version {version!r}; expected an int",
                "pass version=1, and increase it by one whenever scores change",
            )

    def test_bibtex(self) -> None:
        """It cites the publication of the experiment."""
        bibtex = self.loaded.bibtex
        if not isinstance(bibtex, str) or "@" not in bibtex or "{" not in bibtex:
            self.broken(
                f"has the reference {_shortened(bibtex)}; expected a BibTeX entry",
                "pass bibtex='@article{...}' with the publication of the experiment",
            )

    def test_ceiling(self) -> None:
        """Its ceiling is above 0 and at most 1."""
        with data_available():
            ceiling = self.loaded.ceiling
        values = np.asarray(ceiling)
        if values.size != 1 or not 0 < values.item() <= 1:
            self.broken(
                f"has the ceiling {_shortened(ceiling)}; expected one number above 0 and at most 1",
                "estimate it from single repetitions or subjects, before averaging",
            )

    def test_scores_a_random_model(self) -> None:
        """A random model gets a score, or the reason (``not_applicable``) for NaN."""
        _, score = self.once("scored", self._scored)
        if not isinstance(score, Score) or score.ndim != 0:
            self.broken(
                f"gave a {type(score).__name__} with sizes {dict(getattr(score, 'sizes', {}))}; expected one Score",
                "return a Score without dimensions, as ceil_score does",
            )
        if not math.isfinite(float(score)) and "not_applicable" not in score.attrs:
            self.broken(
                f"gave a random model the score {float(score)}",
                "check that all stimuli are compared and that constant values are handled",
            )

    def test_who_never_looks_is_at_chance(self) -> None:
        """In a task, models of `never_looking` score like guesses."""
        candidate, _ = self.once("scored", self._scored)
        if not getattr(candidate, "has_behaved", False):
            return
        with data_available():
            better = better_than_guesses(self.loaded, visual_degrees=candidate.visual_degrees())
        if better:
            rules = ", ".join(f"{rule} ({score:.2f})" for rule, score in better.items())
            self.broken(
                f"scores models above chance that never look at a stimulus but answer by these rules: {rules}",
                "present stimuli through a design of brainscore_vision.benchmark_helpers.behaviour, which randomises "
                "their order and removes their labels, and make sure that a constant answer scores at chance",
            )

    def _scored(self) -> tuple[BrainModel, Score]:
        candidate = self.candidate()
        return candidate, self.loaded(candidate)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
