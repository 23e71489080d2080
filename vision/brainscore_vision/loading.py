"""Load data, metrics, benchmarks and models by their identifiers.

Each function finds the plugin that registers the identifier, installs what it requires if that is wanted
(``BS_INSTALL_DEPENDENCIES``), imports it and calls the registered factory. Every call builds a new object.

All raise `UnknownIdentifierError` if no plugin in the folder of its kind registers the identifier, and `PluginError` if
the plugin cannot be imported. The plugin system is imported when something is loaded, so that a plugin can import these
functions at little cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pathlib import Path

    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.metrics import Ceiling, Metric
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.model_interface import BrainModel

__all__ = [
    "find_plugin_directory",
    "known_identifiers",
    "load_benchmark",
    "load_ceiling",
    "load_dataset",
    "load_metric",
    "load_model",
    "load_stimulus_set",
    "noting_data",
    "unwatched",
    "watching_loads",
]

_LIBRARY = "brainscore_vision"


# What each kind of factory has to make: in words, as a test, and how to get there.
_EXPECTED: dict[str, tuple[str, Callable[[object], bool], str]] = {
    "data": (
        "an assembly, which has names for its dimensions and coordinates",
        lambda made: type(made).__module__ != "numpy",  # a plugin may register anything else
        "Label it: NeuroidAssembly(values, coords={'stimulus_id': ('presentation', [...]), ...}, dims=[...]).",
    ),
    "stimulus_set": (
        "a StimulusSet",
        lambda made: hasattr(made, "get_stimulus") or not hasattr(made, "columns"),  # a table is not yet one
        "Make one of a table: StimulusSet(table), with the column stimulus_id, and set identifier and stimulus_paths.",
    ),
    "metric": (
        "a metric, which is called with assemblies",
        callable,
        "Return an object of a class with __call__, or a function.",
    ),
    "benchmark": (
        "a benchmark, which is called with a model",
        callable,
        "Return an object of a class that derives from BenchmarkBase.",
    ),
    "model": (
        "a model, which has a method look_at",
        lambda made: hasattr(made, "look_at"),
        "Wrap a network: ModelCommitment(identifier=..., activations_model=PytorchWrapper(...), layers=[...]).",
    ),
}
_noted: ContextVar[list[tuple[str, str]] | None] = ContextVar("noted", default=None)
Watcher = Callable[[str, str, object], object]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def load_dataset(identifier: str) -> DataAssembly | Any:  # a plugin may register anything
    """Load measurements, such as recordings or choices.

    Parameters
    ----------
    identifier : str
        Key in ``data_registry``, such as ``'MajajHong2015.public'``.

    Returns
    -------
    DataAssembly
        Or whatever else the plugin registers. Loaded anew at every call.
    """
    return _load("data", identifier)


def load_stimulus_set(identifier: str) -> StimulusSet:
    """Load stimuli.

    Parameters
    ----------
    identifier : str
        Key in ``stimulus_set_registry``. Plugins below ``brainscore_vision/data`` register stimulus sets too.
    """
    return cast("StimulusSet", _load("stimulus_set", identifier))


def load_metric(identifier: str, *args: Any, **kwargs: Any) -> Metric:  # arguments of the factory
    """Load a metric, which compares two assemblies.

    Parameters
    ----------
    identifier : str
        Key in ``metric_registry``, such as ``'pls'``.
    *args, **kwargs
        Passed to the registered factory, such as ``crossvalidation_kwargs=dict(stratification_coord=None)``.

    Returns
    -------
    Metric
        ``metric(assembly1, assembly2)`` returns a `Score`.
    """
    return cast("Metric", _load("metric", identifier, *args, **kwargs))


def load_ceiling(identifier: str, *args: Any, **kwargs: Any) -> Ceiling:  # arguments of the factory
    """Load a ceiling, which says how well any model could do on an assembly.

    Parameters
    ----------
    identifier : str
        Key in ``metric_registry``: ceilings are registered as metrics, such as ``'internal_consistency'``.

    Returns
    -------
    Ceiling
        ``ceiling(assembly)`` returns a `Score`.
    """
    return cast("Ceiling", _load("metric", identifier, *args, **kwargs))


def load_benchmark(identifier: str) -> Benchmark:
    """Load a benchmark, which scores a model.

    Parameters
    ----------
    identifier : str
        Key in ``benchmark_registry``, such as ``'MajajHong2015public.IT-pls'``.

    Returns
    -------
    Benchmark
        ``benchmark(model)`` returns a `Score`.
    """
    return cast("Benchmark", _load("benchmark", identifier))


def load_model(identifier: str) -> BrainModel:
    """Load a model of the ventral stream.

    Parameters
    ----------
    identifier : str
        Key in ``model_registry``, such as ``'pixels'``.
    """
    return cast("BrainModel", _load("model", identifier))


@contextmanager
def noting_data() -> Iterator[list[tuple[str, str]]]:
    """Note which data are asked for in a block, and load none: what is returned in their place is good for nothing.

    Gives a list that grows: ``('data' or 'stimulus_set', identifier)``, each once, in the order in which they are asked
    for.
    """
    noted: list[tuple[str, str]] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


@contextmanager
def watching_loads(watcher: Watcher | None) -> Iterator[None]:
    """Tell of everything that is loaded in a block: ``watcher(kind, identifier, made)``; None: tell nobody."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def unwatched() -> AbstractContextManager[None]:
    """Tell nobody of what is loaded in a block, such as what a model looks at to choose its layers."""
    return watching_loads(None)


def _load(kind: str, identifier: str, *args: Any, **kwargs: Any) -> Any:  # whatever the plugin makes
    noted = _noted.get()
    if noted is not None and kind in ("data", "stimulus_set"):
        if (kind, identifier) not in noted:
            noted.append((kind, identifier))
        return object()
    from brainscore_core.plugin_management.factories import Expected, make
    from brainscore_core.supported_data_standards.brainio.access import naming_public_variant

    with naming_public_variant(identifier, lambda: known_identifiers(kind)):
        made = make(_LIBRARY, kind, identifier, Expected(*_EXPECTED[kind]), *args, **kwargs)
    watcher = _watcher.get()
    if watcher is not None:
        watcher(kind, identifier, made)
    return made


def find_plugin_directory(kind: str, identifier: str) -> Path:
    """Return the folder of the plugin that registers an identifier, without importing it if that can be avoided.

    Parameters
    ----------
    kind : {'data', 'stimulus_set', 'metric', 'benchmark', 'model'}
        Which registry; the names of the folders (``'models'``) are understood too.

    Raises
    ------
    UnknownIdentifierError
        No plugin folder registers the identifier. One that was only assigned at run time has no folder.
    """
    from brainscore_core.plugin_management.import_plugin import find_plugin

    return find_plugin(_LIBRARY, kind, identifier).directory


def known_identifiers(kind: str) -> list[str]:
    """Return every identifier of one kind that can be loaded, sorted; imports no plugin.

    Parameters
    ----------
    kind : {'data', 'stimulus_set', 'metric', 'benchmark', 'model'}
        Which registry; plurals and the names of the folders are understood too.

    Returns
    -------
    list of str
        What plugins register literally and what was assigned at run time. An identifier whose registration stands
        below a condition is listed although loading it may fail.
    """
    from brainscore_core.plugin_management.import_plugin import known_identifiers_of

    return known_identifiers_of(_LIBRARY, kind)
