"""Tests of every metric and every ceiling."""

import copy
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from brainscore_core.metrics import Ceiling, Metric, Score
from brainscore_core.plugin_management.import_plugin import import_plugin
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_core.testing.contracts import Contract
from brainscore_core.testing.synthetic import make_behavioral_assembly, make_neuroid_assembly, make_property_assembly

__all__ = ["MetricContract"]

_N_STIMULI = 60
_Given = tuple[DataAssembly, ...]


class MetricContract(Contract):
    """It gives a finite, deterministic score and does not change its arguments.

    The first kind of `inputs` that the metric accepts is used; override `inputs` if it accepts none.

    Examples
    --------
    In the ``test.py`` of a metric whose factory needs an argument::

        class TestMine(MetricContract):
            identifier = "my_metric"
            arguments = {"seed": 0}
    """

    kind = "metric"
    base = "MetricContract"
    arguments: ClassVar[Mapping[str, object]] = {}

    def load(self) -> Metric | Ceiling:
        """Make the metric."""
        factory = import_plugin("brainscore_vision", "metric", self.identifier)
        missing = _missing_arguments(factory, self.arguments)
        if missing:
            self.unfit(f"the registered factory needs {', '.join(missing)}", f"set arguments = {{{missing[0]!r}: ...}}")
        try:
            metric: Metric | Ceiling = factory(**self.arguments)
        except (TypeError, ValueError) as error:
            if self.arguments:
                raise
            self.unfit(f"it cannot be created without arguments ({_shown(error)})", "set arguments = {...}")
        return metric

    def inputs(self) -> Sequence[_Given]:
        """Return possible arguments, best first: (source, target), or (assembly,) for a ceiling."""
        return list(_usual_inputs())

    def test_loads(self) -> None:
        """It is created without arguments, and can be called."""
        if not callable(self.loaded):
            self.broken(f"is a {type(self.loaded).__name__}, which cannot be called", "register a class with __call__")

    def test_gives_a_finite_score(self) -> None:
        """The result is a Score without dimensions, and finite."""
        _, score = self._scored()
        if not isinstance(score, Score):
            self.broken(f"returned a {type(score).__name__}; expected a Score", "return Score(...)")
        if score.ndim != 0 or not math.isfinite(float(score)):
            self.broken(
                f"returned {float(score) if score.ndim == 0 else dict(score.sizes)}; expected one finite number",
                "take the mean over splits and neuroids, and keep the averaged values in attrs['raw']",
            )

    def test_is_deterministic(self) -> None:
        """Calling it twice gives the same score."""
        inputs, first = self._scored()
        again = self.load()(*_copied(inputs))
        one, other = (np.asarray(getattr(score, "values", score), dtype=float) for score in (first, again))
        if not np.array_equal(one, other, equal_nan=True):
            self.broken(
                f"returned {one} and then {other} for the same assemblies",
                "draw from np.random.default_rng(seed) with a fixed seed",
            )

    def test_leaves_its_arguments_alone(self) -> None:
        """Assemblies passed to it are unchanged."""
        inputs, _ = self._scored()
        originals, passed = _copied(inputs), _copied(inputs)
        self.loaded(*passed)
        if not all(_same(one, other) for one, other in zip(originals, passed, strict=True)):
            self.broken("changes the assemblies it is given", "work on copies: callers use their assemblies again")

    def _scored(self) -> tuple[_Given, Score]:
        scored: tuple[_Given, Score] = self.once("scored", lambda: self._first_that_fits(self.loaded))
        return scored

    def _first_that_fits(self, metric: Callable[..., Score]) -> tuple[_Given, Score]:
        own = type(self).inputs is not MetricContract.inputs
        failures: list[str] = []
        poor: tuple[_Given, Score] | None = None
        for inputs in self.inputs():
            if _missing_arguments(metric, inputs):
                continue
            try:
                score = metric(*_copied(inputs))
            except Exception as error:
                if own:
                    raise
                failures.append(_shown(error))
                continue
            if own or (isinstance(score, Score) and score.ndim == 0 and math.isfinite(float(score))):
                return inputs, score
            poor = poor or (inputs, score)
        if poor is not None and not failures:
            return poor
        return self.unfit(
            f"it takes none of the usual assemblies ({failures[0] if failures else 'other numbers of arguments'})",
            "return its arguments from inputs()",
        )


def _usual_inputs() -> Iterator[_Given]:
    bins = [(0.0, 50.0), (50.0, 100.0)]
    source, target = _recordings(30, seed=1), _recordings(28, noise=0.5, seed=1)
    repeated = _recordings(28, n_repetitions=6, noise=0.5, seed=1)
    yield source, target
    yield (repeated,)
    yield source, repeated
    yield _recordings(30, time_bins=bins, seed=1), _recordings(28, time_bins=bins, noise=0.5, seed=1)
    yield (_recordings(28, n_repetitions=6, time_bins=bins, noise=0.5, seed=1),)
    half = _N_STIMULI // 2
    yield source[:half], source[half:], target[:half], target[half:]
    people, person = (make_behavioral_assembly(_N_STIMULI, n_subjects=n, seed=n) for n in (4, 1))
    yield person, people
    yield person, make_behavioral_assembly(_N_STIMULI, n_subjects=1, seed=2)
    yield (people,)
    shares = make_behavioral_assembly(_N_STIMULI, probabilities=True, seed=1)
    yield shares, make_behavioral_assembly(_N_STIMULI, probabilities=True, accuracy=0.6, seed=2)
    yield make_property_assembly(40, seed=1), make_property_assembly(30, seed=2)
    yield (make_property_assembly(40, seed=1),)


def _recordings(n_neuroids: int, **kwargs: Any) -> NeuroidAssembly:  # checked by make_neuroid_assembly
    return make_neuroid_assembly(_N_STIMULI, n_neuroids, **kwargs)


def _shown(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _missing_arguments(function: Callable[..., Score], given: Mapping[str, object] | _Given) -> list[str]:
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


def _copied(given: _Given) -> _Given:
    return tuple(copy.deepcopy(assembly) for assembly in given)


def _same(one: DataAssembly, other: DataAssembly) -> bool:
    return one.identical(other) if hasattr(one, "identical") else np.array_equal(one, other)
