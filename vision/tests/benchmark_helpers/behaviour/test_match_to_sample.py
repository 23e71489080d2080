import pytest

from brainscore_core.errors import ContractError
from brainscore_vision.benchmark_helpers.behaviour.match_to_sample import MatchToSampleBenchmark


@pytest.mark.parametrize("metric", ["i2n", None, MatchToSampleBenchmark])
def test_what_is_no_metric_is_refused_when_the_benchmark_is_built(metric):
    with pytest.raises(ContractError, match=r"The metric of benchmark 'Lab2026-i2n'.*metric="):
        MatchToSampleBenchmark(
            "Lab2026-i2n",
            metric,
            load_trials=pytest.fail,
            load_fitting_stimuli=pytest.fail,
            visual_degrees=8,
            parent="behavior",
            bibtex="",
        )
