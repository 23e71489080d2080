"""Models that answer by a stimulus's place, name, columns or bytes."""

from __future__ import annotations

import hashlib
import re
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.scoring.isolation.wire import Connection
from brainscore_vision.isolation.candidate import serve
from brainscore_vision.isolation.proxy import RemoteModel
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.random_model import RandomModel

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

__all__ = ["RULES", "NeverLooks", "as_judged", "better_than_guesses"]

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Question:
    """Stimuli, labels to choose from, and the place of the most frequent one where learned."""

    stimuli: StimulusSet
    labels: list[str]
    usual: int

    def repeated(self, place: int) -> Codes:
        return np.full(len(self.stimuli), place)

    @property
    def ids(self) -> list[str]:
        ids: list[str] = self.stimuli["stimulus_id"].astype(str).tolist()
        return ids

    @property
    def files(self) -> list[Path]:
        return [Path(self.stimuli.get_stimulus(stimulus_id)) for stimulus_id in self.stimuli["stimulus_id"]]

    def named(self, texts: list[str]) -> Codes:
        """Return the label that each text contains; without any, the number in it."""
        found = [[place for place, label in enumerate(self.labels) if label in text] for text in texts]
        numbers = [int("".join(re.findall(r"\d", text))[-15:] or 0) for text in texts]
        return np.array([places[-1] if places else number for places, number in zip(found, numbers, strict=True)])

    def blocks(self, ranks: npt.ArrayLike) -> Codes:
        """Return one label per block of ranks, as in files sorted by label."""
        blocks: Codes = np.asarray(ranks) * len(self.labels) // len(self.stimuli)
        return blocks

    def columns(self) -> Codes:
        """Return the label in a column, else the code of all other columns."""
        others = [self.stimuli[name].astype(str).to_numpy() for name in self.stimuli.columns if name != "stimulus_id"]
        for values in others:
            if set(values) <= set(self.labels):
                return np.array([self.labels.index(value) for value in values])
        joined = ["|".join(row) for row in zip(*others, strict=True)] or [""] * len(self.stimuli)
        return np.unique(joined, return_inverse=True)[1]


RULES: Mapping[str, Callable[[_Question], Codes]] = {
    "first": lambda asked: asked.repeated(0),
    "last": lambda asked: asked.repeated(len(asked.labels) - 1),
    "alphabetical": lambda asked: asked.repeated(asked.labels.index(min(asked.labels))),
    "most frequent": lambda asked: asked.repeated(asked.usual),
    "position": lambda asked: np.arange(len(asked.stimuli)),
    "position in blocks": lambda asked: asked.blocks(np.arange(len(asked.stimuli))),
    "stimulus_id": lambda asked: asked.named(asked.ids),
    "order of stimulus_id": lambda asked: asked.blocks(np.argsort(np.argsort(asked.ids, kind="stable"))),
    "file name": lambda asked: asked.named([file.stem for file in asked.files]),
    "columns": _Question.columns,
    "digest": lambda asked: np.array(
        [int(hashlib.sha256(file.read_bytes()).hexdigest()[:8], 16) for file in asked.files]
    ),
}
"""Name -> the place of the label for each stimulus, modulo their number; of triplets, that of the odd one."""


class NeverLooks(RandomModel):
    """Choose among labels by one of `RULES`; among probabilities, that label has by far the highest."""

    def __init__(self, rule: str, visual_degrees: float = 8.0) -> None:
        super().__init__(visual_degrees)
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
        if self._task == BrainModel.Task.odd_one_out:
            trials = stimuli.iloc[::3] if self._rule in ("position", "columns") else stimuli
            places = RULES[self._rule](_Question(trials, ["0", "1", "2"], 1))[:: 3 * len(trials) // len(stimuli)] % 3
            trios = stimuli["stimulus_id"].astype(str).to_numpy(dtype=str).reshape(-1, 3)
            data = trios[np.arange(len(trios)), places][np.newaxis]
        else:
            places = RULES[self._rule](_Question(stimuli, list(self._labels), self._usual)) % len(self._labels)
            names = np.array(self._labels)[places][np.newaxis]
            data = names if self._task == BrainModel.Task.label else 0.01 + np.eye(len(self._labels))[places]
        answered: BehavioralAssembly = answer.copy(data=data)
        return answered


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
    guesses = [float(benchmark(RandomModel(visual_degrees, seed=seed))) for seed in range(16)]
    most = np.nanmean(guesses) + 4 * np.nanstd(guesses) + 0.05
    scores = {}
    with tempfile.TemporaryDirectory(prefix="never-looking-") as folder:
        for rule in rules:
            with as_judged(partial(NeverLooks, rule, visual_degrees), Path(folder, rule)) as remote:
                scores[rule] = float(benchmark(remote))
    return {rule: score for rule, score in scores.items() if score > most}
