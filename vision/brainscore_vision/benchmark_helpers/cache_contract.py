"""Published plugins import this from here."""

from brainscore_vision.benchmark_helpers.checks.stimulus_identifiers import (
    assert_stimulus_identifier_is_cacheable,
    stimulus_identifier_is_cacheable,
)

__all__ = ["assert_stimulus_identifier_is_cacheable", "stimulus_identifier_is_cacheable"]
