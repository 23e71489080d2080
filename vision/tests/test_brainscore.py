import importlib

import pytest

import brainscore
import brainscore_vision

MODULES = {
    "benchmarks": "benchmarks",
    "benchmarks.screen": "benchmark_helpers.screen",
    "metrics": "metrics",
    "metrics.image_level_behavior": "metrics.i1i2.metric",
    "model_interface": "model_interface",
    "utils": "utils",
}


@pytest.mark.parametrize(("first", "today"), MODULES.items())
def test_old_modules_are_the_current_ones(first, today):
    module = importlib.import_module(f"brainscore.{first}")
    assert module is importlib.import_module(f"brainscore_vision.{today}")


def test_functions_of_the_old_tutorial_exist():
    assert brainscore.get_assembly is brainscore_vision.load_dataset
    assert brainscore.get_stimulus_set is brainscore_vision.load_stimulus_set
    assert brainscore.score is brainscore_vision.score
    assert [name for name in brainscore.__all__ if not hasattr(brainscore, name)] == []
