"""Test what every metric and every ceiling promises."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from brainscore_core.metrics import Score
from brainscore_core.plugin_management.import_plugin import import_plugin
from brainscore_core.testing.contracts import Contract
from brainscore_core.testing.synthetic import (
    make_behavioral_assembly,
    make_neuroid_assembly,
    make_property_assembly,
)

__all__ = ["MetricContract"]

_N_STIMULI = 60
_OneOrTwo = tuple[Any, ...]


class MetricContract(Contract):
    """It gives a finite score, the same whenever it is asked, and leaves its arguments alone.

    What a metric compares is its own affair. `inputs` offers the usual kinds, and the first that the metric takes is
    used; a metric that takes none of them is not tested until its plugin derives from this class and gives its own.

    Attributes
    ----------
    identifier : str
        Key in ``metric_registry``.
    arguments : mapping of str to object
        For the registered factory.
    """

    kind = "metric"
    base = "MetricContract"
    arguments: ClassVar[Mapping[str, Any]] = {}

    def load(self) -> Any:
        """Make the metric."""
        return import_plugin("brainscore_vision", "metric", self.identifier)(**self.arguments)

    def inputs(self) -> Sequence[_OneOrTwo]:
        """Return what the metric may be called with, best first: (source, target), or (assembly,) for a ceiling."""
        return list(_usual_inputs())

    def test_loads(self) -> None:
        """It is made without arguments, and can be called."""
        if not callable(self._metric()):
            self.broken(f"is a {type(self.loaded).__name__}, which cannot be called", "register a class with __call__")

    def test_gives_a_finite_score(self) -> None:
        """The result is a Score without dimensions, and finite."""
        _, score = self._scored()
        if not isinstance(score, Score):
            self.broken(f"returned a {type(score).__name__}; expected a Score", "return Score(...)")
        if score.ndim != 0 or not math.isfinite(float(score)):
            self.broken(
                f"returned {float(score) if score.ndim == 0 else dict(score.sizes)}; expected one finite number",
                "take the mean over splits and neuroids, and say in attrs['raw'] what it was taken of",
            )

    def test_is_deterministic(self) -> None:
        """Asked twice, it says the same."""
        given, first = self._scored()
        again = import_plugin("brainscore_vision", "metric", self.identifier)(**self.arguments)(*_copied(given))
        values = [np.asarray(getattr(score, "values", score), dtype=float) for score in (first, again)]
        if not np.array_equal(*values, equal_nan=True):
            self.broken(
                f"returned {values[0]} and then {values[1]} for the same assemblies",
                "draw from np.random.default_rng(seed) with a fixed seed",
            )

    def test_leaves_its_arguments_alone(self) -> None:
        """Assemblies that it was given are as they were."""
        given, _ = self._scored()
        before, passed = _copied(given), _copied(given)
        self._metric()(*passed)
        if not all(_same(one, other) for one, other in zip(before, passed, strict=True)):
            self.broken("changes the assemblies it is given", "work on copies: callers use theirs again")

    def _metric(self) -> Callable[..., Any]:
        factory = import_plugin("brainscore_vision", "metric", self.identifier)
        missing = _missing_arguments(factory, self.arguments)
        if missing:
            self.unfit(
                f"the registered factory needs arguments: {', '.join(missing)}",
                f"set arguments = {{{missing[0]!r}: ...}}",
            )
        metric: Callable[..., Any] = self.loaded
        return metric

    def _scored(self) -> tuple[_OneOrTwo, Any]:
        """Return the first input that the metric takes, and what it makes of it."""
        metric = self._metric()
        scored: tuple[_OneOrTwo, Any] = self.once("scored", lambda: self._first_that_fits(metric))
        return scored

    def _first_that_fits(self, metric: Callable[..., Any]) -> tuple[_OneOrTwo, Any]:
        own = type(self).inputs is not MetricContract.inputs
        failures: list[str] = []
        poor: tuple[_OneOrTwo, Any] | None = None
        for given in self.inputs():
            if _missing_arguments(metric, given):
                continue
            try:
                score = metric(*_copied(given))
            except Exception as error:
                if own:
                    raise
                failures.append(f"{type(error).__name__}: {error}"[:200])
                continue
            if own or _is_good(score):
                return given, score
            poor = poor or (given, score)
        if poor is not None and not failures:
            return poor
        self.unfit(
            f"it takes none of the usual assemblies ({failures[0] if failures else 'other numbers of arguments'})",
            "return what it compares from inputs()",
        )


def _usual_inputs() -> Iterator[_OneOrTwo]:
    """Yield recordings, choices, probabilities and properties, each for metrics and for ceilings."""
    source = make_neuroid_assembly(_N_STIMULI, 30, seed=1)
    target = make_neuroid_assembly(_N_STIMULI, 12, noise=0.5, seed=1)
    yield source, target
    yield (make_neuroid_assembly(_N_STIMULI, 12, n_repetitions=6, noise=0.5, seed=1),)
    choices = make_behavioral_assembly(_N_STIMULI, n_subjects=4, seed=1)
    yield make_behavioral_assembly(_N_STIMULI, n_subjects=1, seed=2), choices
    yield (choices,)
    shares = make_behavioral_assembly(_N_STIMULI, probabilities=True, seed=1)
    yield shares, make_behavioral_assembly(_N_STIMULI, probabilities=True, accuracy=0.6, seed=2)
    yield make_property_assembly(40, seed=1), make_property_assembly(30, seed=2)
    yield (make_property_assembly(40, seed=1),)
    yield (make_neuroid_assembly(_N_STIMULI, 12, n_repetitions=6, noise=0.5, time_bins=[(0, 50), (50, 100)], seed=1),)


def _missing_arguments(function: Callable[..., Any], given: Mapping[str, Any] | _OneOrTwo) -> list[str]:
    """Return the names of parameters that are required and not given; one name if there are too many values."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    args, kwargs = ((), given) if isinstance(given, Mapping) else (given, {})
    try:
        bound = signature.bind_partial(*args, **kwargs)
    except TypeError as error:
        return [str(error)]
    return [
        name
        for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY, parameter.POSITIONAL_ONLY)
        and name not in bound.arguments
    ]


def _is_good(score: Any) -> bool:
    return isinstance(score, Score) and score.ndim == 0 and math.isfinite(float(score))


def _copied(given: _OneOrTwo) -> _OneOrTwo:
    return tuple(copy.deepcopy(each) for each in given)


def _same(one: Any, other: Any) -> bool:
    if hasattr(one, "identical"):
        return bool(one.identical(other))
    return bool(np.array_equal(one, other))
