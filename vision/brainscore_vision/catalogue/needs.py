"""A benchmark's data, found without loading any."""

import contextlib
import functools
import logging
import types
from collections.abc import Iterator, Mapping

from brainscore_core.benchmarks import Benchmark
from brainscore_core.errors import (
    DataNotHereError,
    DownloadError,
    PluginError,
    PrivateDataError,
    RequirementsError,
    UnknownIdentifierError,
)
from brainscore_vision.catalogue.entries import Entry, entries
from brainscore_vision.loading import known_identifiers, load_benchmark, noting_data
from brainscore_vision.utils import LazyLoad

__all__ = ["absent_data_error", "data_of", "made_and_noted"]

logger = logging.getLogger(__name__)


def data_of(benchmark_identifier: str) -> list[Entry]:
    """Return the data that a benchmark loads when it is built, and those behind its `LazyLoad`.

    Assemblies, their stimuli, and stimulus sets, each once. Loads that depend on other data's content, or happen during
    scoring, are missed.

    Raises
    ------
    UnknownIdentifierError
        No plugin registers the benchmark.
    PluginError, RequirementsError
        Its plugin cannot be imported.
    """
    needed: dict[tuple[str, str], Entry] = {}
    for kind, identifier in made_and_noted(benchmark_identifier)[1]:
        for entry in _entries(kind, identifier):
            needed.setdefault((entry.kind, entry.identifier), entry)
    return list(needed.values())


def absent_data_error(benchmark_identifier: str, error: DownloadError) -> DataNotHereError | None:
    """Return an error with how to fetch a benchmark's data; None if none are missing, or private."""
    is_private = isinstance(error, PrivateDataError)
    if is_private or all(entry.cached not in ("no", "partly") for entry in data_of(benchmark_identifier)):
        return None
    return DataNotHereError(
        f"The data of {benchmark_identifier!r} are not on this machine. {error} When online, fetch all of them with: "
        f"brainscore data fetch --benchmark {benchmark_identifier}"
    )


def made_and_noted(benchmark_identifier: str) -> tuple[Benchmark | None, list[tuple[str, str]]]:
    """Build a benchmark without its data; return it and its loads, see `noting_data`.

    The benchmark is None if it uses its data at once. Errors are those of `data_of`.
    """
    with noting_data() as loads:
        benchmark = _made(benchmark_identifier)
        for lazy in _lazies(benchmark, {}):
            with contextlib.suppress(Exception):  # it uses absent data
                lazy.load_fnc()
    return benchmark, loads


def _made(identifier: str) -> Benchmark | None:
    if identifier not in known_identifiers("benchmark"):
        return load_benchmark(identifier)  # raises with suggestions
    try:
        return load_benchmark(identifier)
    except (PluginError, RequirementsError):
        raise
    except Exception as error:  # noqa: BLE001 - code of plugins, without its data
        logger.debug("Benchmark %r cannot be loaded without its data: %s", identifier, error)
        return None


def _entries(kind: str, identifier: str) -> list[Entry]:
    try:
        registered = [entry for entry in entries(identifier) if entry.kind == kind]
    except UnknownIdentifierError:  # registered at run time, for example by a test
        return []
    stimulus_sets = {entry.stimulus_set for entry in registered if entry.stimulus_set}
    return registered + [entry for name in sorted(stimulus_sets) for entry in _entries("stimulus_set", name)]


def _lazies(value: object, seen: dict[int, object]) -> Iterator[LazyLoad]:
    if id(value) in seen:
        return
    seen[id(value)] = value  # keeps it alive: ids of deleted objects are reused
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
        if callable(children):  # averaged benchmarks build their children on demand
            yield from children()


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None
