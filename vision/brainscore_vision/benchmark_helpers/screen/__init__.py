"""Published plugins import this from here."""

from brainscore_vision.benchmark_helpers.screen.placement import fit_to_ratio, place_on_screen

__all__ = ["fit_to_ratio", "place_on_screen"]
