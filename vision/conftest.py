"""Lend the tests of the library and of its plugins the stand-ins for published data."""

from brainscore_vision.testing.stand_ins import (
    drawn_pictures,
    kept_homes,
    module_stand_ins,
    real_data,
    stand_in_s3,
    stand_ins,
)

__all__ = ["drawn_pictures", "kept_homes", "module_stand_ins", "real_data", "stand_in_s3", "stand_ins"]
