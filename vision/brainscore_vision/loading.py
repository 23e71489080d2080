"""Load data, metrics, benchmarks and models by their identifiers.

Each function finds the plugin that registers the identifier, installs its requirements if requested
(``BS_INSTALL_DEPENDENCIES``), imports it and calls the registered factory.

All raise `UnknownIdentifierError` if no plugin of its kind registers the identifier, and `PluginError` if the plugin
cannot be imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.metrics import Ceiling, Metric, Score
    from brainscore_core.metrics.arrays import Repetitions, Responses
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_interface import BrainModel

    # Subclasses define __call__ for assemblies; their base class makes it take arrays.
    class LoadedMetric(Metric):
        def __call__(
            self,
            assembly1: Responses,
            assembly2: Responses,
            *further: Responses,
            repetitions: Repetitions | None = None,
        ) -> Score: ...

    class LoadedCeiling(Ceiling):
        def __call__(self, assembly: Responses, *, repetitions: Repetitions | None = None) -> Score: ...


__all__ = [
    "find_plugin_directory",
    "known_identifiers",
    "load_benchmark",
    "load_ceiling",
    "load_dataset",
    "load_metric",
    "load_model",
    "load_stimulus_set",
    "naming_library",
    "noting_data",
    "unwatched",
    "watching_loads",
]

_LIBRARY = "brainscore_vision"


# Expected result of each kind of factory: description, test, remedy.
_EXPECTED: dict[str, tuple[str, Callable[[object], bool], str]] = {
    "data": (
        "an assembly with named dimensions and coordinates",
        lambda content: type(content).__module__ != "numpy",  # a plugin may register anything else
        "Label it: NeuroidAssembly(values, coords={'stimulus_id': ('presentation', [...]), ...}, dims=[...]).",
    ),
    "stimulus_set": (
        "a StimulusSet",
        lambda content: hasattr(content, "get_stimulus") or not hasattr(content, "columns"),  # a table is not yet one
        "Make one from a table with a column stimulus_id: StimulusSet(table), then set identifier and stimulus_paths.",
    ),
    "metric": (
        "a metric, which can be called with assemblies",
        callable,
        "Return a function, or an object whose class defines __call__.",
    ),
    "benchmark": (
        "a benchmark, which can be called with a model",
        callable,
        "Return an instance of a subclass of BenchmarkBase.",
    ),
    "model": (
        "a model with a method look_at",
        lambda content: hasattr(content, "look_at"),
        "Wrap a network: ModelCommitment(identifier=..., activations_model=PytorchWrapper(...), layers=[...]).",
    ),
}
_noted: ContextVar[list[tuple[str, str]] | None] = ContextVar("noted", default=None)
Watcher = Callable[[str, str, object], object]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def load_dataset(identifier: str) -> DataAssembly | Any:  # a plugin may register anything
    """Load measurements: a `DataAssembly`, or whatever else the plugin registers."""
    return _load("data", identifier)


def load_stimulus_set(identifier: str) -> StimulusSet:
    """Load stimuli; plugins below ``brainscore_vision/data`` register stimulus sets too."""
    return cast("StimulusSet", _load("stimulus_set", identifier))


def load_metric(identifier: str, *args: Any, **kwargs: Any) -> LoadedMetric:  # arguments of the factory
    """Load a metric: ``metric(source, target)`` returns a `Score`.

    It takes assemblies, and NumPy, torch, pandas or xarray (n_stimuli x n_units, n_repetitions on a third axis): see
    `brainscore_core.metrics.Metric`.

    Further arguments go to the factory, such as ``crossvalidation_kwargs=dict(stratification_coord=None)``.
    """
    _note("metric", identifier)
    return cast("LoadedMetric", _load("metric", identifier, *args, **kwargs))


def load_ceiling(identifier: str, *args: Any, **kwargs: Any) -> LoadedCeiling:  # arguments of the factory
    """Load a ceiling, the highest score that any model could reach: ``ceiling(assembly)`` returns a `Score`.

    It takes an assembly, or an array, n_stimuli x n_units x n_repetitions: see `brainscore_core.metrics.Ceiling`.
    Ceilings are registered as metrics, such as ``'internal_consistency'``.
    """
    return cast("LoadedCeiling", _load("metric", identifier, *args, **kwargs))


def load_benchmark(identifier: str) -> Benchmark:
    """Load a benchmark: ``benchmark(model)`` returns a `Score`."""
    return cast("Benchmark", _load("benchmark", identifier))


def load_model(identifier: str) -> BrainModel:
    """Load a model of the ventral stream, such as ``'pixels'`` or ``'timm:resnet18.a1_in1k'``."""
    return cast("BrainModel", _load("model", identifier))


@contextmanager
def noting_data() -> Iterator[list[tuple[str, str]]]:
    """Collect the loads of data in a block; placeholders are returned for data.

    Gives a growing list of ``('data', 'stimulus_set' or 'metric', identifier)``, each once, in the order of the loads.
    Metrics are loaded.
    """
    loads: list[tuple[str, str]] = []
    token = _noted.set(loads)
    try:
        yield loads
    finally:
        _noted.reset(token)


@contextmanager
def watching_loads(watcher: Watcher | None) -> Iterator[None]:
    """Call ``watcher(kind, identifier, content)`` for everything loaded in a block; None disables tracking."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def unwatched() -> AbstractContextManager[None]:
    """Disable load tracking within the block."""
    return watching_loads(None)


def _note(kind: str, identifier: str) -> bool:
    loads = _noted.get()
    if loads is not None and (kind, identifier) not in loads:
        loads.append((kind, identifier))
    return loads is not None


def _load(kind: str, identifier: str, *args: Any, **kwargs: Any) -> Any:  # whatever the plugin makes
    if kind in ("data", "stimulus_set") and _note(kind, identifier):
        return object()
    from brainscore_core.plugin_management.factories import Expected, make
    from brainscore_core.supported_data_standards.brainio.access import naming_public_variant

    with naming_public_variant(identifier, lambda: known_identifiers(kind)), naming_library(kind, identifier):
        content = make(_LIBRARY, kind, identifier, Expected(*_EXPECTED[kind]), *args, **kwargs)
    if kind == "metric" and getattr(content, "registered_as", "") is None:
        content.registered_as = identifier
    watcher = _watcher.get()
    if watcher is not None:
        watcher(kind, identifier, content)
    return content


# A name as a library or hub writes it, without the scheme that says whose it is.
_OF_LIBRARIES = {
    re.compile(r"(?:hf-hub:)?timm/([\w.-]+)", re.ASCII): "timm:{0}",
    re.compile(r"(?:hf-hub:|https://huggingface\.co/)?([\w.-]+/[\w.-]+)", re.ASCII): "transformers:{0}",
    re.compile(r"([a-z]+\d*(?:_[a-z0-9]+)+(?:\.\w+)?|[a-z]+\d+)", re.ASCII): "timm:{0}' or 'torchvision:{0}",
}


@contextmanager
def naming_library(kind: str, identifier: object) -> Iterator[None]:
    """Add to the error about an unknown model its name with a scheme, if it looks like one of a library."""
    from brainscore_core.errors import UnknownIdentifierError

    try:
        yield
    except UnknownIdentifierError as error:
        for pattern, name in _OF_LIBRARIES.items() if kind == "model" and type(error) is UnknownIdentifierError else ():
            if match := pattern.fullmatch(str(identifier)):
                hint = (
                    "To load a network from a library or hub, put its scheme before the name: "
                    f"'{name.format(match[1])}'."
                )
                raise UnknownIdentifierError(f"{error} {hint}") from error
        raise


def find_plugin_directory(kind: str, identifier: str) -> Path:
    """Return the folder of an identifier's plugin, if possible without importing it.

    Parameters
    ----------
    kind : {'data', 'stimulus_set', 'metric', 'benchmark', 'model'}
        Registry; the names of the folders (``'models'``) work too.

    Raises
    ------
    UnknownIdentifierError
        If no plugin folder registers the identifier. One assigned at run time has no folder.
    """
    from brainscore_core.plugin_management.import_plugin import find_plugin

    return find_plugin(_LIBRARY, kind, identifier).directory


def known_identifiers(kind: str, *, schemes: bool = False) -> list[str]:
    """Return every loadable identifier of one kind, sorted, without importing any plugin.

    Parameters
    ----------
    kind : {'data', 'stimulus_set', 'metric', 'benchmark', 'model'}
        See `find_plugin_directory`; plurals work too.
    schemes
        Whether to import plugins of schemes, such as ``timm:``, and include their names.

    Returns
    -------
    list of str
        Identifiers that plugins register literally and those assigned at run time. Conditional registrations are listed
        although loading them may fail.
    """
    from brainscore_core.plugin_management.import_plugin import known_identifiers_of

    return known_identifiers_of(_LIBRARY, kind, schemes=schemes)
