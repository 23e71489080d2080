"""Tell which data a benchmark needs, without loading any of them."""

from __future__ import annotations

import contextlib
import functools
import logging
import types
from collections.abc import Iterator, Mapping

from brainscore_core.benchmarks import Benchmark
from brainscore_core.errors import PluginError, RequirementsError, UnknownIdentifierError
from brainscore_vision.catalogue.entries import Entry, entries
from brainscore_vision.loading import known_identifiers, load_benchmark, noting_data
from brainscore_vision.utils import LazyLoad

__all__ = ["data_of", "made_and_noted"]

logger = logging.getLogger(__name__)


def data_of(benchmark_identifier: str) -> list[Entry]:
    """Return the data that a benchmark loads: those it asks for when it is made, and those behind its `LazyLoad`.

    Parameters
    ----------
    benchmark_identifier : str
        Key in ``benchmark_registry``.

    Returns
    -------
    list of Entry
        Assemblies, their stimuli, and stimulus sets, each once. What a benchmark only asks for after it has looked at
        other data, or when a model is scored, is not found.

    Raises
    ------
    UnknownIdentifierError
        No plugin registers the benchmark.
    PluginError, RequirementsError
        Its plugin cannot be imported.
    """
    found: dict[tuple[str, str], Entry] = {}
    for kind, identifier in made_and_noted(benchmark_identifier)[1]:
        for entry in _entries(kind, identifier):
            found.setdefault((entry.kind, entry.identifier), entry)
    return list(found.values())


def made_and_noted(benchmark_identifier: str) -> tuple[Benchmark | None, list[tuple[str, str]]]:
    """Make a benchmark without its data; return it and what it asked for: ``('data' or 'stimulus_set', identifier)``.

    The benchmark is None if it looks at its data at once. Errors are those of `data_of`.
    """
    with noting_data() as noted:
        benchmark = _made(benchmark_identifier)
        for lazy in _lazies(benchmark, {}):
            with contextlib.suppress(Exception):  # it looks at data that are not there
                lazy.load_fnc()
    return benchmark, noted


def _made(identifier: str) -> Benchmark | None:
    """Make a benchmark; None if it looks at its data at once, which are not there."""
    if identifier not in known_identifiers("benchmark"):
        return load_benchmark(identifier)  # raises, and says which names are near
    try:
        return load_benchmark(identifier)
    except (PluginError, RequirementsError):
        raise
    except Exception as error:  # noqa: BLE001 - code of others, which got nothing to work with
        logger.debug("Benchmark %r cannot be made without its data: %s", identifier, error)
        return None


def _entries(kind: str, identifier: str) -> list[Entry]:
    """Return the entry of an identifier and, for an assembly, that of its stimuli."""
    try:
        registered = [entry for entry in entries(identifier) if entry.kind == kind]
    except UnknownIdentifierError:  # registered while the program runs, by a test for instance
        return []
    shown = {entry.stimulus_set for entry in registered if entry.stimulus_set}
    return registered + [entry for name in sorted(shown) for entry in _entries("stimulus_set", name)]


def _lazies(value: object, seen: dict[int, object]) -> Iterator[LazyLoad]:
    """Yield what is loaded later in a benchmark: in its attributes, and in those of benchmarks and functions in it."""
    if id(value) in seen:
        return
    seen[id(value)] = value  # kept, as another object may get the id of one that is gone
    if type(value) is LazyLoad:  # isinstance would load it
        yield value
        yield from _lazies(value.load_fnc, seen)
        return
    for part in _parts(value):
        yield from _lazies(part, seen)


def _parts(value: object) -> Iterator[object]:
    value = getattr(value, "__wrapped__", value)  # of functools.cache
    if isinstance(value, types.FunctionType):
        yield from (_content(cell) for cell in value.__closure__ or ())
    elif isinstance(value, types.MethodType):
        yield value.__self__
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (list, tuple, set)):
        yield from value
    elif isinstance(value, Benchmark):
        yield from vars(value).values()
        children = getattr(value, "children", None)
        if callable(children):  # benchmarks over subjects or folds make each when its turn comes
            yield from children()


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None
