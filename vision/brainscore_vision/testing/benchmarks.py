"""Tests of every benchmark."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.metrics import Score
from brainscore_core.testing.contracts import data_available
from brainscore_vision.loading import load_benchmark
from brainscore_vision.testing.identifier import IdentifierContract
from brainscore_vision.testing.never_looking import better_than_guesses
from brainscore_vision.testing.random_model import RandomModel

if TYPE_CHECKING:
    from brainscore_core.benchmarks import Benchmark
    from brainscore_vision.model_interface import BrainModel

__all__ = ["BenchmarkContract"]


class BenchmarkContract(IdentifierContract):
    """It loads, has its key as identifier, version, reference and a valid ceiling, and scores models that look.

    Examples
    --------
    In the ``test.py`` of a benchmark for models with another field of view::

        class TestMine(BenchmarkContract):
            identifier = "Mine2026.IT-pls"

            def candidate(self):
                return RandomModel(visual_degrees=10)
    """

    kind = "benchmark"
    base = "BenchmarkContract"
    why_one_name = "use one name for both: scores are kept under it"

    def load(self) -> Benchmark:
        """Load the benchmark."""
        return load_benchmark(self.identifier)

    def candidate(self) -> BrainModel:
        """Return a model with random answers and the benchmark's visual degrees."""
        degrees = getattr(self.loaded, "_visual_degrees", None)
        return RandomModel(float(degrees) if isinstance(degrees, numbers.Real) else 8.0)

    def test_version(self) -> None:
        """Its version is an integer."""
        version = self.loaded.version
        if isinstance(version, bool) or not isinstance(version, (int, np.integer)):
            self.broken(
                f"has the version {version!r}; expected an int",
                "pass version=1, and raise it by one when scores change",
            )

    def test_bibtex(self) -> None:
        """It cites the publication of the experiment."""
        bibtex = self.loaded.bibtex
        if not isinstance(bibtex, str) or "@" not in bibtex or "{" not in bibtex:
            self.broken(
                f"has the reference {_shortened(bibtex)}; expected a BibTeX entry",
                "pass bibtex='@article{...}' with the publication of the experiment",
            )

    def test_ceiling(self) -> None:
        """Its ceiling is above 0 and at most 1."""
        with data_available():
            ceiling = self.loaded.ceiling
        values = np.asarray(ceiling)
        if values.size != 1 or not 0 < values.item() <= 1:
            self.broken(
                f"has the ceiling {_shortened(ceiling)}; expected one number above 0 and at most 1",
                "estimate it from repetitions or subjects that are apart, not averaged",
            )

    def test_scores_a_random_model(self) -> None:
        """A random model gets a score, or the reason (``not_applicable``) for NaN."""
        _, score = self.once("scored", self._scored)
        if not isinstance(score, Score) or score.ndim != 0:
            self.broken(
                f"gave a {type(score).__name__} with sizes {dict(getattr(score, 'sizes', {}))}; expected one Score",
                "return a Score without dimensions, such as that of ceil_score",
            )
        if not math.isfinite(float(score)) and "not_applicable" not in score.attrs:
            self.broken(
                f"gave a random model the score {float(score)}",
                "check that all stimuli are compared, and what happens to values that do not vary",
            )

    def test_who_never_looks_is_at_chance(self) -> None:
        """In a task, models of `never_looking` score like guesses."""
        candidate, _ = self.once("scored", self._scored)
        if not getattr(candidate, "has_behaved", False):
            return
        with data_available():
            better = better_than_guesses(self.loaded, visual_degrees=candidate.visual_degrees())
        if better:
            rules = ", ".join(f"{rule} ({score:.2f})" for rule, score in better.items())
            self.broken(
                f"scores models above chance that never look at a stimulus, but answer by: {rules}",
                "show stimuli through a design of brainscore_vision.benchmark_helpers.behaviour, which draws their "
                "order and leaves out their labels, and let a constant answer score as guesses do",
            )

    def _scored(self) -> tuple[BrainModel, Score]:
        candidate = self.candidate()
        return candidate, self.loaded(candidate)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
