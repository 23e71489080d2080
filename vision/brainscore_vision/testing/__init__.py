"""Let plugins inherit the tests that plugins of their kind have to pass, and lend them a model that answers at random.

Derive from a class here in ``test.py`` and name an identifier; identifiers that no class names are tested in the same
way by ``nox -s test_plugin``::

    from brainscore_vision.testing import BenchmarkContract

    class TestMine(BenchmarkContract):
        identifier = "Mine2026.IT-pls"

What does not fit is left out with its reason (``left_out = {"test_bibtex": "unpublished"}``), and methods that make the
inputs of tests can be overridden.
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
