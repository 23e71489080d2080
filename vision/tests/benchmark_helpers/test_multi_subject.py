import numpy as np
import pytest

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.statistics.influence import Influence
from brainscore_vision.benchmark_helpers.multi_subject import KFoldNeuralBenchmark, MultiSubjectNeuralBenchmark
from brainscore_vision.benchmark_helpers.scores.normalization import note_error_over_folds
from brainscore_vision.benchmark_helpers.validate_error import assert_valid_uncertainty

SCORES = {"anna": 0.2, "bert": 0.5, "cleo": 0.8}
alive: list = []


class Child(BenchmarkBase):
    region = "V4"
    timebins = ((70, 170),)

    def __init__(self, value):
        super().__init__("child", ceiling_func=lambda: 1 - value / 2, version=4, parent="V4", bibtex="@x{y}")
        self._assembly = np.zeros(3)
        self._value = value
        alive.append(self)

    def __call__(self, candidate):
        score = Score(candidate * self._value)
        score.attrs["raw"] = Score(candidate * self._value / 2)
        return score


@pytest.fixture(autouse=True)
def no_children_alive():
    alive.clear()


def subjects(names=tuple(SCORES)):
    return MultiSubjectNeuralBenchmark("Many2026.V4-pls", names, lambda name: Child(SCORES[name]))


def test_score_and_ceiling_are_means_over_subjects():
    benchmark = subjects()
    score = benchmark(1.0)
    assert float(score) == pytest.approx(0.5)
    assert float(score.raw) == pytest.approx(0.25)
    assert float(score.ceiling) == pytest.approx(0.75)
    assert float(benchmark.ceiling) == pytest.approx(0.75)
    np.testing.assert_allclose(score.attrs["raw_subjects"].sel(subject="bert"), 0.5)
    assert float(score.attrs["cleo"]) == pytest.approx(0.8)
    assert score.attrs["sem_subjects"] == pytest.approx(0.3 / np.sqrt(3))
    assert score.attrs["error"] == pytest.approx(0.3 / np.sqrt(3))
    assert score.attrs["error_over"] == ["subject"]
    assert_valid_uncertainty(score)


def experiment(rng, n_subjects=5, n_stimuli=40, n_neuroids=30):
    """Return the responses of each subject to all stimuli: subjects share an effect of each stimulus and differ by an
    offset."""
    of_stimuli = rng.normal(size=(n_stimuli, 1))
    return [of_stimuli + rng.normal() + rng.normal(size=(n_stimuli, n_neuroids)) for _ in range(n_subjects)]


def of_table(table):
    score = Score(table.mean())
    return attach_influence(score, Influence.of_mean(table, *(np.arange(size) for size in table.shape)))


class Known(Child):
    """Its score is the mean of a table."""

    def __init__(self, table):
        super().__init__(0.5)
        self.table = table

    def __call__(self, candidate):
        return of_table(self.table)


def test_error_is_over_subjects_and_their_shared_stimuli():
    rng = np.random.default_rng(0)
    scores, errors, held = [], [], 0
    for _ in range(200):
        tables = dict(enumerate(experiment(rng)))
        score = MultiSubjectNeuralBenchmark("Many2026.V4-pls", list(tables), lambda name, of=tables: Known(of[name]))(1)
        scores.append(float(score))
        errors.append(score.attrs["error"])
        low, high = score.attrs["interval"]
        held += low <= 0 <= high
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(scores), rel=0.15)
    assert 182 <= held <= 198
    assert score.attrs["error_over"] == ["stimulus", "subject"]


def test_error_over_folds_matches_that_of_the_whole_data():
    table = experiment(np.random.default_rng(1), 1)[0]
    folds = [np.arange(fold, 40, 4) for fold in range(4)]

    def of_fold(fold):
        rows = folds[fold]
        score = Score(table[rows].mean())
        return attach_influence(score, Influence.of_mean(table[rows], rows, np.arange(30)))

    whole = of_table(table)
    score = note_error_over_folds(Score(table.mean()), [of_fold(fold) for fold in range(4)])
    assert score.attrs["error"] == pytest.approx(whole.attrs["error"], rel=0.1)
    assert score.attrs["error_over"] == ["stimulus", "neuroid"]
    assert score.attrs["split_error"] < score.attrs["error"] * 2


def test_metadata_come_from_the_first_child():
    benchmark = subjects()
    assert (benchmark.version, benchmark.parent, benchmark.region, benchmark.bibtex) == (4, "V4", "V4", "@x{y}")
    assert benchmark.identifier == "Many2026.V4-pls"
    assert list(benchmark.timebins) == [(70, 170)]


def test_children_release_their_recordings():
    benchmark = subjects()
    assert alive[0]._assembly is None
    benchmark(1.0)
    assert len(alive) == 4
    assert all(child._assembly is None for child in alive)


def test_score_and_ceiling_are_means_over_folds():
    benchmark = KFoldNeuralBenchmark("Fold2026.V4-ridge", 3, lambda fold: Child((fold + 1) / 5))
    score = benchmark(0.5)
    np.testing.assert_allclose(score.attrs["raw_folds"], [0.1, 0.2, 0.3])
    assert [float(fold) for fold in score.attrs["folds"]] == pytest.approx([0.1, 0.2, 0.3])
    assert float(score) == pytest.approx(0.2)
    assert score.attrs["split_error"] == pytest.approx(0.1 / np.sqrt(3))
    assert np.isnan(score.attrs["error"])
    assert "share their data" in score.attrs["error_nan_reason"]
    assert_valid_uncertainty(score)
    np.testing.assert_allclose(benchmark.ceiling.attrs["raw_folds"], [0.9, 0.8, 0.7])


def test_a_single_child_has_no_error_with_a_reason():
    score = subjects(["anna"])(1.0)
    assert np.isnan(score.attrs["error"])
    assert "single subject" in score.attrs["error_nan_reason"]
    assert np.isnan([score.attrs["sem_subjects"], score.ceiling.attrs["sem"], score.ceiling.attrs["error"]]).all()
    assert "fewer than two subjects" in score.ceiling.attrs["error_nan_reason"]
    assert_valid_uncertainty(score)


def test_rejects_zero_children():
    with pytest.raises(ValueError, match="at least one"):
        subjects([])
    with pytest.raises(ValueError, match="at least one"):
        KFoldNeuralBenchmark("Fold2026.V4-ridge", 0, Child)


def test_preallocate_memory_delegates_to_a_child():
    class Large(Child):
        def preallocate_memory(self, candidate):
            raise MemoryError(f"{candidate} does not fit")

    benchmark = KFoldNeuralBenchmark("Fold2026.V4-ridge", 2, lambda fold: Large(0.5))
    with pytest.raises(MemoryError, match="me does not"):
        benchmark.preallocate_memory("me")
    assert benchmark.preallocate_memory("me", raise_if_oom=False) is None
    assert subjects().preallocate_memory("me") is None
