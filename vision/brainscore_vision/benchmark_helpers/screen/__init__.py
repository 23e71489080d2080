"""Published plugins import this from here."""

from brainscore_vision.benchmark_helpers.screen.placement import fit_to_ratio, place_on_screen
from brainscore_vision.benchmark_helpers.screen.presentation import presented

__all__ = ["fit_to_ratio", "place_on_screen", "presented"]
