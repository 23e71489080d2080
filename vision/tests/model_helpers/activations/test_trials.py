import json
import random
import runpy
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from PIL import Image

from brainscore_core.errors import AssemblyError, ConfigurationError, StimulusError
from brainscore_vision.model_helpers.activations import trials
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper

# -- microsaccades -----------------------------------------------------------------------------------------------------


def test_first_shift_is_zero_and_all_lie_on_the_disc():
    shifts = trials.microsaccades(400)
    assert shifts[0].tolist() == [0, 0]
    distances = np.hypot(*shifts.T)
    assert (distances < trials.EXTENT_DEGREES).all()
    # The inner and the outer half of the area have the same number of trials.
    assert (distances <= trials.EXTENT_DEGREES * np.sqrt(0.5)).sum() in (200, 201)
    np.testing.assert_allclose(trials.microsaccades(4)[1], [trials.EXTENT_DEGREES / 2 * np.cos(np.pi), 0], atol=1e-12)


def test_whole_pixel_shifts_repeat_the_border():
    right_up = trials.shift_images(np.arange(12.0).reshape(1, 1, 3, 4), np.array([[1, -1]]))
    np.testing.assert_array_equal(right_up[0, 0], [[4, 4, 5, 6], [8, 8, 9, 10], [8, 8, 9, 10]])


def test_fractional_shifts_interpolate_four_pixels():
    image = np.array([[[[0, 10], [100, 110]]]], dtype=np.float32)
    # The pixel at the lower right gets the value a quarter of a pixel to its left and half a pixel above it.
    moved = trials.shift_images(image, np.array([[0.25, 0.5]]))
    assert moved.dtype == np.float32
    np.testing.assert_allclose(
        moved[0, 0, 1, 1], 0.25 * 0.5 * 0 + 0.75 * 0.5 * 10 + 0.25 * 0.5 * 100 + 0.75 * 0.5 * 110
    )
    np.testing.assert_allclose(moved[0, 0, 0, 0], 0)


@given(
    npst.arrays(np.float64, (2, 3, 5, 6), elements=st.floats(-10, 10)),
    npst.arrays(np.float64, (2, 2), elements=st.floats(-7, 7)),
)
def test_shifted_values_stay_within_the_original_range(images, shifts):
    moved = trials.shift_images(images, shifts)
    assert moved.min() >= images.min() - 1e-9
    assert moved.max() <= images.max() + 1e-9
    np.testing.assert_array_equal(trials.shift_images(images, np.zeros((2, 2))), images)


# -- through the extractor ---------------------------------------------------------------------------------------------


def ramp(paths):
    """Preprocess to 8 x 8 images that start at the grey level of the file and get brighter to the right."""
    levels = [np.asarray(Image.open(path), dtype=float).mean() for path in paths]
    return np.stack([np.broadcast_to(level + np.arange(8.0), (3, 8, 8)) for level in levels])


def middle(inputs, layer_names):
    return OrderedDict((name, np.asarray(inputs)[:, :1, 4, 4]) for name in layer_names)


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli({"b": np.full((2, 2, 3), 50), "a": np.full((2, 2, 3), 10)}, object_name=["x", "y"])


def extractor(get_activations=middle, preprocessing=ramp, degrees=1.0, **options):
    helper = ActivationsExtractorHelper(
        get_activations, preprocessing, identifier="net", batch_size=2, model_digest=lambda: "1", **options
    )
    if degrees:
        helper.set_visual_degrees(degrees)
    return helper


def test_presentations_are_shifted_as_labelled(stimuli):
    # Five trials of two stimuli in batches of two: trials of a stimulus are in different batches.
    result = extractor()(stimuli, layers=["m"], number_of_trials=5, require_variance=True)
    assert result["stimulus_id"].values.tolist() == ["b"] * 5 + ["a"] * 5
    assert result["object_name"].values.tolist() == ["x"] * 5 + ["y"] * 5
    assert result["repetition"].values.tolist() == [0, 1, 2, 3, 4] * 2
    level = np.repeat([50, 10], 5)
    np.testing.assert_allclose(result.values[:, 0], level + 4 - result["microsaccade_shift_x_pixels"].values)
    np.testing.assert_allclose(result["microsaccade_shift_x_degrees"].values[:5], trials.microsaccades(5)[:, 0])
    np.testing.assert_allclose(
        result["microsaccade_shift_y_pixels"].values, 8 * result["microsaccade_shift_y_degrees"].values
    )


def test_trials_do_not_affect_later_calls(stimuli):
    helper = extractor()
    before = helper(stimuli, layers=["m"])
    helper(stimuli, layers=["m"], number_of_trials=3, require_variance=True)
    again = helper(stimuli, layers=["m"], number_of_trials=7)
    assert before.equals(again)
    assert not set(trials.TRIAL_COORDS) & set(again.coords)


@pytest.mark.parametrize("change", ["number", "degrees", "variance"])
def test_cache_key_covers_everything_that_changes_trials(stimuli, change):
    helper = extractor()
    first = helper(stimuli, layers=["m"], number_of_trials=2, require_variance=True)
    if change == "degrees":
        helper.set_visual_degrees(0.5)
    asked = {"number_of_trials": 4 if change == "number" else 2, "require_variance": change != "variance"}
    from_cache = helper(stimuli, layers=["m"], **asked)
    assert from_cache.equals(helper(stimuli, layers=["m"], stimuli_identifier=False, **asked))
    assert not from_cache.equals(first)


def test_overridden_methods_work_unless_trials_differ(stimuli):
    class Published(ActivationsExtractorHelper):
        def from_paths(self, stimuli_paths, layers, stimuli_identifier=None):
            return super().from_paths(stimuli_paths, layers, stimuli_identifier)

    helper = Published(middle, ramp, identifier="net")
    assert len(helper(stimuli, layers=["m"], number_of_trials=36)) == 2
    helper.set_visual_degrees(8)
    with pytest.raises(TypeError, match="number_of_trials"):
        helper(stimuli, layers=["m"], number_of_trials=2, require_variance=True)


def test_duplicates_are_shown_in_all_trials(stimuli):
    paths = [str(stimuli.get_stimulus(name)) for name in "aba"]
    result = extractor().from_paths(paths, ["m"], require_variance=True, number_of_trials=3)
    assert result["stimulus_path"].values.tolist() == [path for path in paths for _ in range(3)]
    np.testing.assert_array_equal(result.values[:3], result.values[6:])
    assert result["repetition"].values.tolist() == [0, 1, 2] * 3


@pytest.mark.parametrize(
    "as_list", [list, lambda images: [torch.as_tensor(image) for image in images], torch.as_tensor]
)
def test_preprocessing_may_return_lists_and_tensors(stimuli, as_list):
    plain = extractor()(stimuli, layers=["m"], number_of_trials=3, require_variance=True)
    listed = extractor(preprocessing=lambda paths: as_list(ramp(paths)))
    np.testing.assert_allclose(
        listed(stimuli, layers=["m"], number_of_trials=3, require_variance=True).values, plain.values
    )


def test_byte_images_are_shifted_as_floats(stimuli):
    plain = extractor()(stimuli, layers=["m"], number_of_trials=3, require_variance=True)
    given = extractor(preprocessing=lambda paths: ramp(paths).astype(np.uint8))
    moved = given(stimuli, layers=["m"], number_of_trials=3, require_variance=True)
    assert moved.dtype == np.float32
    np.testing.assert_allclose(moved.values, plain.values, rtol=1e-6)
    assert given(stimuli, layers=["m"]).dtype == np.uint8  # without microsaccades nothing changes


def test_rejects_inputs_that_cannot_be_shifted(stimuli):
    for preprocessing, match in (
        (lambda paths: ramp(paths)[:, 0], r"returns shape \(1, 8, 8\)"),
        (lambda paths: ramp(paths).astype(int), "of int64"),
        (None, "list of str"),
    ):
        with pytest.raises(StimulusError, match=match):
            extractor(preprocessing=preprocessing)(stimuli, layers=["m"], number_of_trials=2, require_variance=True)
    with pytest.raises(ConfigurationError, match="set_visual_degrees"):
        extractor(degrees=None)(stimuli, layers=["m"], require_variance=True)
    for number in (0, 1.5, "2"):
        with pytest.raises(ValueError, match="whole number from 1"):
            extractor()(stimuli, layers=["m"], number_of_trials=number)
    stimuli["repetition"] = 3
    with pytest.raises(AssemblyError, match=r"columns \['repetition'\]"):
        extractor()(stimuli, layers=["m"], number_of_trials=2, require_variance=True)


# -- models that are random by intent ----------------------------------------------------------------------------------


def noisy(inputs, layer_names):
    noise = torch.randn(len(inputs)).numpy() + np.random.rand() + random.random()  # noqa: NPY002, S311 - such a model
    return OrderedDict((name, np.asarray(inputs)[:, 0, 0, :1] + noise[:, None]) for name in layer_names)


def test_random_model_varies_by_trial_but_not_by_call(stimuli):
    helper = extractor(noisy, stochastic=True, seed=3)
    result = helper(stimuli, layers=["m"], number_of_trials=20)
    assert len(set(result.values.ravel().tolist())) == 40
    assert result["repetition"].values.tolist() == [*range(20)] * 2
    assert "microsaccade_shift_x_pixels" not in result.coords
    np.testing.assert_allclose(result.values[:20].mean() - result.values[20:].mean(), 40, atol=2)
    assert result.equals(helper(stimuli, layers=["m"], number_of_trials=20))
    assert result.equals(helper(stimuli, layers=["m"], number_of_trials=20, stimuli_identifier=False))
    other = extractor(noisy, stochastic=True, seed=4)(stimuli, layers=["m"], number_of_trials=20)
    assert not set(result.values.ravel().tolist()) & set(other.values.ravel().tolist())


def test_duplicates_of_a_random_model_are_drawn_independently(stimuli):
    path = str(stimuli.get_stimulus("a"))
    result = extractor(noisy, stochastic=True).from_paths([path, path], ["m"])
    assert result.values[0] != result.values[1]


def test_seeded_block_leaves_the_random_state_unchanged():
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002, S311 - the global ones

    with trials.seeded(0):
        first = draw()
        expected = draw()
    with trials.seeded(0):
        assert draw() == first
        with trials.seeded((1, 2)):
            assert draw() not in (first, expected)
        assert draw() == expected
    before = random.getstate()
    with pytest.raises(ZeroDivisionError), trials.seeded(0):
        _ = random.random() / 0  # noqa: S311 - the global one
    assert random.getstate() == before


# -- compared with the published system --------------------------------------------------------------------------------


def test_values_match_the_published_system_which_mislabels_them(tmp_path):
    peer_trials = SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "fixtures/peer_trials.py")))
    published = json.loads(peer_trials.ANSWERS.read_text())
    ours = peer_trials.answer(tmp_path)
    assert ours["stimulus"] == published["stimulus"] == ["b"] * 3 + ["a"] * 3
    np.testing.assert_allclose(ours["shift"], published["shift"], atol=1e-5)
    # Brightness rises by 1 for each pixel, so a value is the stimulus level minus the shift.
    levels = [peer_trials.LEVELS[name] for name in ours["stimulus"]]
    np.testing.assert_allclose(ours["value"], np.array(levels) + 32 - ours["shift"], atol=1e-4)
    # The published values are in the order of trials, but its labels in the order of stimuli. OpenCV rounds shifts to
    # 1/32 pixel.
    np.testing.assert_allclose(np.reshape(published["value"], (3, 2)).T.ravel(), ours["value"], atol=1 / 64 + 1e-4)
    assert np.abs(np.subtract(published["value"], ours["value"])).max() > 30
