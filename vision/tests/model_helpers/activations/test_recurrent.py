"""Recording every run of a module, compared with a network that can be computed by hand."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.errors import LayerNotFoundError
from brainscore_vision.model_helpers.activations.images import load_preprocess_images
from brainscore_vision.model_helpers.activations.recurrent import RecurrentPytorchWrapper, split_step

PREPROCESSING = partial(load_preprocess_images, image_size=2, normalize_mean=(0, 0, 0), normalize_std=(1, 1, 1))


class Doubling(nn.Module):
    """`IT.output` runs three times; its output is doubled in place each time."""

    def __init__(self):
        super().__init__()
        self.IT = nn.ModuleDict({"output": nn.ReLU(inplace=True)})
        self.fc = nn.Linear(3, 3, bias=False)
        with torch.no_grad():
            self.fc.weight.copy_(torch.eye(3))

    def forward(self, x):
        for _ in range(3):
            x = self.IT["output"](x)
            x *= 2
        return self.fc(x.mean(dim=(2, 3)))


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli({"red": np.broadcast_to([255, 0, 0], (2, 2, 3)), "white": np.full((2, 2, 3), 255)})


@pytest.fixture
def wrapper():
    return RecurrentPytorchWrapper(identifier="doubling", model=Doubling(), preprocessing=PREPROCESSING)


def test_each_step_is_recorded_before_in_place_changes(wrapper, stimuli):
    result = wrapper(stimuli, layers=["IT.output-t2", "IT.output-t0", "IT.output-t1"])
    for step in range(3):
        values = result.sel(layer=f"IT.output-t{step}").values
        np.testing.assert_array_equal(values, [[2**step] * 4 + [0] * 8, [2**step] * 12])


def test_name_without_a_step_means_the_last_step(wrapper, stimuli):
    np.testing.assert_array_equal(wrapper(stimuli, layers=["IT.output"]).max("neuroid").values, [4, 4])
    np.testing.assert_array_equal(wrapper(stimuli, layers=["fc-t0"]).values, [[8, 0, 0], [8, 8, 8]])
    np.testing.assert_array_equal(wrapper(stimuli, layers=None).values, [[8, 0, 0], [8, 8, 8]])


def test_rejects_a_step_that_never_runs(wrapper, stimuli):
    with pytest.raises(LayerNotFoundError, match=r"no activations for \['IT.output-t3'\]"):
        wrapper(stimuli, layers=["IT.output-t3"])
    with pytest.raises(LayerNotFoundError, match=r"no layer 'IT.outptu'.*Did you mean 'IT.output'"):
        wrapper(stimuli, layers=["IT.outptu-t0"])
    assert not any(module._forward_hooks for module in wrapper._model.modules())


def test_split_step_separates_layer_and_step():
    assert split_step("a.b-t10") == ("a.b", 10)
    assert split_step("a-total") == ("a-total", None)
