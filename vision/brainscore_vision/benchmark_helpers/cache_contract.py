"""Identifiers of stimulus sets that let the published system cache activations.

Derived sets are named ``<registered identifier>--<anything>``; others are not cached. Tests of plugins for both systems
call this check.
"""

from brainscore_core.errors import did_you_mean

__all__ = ["assert_stimulus_identifier_is_cacheable", "stimulus_identifier_is_cacheable"]

_SEPARATOR = "--"


def stimulus_identifier_is_cacheable(stimuli_identifier: str) -> bool:
    """Return whether a plugin of this repository registers the part before the first ``--``."""
    return _base(stimuli_identifier) in _registered()


def assert_stimulus_identifier_is_cacheable(stimuli_identifier: str) -> None:
    """Raise AssertionError unless a plugin registers the part before the first ``--``."""
    if stimulus_identifier_is_cacheable(stimuli_identifier):
        return
    base = _base(stimuli_identifier)
    raise AssertionError(
        f"The stimulus identifier {stimuli_identifier!r} begins with {base!r}, which no data plugin registers, so "
        "the published system does not cache activations for it. Name a set that is made of a registered one "
        f"'<registered identifier>{_SEPARATOR}<anything>'.{did_you_mean(base, _registered())}"
    )


def _base(stimuli_identifier: str) -> str:
    return stimuli_identifier.partition(_SEPARATOR)[0]


def _registered() -> set[str]:
    from brainscore_vision.loading import known_identifiers  # reads all plugins; only for tests

    return {*known_identifiers("stimulus_set"), *known_identifiers("data")}
