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
    from brainscore_core.plugin_management.registry import KINDS  # start-up of completion
    from brainscore_vision.catalogue.entries import plugin_index

    index = plugin_index()
    # A scheme such as "timm:" completes only to itself: the library that its plugin imports knows the names.
    identifiers = {
        name for kind in kinds for schemes in (False, True) for name in index.identifiers(KINDS[kind], schemes=schemes)
    }
    return sorted(identifier for identifier in identifiers if identifier.startswith(incomplete))
