import numpy as np
import pytest
import torch

from brainscore_core.errors import ConfigurationError, LayerNotFoundError
from brainscore_vision.model_helpers.adapters import as_brain_model


def thumbnails(images):
    return np.stack([np.asarray(image.resize((4, 4)), dtype=np.float32) for image in images])


def both(images):
    values = thumbnails(images)
    return {"mean": torch.as_tensor(values.mean((1, 2))), "all": values}


def record(model, stimuli):
    model.start_recording("IT", time_bins=[(70, 170)])
    return model.look_at(stimuli)


def test_an_array_is_one_layer(stimuli):
    model = as_brain_model(thumbnails)
    assert model.layers == ["output"]
    assert model.identifier.startswith("thumbnails@")
    activity = record(model, stimuli)
    assert activity.shape == (5, 48)
    assert activity["stimulus_id"].values.tolist() == ["s0", "s1", "s2", "s3", "s4"]


def test_a_dict_gives_its_names_to_layers(stimuli):
    assert as_brain_model(both).layers == ["mean", "all"]
    assert record(as_brain_model(both, layers=["mean"]), stimuli).shape == (5, 3)
    with pytest.raises(LayerNotFoundError, match=r"no layer 'men'\. Did you mean 'mean'"):
        as_brain_model(both, layers=["men"])


def test_with_a_preprocessing_it_gets_inputs(stimuli):
    model = as_brain_model(lambda inputs: inputs.mean((2, 3)), preprocessing="imagenet-16")
    assert record(model, stimuli).shape == (5, 3)


def test_it_gets_no_more_pictures_than_it_asked_for(stimuli):
    sizes = []

    def count(images):
        sizes.append(len(images))
        return thumbnails(images)

    record(as_brain_model(count, batch_size=2), stimuli)
    # The first finds out what it returns, 2 and 2 whether it answers the same every time, and 1 in between, which axis
    # counts the pictures: batches of another size may not follow.
    assert sizes == [1, 2, 1, 2, 2, 2, 1]


def test_nothing_is_cached_because_a_function_may_use_anything(stimuli):
    gain = {"gain": 1.0}
    model = as_brain_model(lambda images: thumbnails(images) * gain["gain"], identifier="same")
    first = record(model, stimuli).values
    gain["gain"] = 2.0
    np.testing.assert_array_equal(record(model, stimuli).values, 2 * first)
    assert as_brain_model(thumbnails).identifier != as_brain_model(thumbnails).identifier


@pytest.mark.parametrize(
    "function",
    [lambda x: x.mean((2, 3)), lambda x: torch.relu(x), lambda x: x["pixels"], lambda x: x[0] * 0.5],
)
def test_function_of_tensors_is_told_that_it_gets_images(function):
    with pytest.raises(ConfigurationError) as caught:
        as_brain_model(function)
    assert "Your function gets a list of PIL images; pass preprocessing=... for tensors" in str(caught.value)
    assert f"{type(caught.value.__cause__).__name__}: {caught.value.__cause__}" in str(caught.value)


def test_other_errors_of_a_function_pass_as_they_are():
    def broken(images):
        raise KeyError("weights")

    with pytest.raises(KeyError, match="weights"):
        as_brain_model(broken)
    with pytest.raises(AttributeError, match="has no attribute 'mode_of_image'"):
        as_brain_model(lambda tensors: tensors.mode_of_image, preprocessing="imagenet-16")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda images: None, "'output': NoneType"),
        (lambda images: "abc", "'output': str"),
        (lambda images: np.zeros((3, 2)), r"shape \(3, 2\) for 1 pictures"),
        (lambda images: 3.0, r"shape \(\)"),
        (lambda images: {}, "returned nothing"),
        (lambda images: {"a": [[1], [2, 3]]}, "'a': list"),
    ],
)
def test_what_it_returns_is_checked_at_once(function, message):
    with pytest.raises(ConfigurationError, match=message):
        as_brain_model(function)
