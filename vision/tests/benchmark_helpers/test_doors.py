from brainscore_vision import benchmark_helpers
from brainscore_vision.benchmark_helpers import neural_common
from brainscore_vision.benchmark_helpers.scores import normalization


def test_scores_are_bound_where_tutorials_look_for_it():
    assert benchmark_helpers.bound_score is neural_common.bound_score is normalization.bound_score
