"""Check that stimulus files are numbered consecutively, as experiments need them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import StimulusError

if TYPE_CHECKING:
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

_NUMBERED = re.compile(r"(?:[A-Za-z0-9]+_|[A-Za-z0-9]*[A-Za-z])?([1-9][0-9]*)\.(?:jpg|jpeg|png|mp4)")


def check_stimulus_naming_convention(name: str) -> None:
    """Raise a `StimulusError` unless a file is named like ``'image_1.png'``, ``'Nat300_12.jpg'`` or ``'7.mp4'``."""
    _number(name)


def check_stimulus_numbers(stimulus_set: StimulusSet) -> None:
    """Raise a `StimulusError` unless files, which need not exist, have consecutive numbers, in any order."""
    numbers = sorted(_number(Path(path).name) for path in stimulus_set.stimulus_paths.values())
    for previous, after in itertools.pairwise(numbers):
        if after != previous + 1:
            raise StimulusError(
                f"The stimulus files are not numbered one by one: {previous} is followed by {after}. Number them from "
                f"{numbers[0]} to {numbers[0] + len(numbers) - 1}, each once."
            )


def _number(name: str) -> int:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        raise StimulusError(
            f"The stimulus file {name!r} is not called by a number; expected a name such as 'image_1.png', '1.jpg' or "
            "'film_12.mp4': letters and digits, a number without leading zeros, and jpg, jpeg, png or mp4."
        )
    return int(match.group(1))
