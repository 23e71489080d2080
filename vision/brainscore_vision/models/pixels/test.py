import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import LayerNotFoundError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_model


@pytest.fixture
def stimuli(tmp_path):
    y, x = np.mgrid[0:256, 0:256]
    pictures = {"a": np.stack([x, y, (x + y) % 256], axis=-1), "b": np.full((256, 256, 3), 77)}
    stimulus_set = StimulusSet({"stimulus_id": list(pictures)})
    stimulus_set.stimulus_paths = {name: tmp_path / f"{name}.png" for name in pictures}
    for name, pixels in pictures.items():
        Image.fromarray(pixels.astype(np.uint8)).save(stimulus_set.get_stimulus(name))
    return stimulus_set, pictures


@pytest.mark.parametrize("region", ["V1", "V2", "V4", "IT"])
def test_every_region_returns_the_pixels(stimuli, region):
    stimulus_set, pictures = stimuli
    model = load_model("pixels")
    assert model.identifier == "pixels"
    model.start_recording(region, time_bins=[(70, 170)])
    activity = model.look_at(stimulus_set)
    assert activity.shape == (2, 256 * 256 * 3)
    np.testing.assert_array_equal(activity.values[0].reshape(256, 256, 3), pictures["a"])
    np.testing.assert_array_equal(activity.values[1], 77)
    assert set(activity["region"].values) == {region}


def test_pictures_of_other_sizes_are_resized(tmp_path):
    Image.new("L", (30, 500), 200).save(tmp_path / "a.png")
    activations = load_model("pixels").activations_model([tmp_path / "a.png"], layers=["pixels"])
    assert activations.shape == (1, 256 * 256 * 3)
    assert set(np.unique(activations.values)) == {200}


def test_pixels_have_no_classifier():
    model = load_model("pixels")
    with pytest.raises(LayerNotFoundError, match="no layer 'logits'"):
        model.start_task("label", "imagenet")


def test_microsaccades_shift_the_picture(stimuli):
    stimulus_set, pictures = stimuli
    model = load_model("pixels")
    model.start_recording("V1", time_bins=[(70, 170)])
    assert model.look_at(stimulus_set).dtype == np.uint8
    moving = model.look_at(stimulus_set, number_of_trials=3, require_variance=True)
    of_a = moving.values[moving["stimulus_id"].values == "a"].reshape(3, 256, 256, 3)
    np.testing.assert_array_equal(of_a[0], pictures["a"])  # the first trial is not shifted
    right, down = (moving[f"microsaccade_shift_{axis}_pixels"].values[1] for axis in "xy")
    assert not {right, down} & {*np.round([right, down])}  # whole pixels would prove nothing
    # Red grows by one per pixel to the right, green per pixel downwards: shifting lowers the values by the shift.
    np.testing.assert_allclose(pictures["a"][8:-8, 8:-8, 0] - of_a[1, 8:-8, 8:-8, 0], right, atol=1e-4)
    np.testing.assert_allclose(pictures["a"][8:-8, 8:-8, 1] - of_a[1, 8:-8, 8:-8, 1], down, atol=1e-4)
    np.testing.assert_array_equal(moving.values[moving["stimulus_id"].values == "b"], 77)


def test_answers_can_be_learned_from_shifted_pictures(stimuli):
    stimulus_set, _ = stimuli
    fitting = stimulus_set.assign(image_label=["left", "right"])
    fitting.identifier, fitting.stimulus_paths = "fitting", stimulus_set.stimulus_paths
    model = load_model("pixels")
    model.start_task("probabilities", fitting, number_of_trials=2, require_variance=True)
    answers = model.look_at(stimulus_set, number_of_trials=2, require_variance=True)
    assert answers.sizes == {"presentation": 4, "choice": 2}
    right = answers.sel(choice="right").values > 0.5
    assert right.tolist() == [False, False, True, True]
