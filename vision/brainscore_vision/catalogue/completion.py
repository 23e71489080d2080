"""Complete identifiers on the command line, without importing plugins."""

__all__ = ["complete_benchmark", "complete_data", "complete_identifier", "complete_model"]

_KINDS = ("model", "benchmark", "metric", "data", "stimulus_set")


def complete_model(incomplete: str) -> list[str]:
    """Return the models that start with a text."""
    return _starting(incomplete, "model")


def complete_benchmark(incomplete: str) -> list[str]:
    """Return the benchmarks that start with a text."""
    return _starting(incomplete, "benchmark")


def complete_data(incomplete: str) -> list[str]:
    """Return the data and stimulus sets that start with a text."""
    return _starting(incomplete, "data", "stimulus_set")


def complete_identifier(incomplete: str) -> list[str]:
    """Return identifiers of any kind that start with a text."""
    return _starting(incomplete, *_KINDS)


def _starting(incomplete: str, *kinds: str) -> list[str]:
    from brainscore_vision.loading import known_identifiers  # start-up of completion

    identifiers = {identifier for kind in kinds for identifier in known_identifiers(kind, schemes=":" in incomplete)}
    return sorted(identifier for identifier in identifiers if identifier.startswith(incomplete))
