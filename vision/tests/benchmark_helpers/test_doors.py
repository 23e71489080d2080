from brainscore_vision import benchmark_helpers
from brainscore_vision.benchmark_helpers import neural_common
from brainscore_vision.benchmark_helpers.scores import normalization


def test_bound_score_is_at_its_published_paths():
    assert benchmark_helpers.bound_score is neural_common.bound_score is normalization.bound_score
