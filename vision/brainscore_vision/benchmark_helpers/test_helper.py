"""Published plugins import this from here."""

from brainscore_vision.benchmark_helpers.stand_ins.plugin_tests import (
    NumberOfTrialsTests,
    PrecomputedTests,
    StandardizedTests,
    VisualDegreesTests,
)

__all__ = ["NumberOfTrialsTests", "PrecomputedTests", "StandardizedTests", "VisualDegreesTests"]
