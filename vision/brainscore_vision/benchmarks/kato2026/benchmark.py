"""Ask a model to name pictures whose form is changed, and compare its answers with people's (Kato & He 2026).

People and models choose among 48 kinds of objects, models also ``kato2026_others``, which stands for all other classes
of ImageNet. ``error_consistency`` is the agreement with people on which pictures are named correctly, beyond that
expected from equal accuracy; ``accuracy_distance`` the closeness of accuracies. The ceiling is that between people.

A model is asked about those changed pictures only that it names correctly when they are unchanged (``Ori``;
silhouettes, ``Sil``, for ``Sparse`` and ``Dense``): pictures that it does not know reveal nothing about the change. A
model that always gives the same answer would then be right about all remaining pictures without having looked, so it
is not scored.
"""

from functools import partial
from typing import Any

import numpy as np

from brainscore_core.errors import NotApplicableError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.choices import named_choices
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

BIBTEX = cite_data("kato2026")

UNCHANGED = {"Ori": None, "Sparse": "Sil", "Dense": "Sil"}  # of other forms: Ori


class Kato2026(AgreementWithPeople):
    """Agreement of a model with people about one form, such as ``'Sil'``, by one metric.

    With `published`, the score and error of ``load_metric(..., compat=True)``.
    """

    def __init__(self, form: str, metric: str, *, published: bool = False) -> None:
        unchanged = UNCHANGED.get(form, "Ori")
        self._unchanged: Any = unchanged and LazyLoad(lambda: load_stimulus_set(f"Kato2026.{unchanged}"))
        super().__init__(
            f"Kato2026{form}-{metric}",
            load_metric(f"kato_{metric}", compat=published),
            lambda: load_dataset(f"Kato2026.{form}"),
            visual_degrees=10,
            parent="Kato2026",
            bibtex=BIBTEX,
        )

    def choices(self, candidate: BrainModel) -> BehavioralAssembly:
        """Return the model's choices, dims (presentation); none for pictures that it does not know unchanged.

        `NotApplicableError` if it knows none, or gives all unchanged ones the same answer.
        """
        labels = [*self._assembly["truth"].values, "kato2026_others"]
        name = partial(named_choices, candidate, labels=labels, visual_degrees=self._visual_degrees, aggregation="max")
        answers = name(self._assembly.stimulus_set)
        if self._unchanged is None:
            return answers
        before = name(loaded(self._unchanged))
        right = before.values == before["truth"].values.astype(str)
        if len(set(before.values)) == 1 or not right.any():
            raise NotApplicableError(
                f"Model {candidate.identifier!r} gives the same answer to all {right.size} unchanged pictures, or "
                f"answers none of them correctly, so {self.identifier!r} has nothing to compare."
            )
        # After the last "_" stands the form of a picture, before it the name of the photograph.
        photographs = [[text.rpartition("_")[0] for text in each["stimulus_id"].values] for each in (answers, before)]
        known = np.isin(photographs[0], np.array(photographs[1])[right])
        return answers.copy(data=np.where(known, answers.values, ""))  # no answer, to the metrics
