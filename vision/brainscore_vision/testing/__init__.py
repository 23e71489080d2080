"""Tests that plugins inherit by kind, and a model that answers at random.

Derive from a class here in ``test.py`` and set an identifier; ``nox -s test_plugin`` tests all other identifiers in the
same way::

    from brainscore_vision.testing import BenchmarkContract

    class TestMine(BenchmarkContract):
        identifier = "Mine2026.IT-pls"

Skip a test with its reason (``left_out = {"test_bibtex": "unpublished"}``); override the methods that make inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from brainscore_vision.testing.benchmarks import BenchmarkContract
from brainscore_vision.testing.data import DataContract, StimulusSetContract
from brainscore_vision.testing.metrics import MetricContract
from brainscore_vision.testing.models import ModelContract
from brainscore_vision.testing.random_model import RandomModel

if TYPE_CHECKING:
    from brainscore_core.testing.contracts import Contract

__all__ = [
    "CONTRACTS",
    "BenchmarkContract",
    "DataContract",
    "MetricContract",
    "ModelContract",
    "RandomModel",
    "StimulusSetContract",
]

CONTRACTS: Mapping[str, type[Contract]] = {
    "data": DataContract,
    "stimulus_set": StimulusSetContract,
    "metric": MetricContract,
    "benchmark": BenchmarkContract,
    "model": ModelContract,
}
"""The contract of each kind of plugin."""
