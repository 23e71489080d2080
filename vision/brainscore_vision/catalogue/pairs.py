"""Return pairs of models and benchmarks with costs and stimuli."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.scoring.pairs import Pair
from brainscore_vision.catalogue.entries import metadata_of
from brainscore_vision.catalogue.facts import BenchmarkFacts, benchmark_facts
from brainscore_vision.loading import find_plugin_directory

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["facts_of", "pairs_of", "stimuli_of"]

_NOTHING = (0.0, 0.0, 0.0)  # minutes, GB and GPUs of a plugin that states none


def facts_of(benchmarks: Sequence[str], tell: Callable[[str], None] | None = None) -> dict[str, BenchmarkFacts]:
    """Return the facts about literally registered benchmarks."""
    facts_by_name = {facts.identifier: facts for facts in benchmark_facts(tell=tell)}
    return {name: facts_by_name[name] for name in benchmarks if name in facts_by_name}


def pairs_of(models: Sequence[str], benchmarks: Sequence[str], facts: Mapping[str, BenchmarkFacts]) -> list[Pair]:
    """Return every model with every benchmark.

    Time, memory and GPUs are the larger of the two plugins' values in ``metadata.yml``. A benchmark without facts
    counts as private.
    """
    of_benchmark = {name: _costs(facts[name].plugin.directory) if name in facts else _NOTHING for name in benchmarks}
    private = {name: name not in facts or facts[name].access != "public" for name in benchmarks}
    pairs = []
    for model in models:
        try:
            of_model = _costs(find_plugin_directory("model", model))
        except UnknownIdentifierError:  # registered while the program runs
            of_model = _NOTHING
        for name in benchmarks:
            minutes, memory, gpus = map(max, of_model, of_benchmark[name])
            pairs.append(Pair(model, name, minutes or Pair.minutes, memory or Pair.memory_gb, private[name], int(gpus)))
    return pairs


def stimuli_of(facts: Mapping[str, BenchmarkFacts]) -> Callable[[str], Hashable]:
    """Return the function from a benchmark to its stimulus sets; to itself if unknown."""

    def key(benchmark: str) -> Hashable:
        benchmark_facts = facts.get(benchmark)
        if benchmark_facts is None or not benchmark_facts.data:
            return benchmark
        stimulus_sets = {entry.identifier for entry in benchmark_facts.data if entry.kind == "stimulus_set"}
        return tuple(sorted(stimulus_sets or {entry.identifier for entry in benchmark_facts.data}))

    return key


def _costs(directory: Path) -> tuple[float, float, float]:
    metadata = metadata_of(directory)
    return _positive(metadata.get("minutes")), _positive(metadata.get("memory_gb")), _positive(metadata.get("gpus"))


def _positive(value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < 1e9 else 0.0  # type: ignore[operator,arg-type]  # mypy does not see
