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


def test_returned_array_is_one_layer(stimuli):
    model = as_brain_model(thumbnails)
    assert model.layers == ["output"]
    assert model.identifier.startswith("thumbnails@")
    activity = record(model, stimuli)
    assert activity.shape == (5, 48)
    assert activity["stimulus_id"].values.tolist() == ["s0", "s1", "s2", "s3", "s4"]


def test_returned_dict_names_the_layers(stimuli):
    assert as_brain_model(both).layers == ["mean", "all"]
    assert record(as_brain_model(both, layers=["mean"]), stimuli).shape == (5, 3)
    with pytest.raises(LayerNotFoundError, match=r"no layer 'men'\. Did you mean 'mean'"):
        as_brain_model(both, layers=["men"])


def test_function_with_preprocessing_gets_its_output(stimuli):
    model = as_brain_model(lambda inputs: inputs.mean((2, 3)), preprocessing="imagenet-16")
    assert record(model, stimuli).shape == (5, 3)


def test_function_gets_at_most_a_batch_of_pictures(stimuli):
    sizes = []

    def count(images):
        sizes.append(len(images))
        return thumbnails(images)

    record(as_brain_model(count, batch_size=2), stimuli)
    # The first call finds out what the function returns; the calls with 2 pictures, whether it always answers the same;
    # that with 1 in between, which axis counts the pictures, as batches of another size may not follow.
    assert sizes == [1, 2, 1, 2, 2, 2, 1]


def test_activations_of_functions_are_not_cached(stimuli):
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
def test_error_of_a_function_of_tensors_suggests_preprocessing(function):
    with pytest.raises(ConfigurationError) as caught:
        as_brain_model(function)
    assert "Your function gets a list of PIL images; pass preprocessing=... for tensors" in str(caught.value)
    assert f"{type(caught.value.__cause__).__name__}: {caught.value.__cause__}" in str(caught.value)


def test_other_errors_of_a_function_are_not_changed():
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
def test_returned_values_are_checked_at_once(function, message):
    with pytest.raises(ConfigurationError, match=message):
        as_brain_model(function)
