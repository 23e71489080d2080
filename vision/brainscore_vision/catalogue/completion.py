"""Complete identifiers on the command line; no plugin is imported."""

from __future__ import annotations

__all__ = ["complete_benchmark", "complete_data", "complete_identifier", "complete_model"]

_KINDS = ("model", "benchmark", "metric", "data", "stimulus_set")


def complete_model(incomplete: str) -> list[str]:
    """Return the models whose identifiers start like this."""
    return _starting(incomplete, "model")


def complete_benchmark(incomplete: str) -> list[str]:
    """Return the benchmarks whose identifiers start like this."""
    return _starting(incomplete, "benchmark")


def complete_data(incomplete: str) -> list[str]:
    """Return the data and stimulus sets whose identifiers start like this."""
    return _starting(incomplete, "data", "stimulus_set")


def complete_identifier(incomplete: str) -> list[str]:
    """Return what is registered under an identifier that starts like this, of whatever kind."""
    return _starting(incomplete, *_KINDS)


def _starting(incomplete: str, *kinds: str) -> list[str]:
    from brainscore_vision.loading import known_identifiers

    known = {identifier for kind in kinds for identifier in known_identifiers(kind)}
    return sorted(identifier for identifier in known if identifier.startswith(incomplete))
