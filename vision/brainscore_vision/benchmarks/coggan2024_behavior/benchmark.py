"""Let a model learn eight objects and name them behind occluders, and compare the difficulty of occluders with people.

With ``h_c`` the accuracy of one person in condition ``c`` (type and colour of the occluder, over all degrees of
occlusion) and ``m_c`` that of the model on the same images, the raw score is ``r = mean_subjects corr_c(h, m)``. The
ceiling ``r_max`` is the same with the mean of the other people in place of the model (Nili et al., 2014,
doi:10.1371/journal.pcbi.1003553, lower bound), and ``score = sign(r) (r / r_max)^2``.
"""

import numpy as np

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import load_ceiling, load_dataset, load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.choices import learned_choices
from brainscore_vision.benchmark_helpers.checks import name_tested
from brainscore_vision.benchmarks import BenchmarkBase, ceil_score
from brainscore_vision.data_helpers import cite_data
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, one_each
from brainscore_vision.metric_helpers.uncertainty.errors import note_error, standard_error
from brainscore_vision.metrics import Score
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.utils import LazyLoad, loaded

BIBTEX = cite_data("coggan2024_behavior")

VISUAL_DEGREES = 10


class ConditionWiseAccuracySimilarity(BenchmarkBase):
    """Agreement of a model and people on the difficulty of occluders.

    With `published`, the score has no sign: opposite difficulties score well.
    """

    def __init__(self, *, published: bool = False) -> None:
        self._published = published
        self._assembly = LazyLoad(lambda: load_dataset("Coggan2024_behavior"))
        self._fitting_stimuli = LazyLoad(lambda: load_stimulus_set("Coggan2024_behavior_fitting"))
        super().__init__(
            "tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity",
            ceiling_func=self._agreement_of_people,
            version=1,
            parent="behavior",
            bibtex=BIBTEX,
        )

    def __call__(self, candidate: BrainModel) -> Score:
        """Score a candidate; not clipped.

        Equal accuracy in all conditions of a subject counts as a correlation of 0.
        """
        assembly = loaded(self._assembly)
        choices = learned_choices(
            candidate, assembly.stimulus_set, loaded(self._fitting_stimuli), visual_degrees=VISUAL_DEGREES
        )
        choice_of = dict(zip(choices["stimulus_id"].values.astype(str), choices.values.astype(str), strict=True))
        named = np.array([choice_of[name] for name in coordinate(assembly, "stimulus_id").astype(str)])
        is_right = named == coordinate(assembly, "object_class").astype(str)
        subjects, people = accuracies(assembly, coordinate(assembly, "human_accuracy"))
        _, model = accuracies(assembly, is_right)
        by_subject = np.nan_to_num(pearson_columns(people.T, model.T))
        raw = Score(by_subject.mean())
        raw.attrs.update(raw=one_each(by_subject, "subject", subjects), quantity="correlation")
        note_error(raw, standard_error(by_subject), over="subject", n=len(subjects))
        ratio = ceil_score(raw, self.ceiling)
        score = Score(float(ratio) * (float(ratio) if self._published else abs(float(ratio))))
        score.attrs.update({**ratio.attrs, "error": 2 * abs(float(ratio)) * ratio.attrs["error"]})
        score.attrs.update(
            n_stimuli=len(assembly.stimulus_set), n_trials=int(assembly.sizes["presentation"]), n_subjects=len(subjects)
        )
        name_tested(score, assembly)
        return score

    def _agreement_of_people(self) -> Score:
        assembly = loaded(self._assembly)
        subjects, people = accuracies(assembly, coordinate(assembly, "human_accuracy"))
        n_conditions = people.shape[1]
        table = BehavioralAssembly(
            people.ravel(),
            coords={
                "subject": ("presentation", np.repeat(subjects, n_conditions)),
                "stimulus_id": (
                    "presentation",
                    np.tile([f"condition {i}" for i in range(n_conditions)], len(subjects)),
                ),
            },
            dims=["presentation"],
        )
        return load_ceiling("leave_one_subject_out", bound="lower")(table)


def accuracies(assembly, is_right):
    """Return subjects, and accuracies with occluders, shape (n_subjects, n_conditions).

    `is_right` is 1 for right answers, 0 for wrong ones; a ``visibility`` of 1 is not occluded. `AssemblyError` if a
    subject lacks a condition.
    """
    occluded = coordinate(assembly, "visibility").astype(float) < 1
    names = [coordinate(assembly, name).astype(str)[occluded] for name in ("occluder_type", "occluder_color")]
    conditions, condition = np.unique(np.char.add(np.char.add(names[0], " "), names[1]), return_inverse=True)
    subjects, subject = np.unique(coordinate(assembly, "subject")[occluded], return_inverse=True)
    cell, size = subject * len(conditions) + condition, len(subjects) * len(conditions)
    number = np.bincount(cell, minlength=size).reshape(len(subjects), -1)
    if not number.all():
        row, column = (int(place[0]) for place in np.nonzero(number == 0))
        raise AssemblyError(
            f"{int((number == 0).sum())} of {size} combinations of subject and condition have no trials, such as "
            f"subject {str(subjects[row])!r} and {str(conditions[column])!r}. Every subject needs trials in every "
            "condition."
        )
    right = np.bincount(cell, weights=np.asarray(is_right, dtype=float)[occluded], minlength=size)
    return subjects, right.reshape(number.shape) / number
