import pandas as pd
import pytest

from brainscore_core.supported_data_standards.brainio.packaging import (
    check_stimulus_naming_convention,
    check_stimulus_numbers,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


@pytest.mark.parametrize(
    "name", ["image_1.png", "Nat300_100.png", "1.png", "20.jpeg", "Nat300.jpg", "a1.mp4", "300_10.png"]
)
def test_numbered_names_are_accepted(name):
    check_stimulus_naming_convention(name)


@pytest.mark.parametrize(
    "name",
    ["image_0.png", "image_01.png", "01.png", "image.png", "image_1.gif", "image_1.png.zip", "a b_1.png", "a_b_1.png"],
)
def test_rejects_other_names(name):
    with pytest.raises(AssertionError, match=f"{name!r} has no number in its name; expected"):
        check_stimulus_naming_convention(name)


def stimuli(*names):
    stimulus_set = StimulusSet(pd.DataFrame({"stimulus_id": range(len(names))}))
    stimulus_set.stimulus_paths = dict(enumerate(names))
    return stimulus_set


@pytest.mark.parametrize(
    "names",
    [
        ["Nat300_1.png", "Nat300_2.png"],
        ["/a/b_7/im_12.png", "/a/b_7/im_10.png", "/a/b_7/im_11.png"],
        ["9.png", "10.png"],
        ["5.jpg"],
    ],
)
def test_consecutive_numbers_are_accepted(names):
    check_stimulus_numbers(stimuli(*names))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["im_1.png", "im_3.png"], "1 is followed by 3. Number them from 1 to 2"),
        (["im_4.png", "im_5.png", "other_5.png"], "5 is followed by 5. Number them from 4 to 6"),
        (["im_1.png", "picture.png"], "'picture.png' has no number in its name"),
    ],
)
def test_rejects_gaps_repeats_and_names_without_a_number(names, message):
    with pytest.raises(AssertionError, match=message):
        check_stimulus_numbers(stimuli(*names))
