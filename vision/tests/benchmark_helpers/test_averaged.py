import numpy as np
import pytest

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_vision.benchmark_helpers.multi_subject import (
    WRAPPER_N_BOOTSTRAP,
    KFoldNeuralBenchmark,
    MultiSubjectNeuralBenchmark,
)
from brainscore_vision.benchmark_helpers.validate_error import assert_valid_uncertainty
from brainscore_vision.metric_helpers.uncertainty.bootstrap import bootstrap_error

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
def none_alive():
    alive.clear()


def subjects(names=tuple(SCORES)):
    return MultiSubjectNeuralBenchmark("Many2026.V4-pls", names, lambda name: Child(SCORES[name]))


def test_mean_over_subjects():
    benchmark = subjects()
    score = benchmark(1.0)
    assert float(score) == pytest.approx(0.5)
    assert float(score.raw) == pytest.approx(0.25)
    assert float(score.ceiling) == pytest.approx(0.75)
    assert float(benchmark.ceiling) == pytest.approx(0.75)
    np.testing.assert_allclose(score.attrs["raw_subjects"].sel(subject="bert"), 0.5)
    assert float(score.attrs["cleo"]) == pytest.approx(0.8)
    assert score.attrs["sem_subjects"] == pytest.approx(0.3 / np.sqrt(3))
    expected = bootstrap_error(score.attrs["raw_subjects"], ["subject"], n_bootstrap=WRAPPER_N_BOOTSTRAP)
    assert score.attrs["error"] == expected
    assert_valid_uncertainty(score)


def test_what_it_is_comes_from_the_first_child():
    benchmark = subjects()
    assert (benchmark.version, benchmark.parent, benchmark.region, benchmark.bibtex) == (4, "V4", "V4", "@x{y}")
    assert benchmark.identifier == "Many2026.V4-pls"
    assert list(benchmark.timebins) == [(70, 170)]


def test_children_let_go_of_their_recordings():
    benchmark = subjects()
    assert alive[0]._assembly is None
    benchmark(1.0)
    assert len(alive) == 4
    assert all(child._assembly is None for child in alive)


def test_mean_over_folds():
    benchmark = KFoldNeuralBenchmark("Fold2026.V4-ridge", 3, lambda fold: Child((fold + 1) / 5))
    score = benchmark(0.5)
    np.testing.assert_allclose(score.attrs["raw_folds"], [0.1, 0.2, 0.3])
    assert [float(fold) for fold in score.attrs["folds"]] == pytest.approx([0.1, 0.2, 0.3])
    assert float(score) == pytest.approx(0.2)
    assert score.attrs["error_over"] == ["fold"]
    np.testing.assert_allclose(benchmark.ceiling.attrs["raw_folds"], [0.9, 0.8, 0.7])


def test_a_single_child_has_no_error_and_says_why():
    score = subjects(["anna"])(1.0)
    assert np.isnan(score.attrs["error"])
    assert "single subject" in score.attrs["error_nan_reason"]
    assert np.isnan([score.attrs["sem_subjects"], score.ceiling.attrs["sem"], score.ceiling.attrs["error"]]).all()
    assert "fewer than two subjects" in score.ceiling.attrs["error_nan_reason"]
    assert_valid_uncertainty(score)


def test_none_at_all():
    with pytest.raises(ValueError, match="at least one"):
        subjects([])
    with pytest.raises(ValueError, match="at least one"):
        KFoldNeuralBenchmark("Fold2026.V4-ridge", 0, Child)


def test_memory_is_asked_of_a_child():
    class Large(Child):
        def preallocate_memory(self, candidate):
            raise MemoryError(f"{candidate} does not fit")

    benchmark = KFoldNeuralBenchmark("Fold2026.V4-ridge", 2, lambda fold: Large(0.5))
    with pytest.raises(MemoryError, match="me does not"):
        benchmark.preallocate_memory("me")
    assert benchmark.preallocate_memory("me", raise_if_oom=False) is None
    assert subjects().preallocate_memory("me") is None
