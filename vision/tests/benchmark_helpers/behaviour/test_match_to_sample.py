import pytest

from brainscore_core.errors import ContractError
from brainscore_vision.benchmark_helpers.behaviour.match_to_sample import MatchToSampleBenchmark


@pytest.mark.parametrize("metric", ["i2n", None, MatchToSampleBenchmark])
def test_rejects_a_non_metric_on_construction(metric):
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
