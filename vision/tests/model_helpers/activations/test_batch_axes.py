"""Layers whose outputs put steps, tokens or layers before the stimuli, compared with runs of single stimuli."""

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.errors import AssemblyError
from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.adapters import as_brain_model

STEPS, FEATURES, UNITS = 4, 12, 5  # rows of a 4 x 4 picture with 3 channels


def load(paths):
    return load_preprocess_images(paths, image_size=STEPS)


@pytest.fixture(params=[1, 2, 7])
def paths(write_stimuli, request):
    rng = np.random.default_rng(0)
    pictures = {f"s{place}": rng.integers(0, 256, (STEPS, STEPS, 3)) for place in range(request.param)}
    return [str(path) for path in write_stimuli(pictures, "noise").stimulus_paths.values()]


class Sequential(nn.Module):
    """Feed the rows of a picture, one after the other, to a recurrent or attention layer."""

    def __init__(self, layer, *, batch_first):
        super().__init__()
        self.layer, self.batch_first, self.shown = layer, batch_first, []

    def forward(self, pictures):
        self.shown.append(len(pictures))
        steps = pictures.permute(0, 2, 1, 3).flatten(2)
        steps = steps if self.batch_first else steps.transpose(0, 1)
        return self.layer(steps, steps, steps) if isinstance(self.layer, nn.MultiheadAttention) else self.layer(steps)


def alone(model, paths, part):
    """Return a part of the output for each stimulus, run on its own, without the batch axis."""
    rows = []
    for path in paths:
        with torch.no_grad():
            value = model(torch.from_numpy(load([path])))
        for key in part:
            value = value[key]
        rows.append(value.numpy().ravel())  # an axis of length 1 does not change the order
    return np.stack(rows)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 64])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda **options: nn.LSTM(FEATURES, UNITS, **options), ["[0]", "[1][0]", "[1][1]"]),
        (lambda **options: nn.LSTM(FEATURES, UNITS, 2, **options), ["[0]", "[1][0]", "[1][1]"]),
        (lambda **options: nn.LSTM(FEATURES, UNITS, 2, bidirectional=True, **options), ["", "[1][0]"]),
        (lambda **options: nn.GRU(FEATURES, UNITS, 3, **options), ["", "[1]"]),
        (lambda **options: nn.MultiheadAttention(FEATURES, 2, **options), ["[0]", "[1]"]),
    ],
    ids=["LSTM", "two layers", "bidirectional", "GRU", "attention"],
)
def test_each_row_matches_a_run_of_that_stimulus(paths, make, parts, batch_first, batch_size):
    torch.manual_seed(0)
    model = Sequential(make(batch_first=batch_first), batch_first=batch_first).eval()
    wrapper = PytorchWrapper(model, load, "net", batch_size=batch_size, device="cpu")
    activations = wrapper(paths, layers=[f"layer{part}" for part in parts])
    for part in parts:
        keys = [int(key) for key in part[1:-1].split("][")] if part else [0]
        own = activations.values[:, activations["layer"].values == f"layer{part}"]
        np.testing.assert_allclose(own, alone(model, paths, keys), rtol=1e-5, atol=1e-6)


def test_brain_model_reads_a_part_of_a_recurrent_output(paths):
    network = nn.Sequential()
    network.lstm = Sequential(nn.LSTM(FEATURES, UNITS, 2), batch_first=False)
    brain = as_brain_model(network, preprocessing="imagenet-4", layers=["lstm.layer[1][0]"], identifier="net")
    activations = brain.activations_model(paths, layers=["lstm.layer[1][0]"])
    assert activations.shape == (len(paths), 2 * UNITS)


def extractor_of_shape(shape_of):
    """Return a model whose layers have shape ``shape_of(n)`` for n stimuli, and the list of its batch sizes."""
    shown = []

    def answer(inputs, layers):
        shown.append(len(inputs))
        return {layer: np.ones(shape_of(len(inputs))) for layer in layers}

    return answer, shown


@pytest.mark.parametrize("batch_size", [2, 3, 64])
@pytest.mark.parametrize(
    "shape_of",
    [lambda n: (2, 5), lambda n: (n, n), lambda n: (3, n, n), lambda n: (4 * n, 5), lambda n: (n + 1, 5), lambda n: ()],
    ids=["constant", "pairs", "pairs last", "several rows", "one more", "number"],
)
def test_rejects_layers_without_one_batch_axis(paths, shape_of, batch_size):
    answer, _ = extractor_of_shape(shape_of)
    with pytest.raises(AssemblyError, match=r"'x' of model 'net' gave shape .* for 2 stimuli.*on exactly one axis"):
        ActivationsExtractorHelper(answer, load, "net", batch_size=batch_size)(paths, layers=["x"])


@pytest.mark.parametrize("check_steady", [True, False])
def test_only_ambiguous_shapes_cost_a_small_extra_batch(write_stimuli, check_steady):
    pictures = {f"s{place}": np.full((4, 4, 3), place) for place in range(7)}
    paths = [str(path) for path in write_stimuli(pictures, "levels").stimulus_paths.values()]
    passes = [2, 2, 2, 3] if check_steady else []  # run by the check for steadiness
    # If the other axis is as long as the batch, only a batch of a different size shows which axis is which.
    for shape_of, more in ((lambda n: (n, 8, 3, 3), []), (lambda n: (n, 5), [2]), (lambda n: (5, n), [2])):
        answer, shown = extractor_of_shape(shape_of)
        helper = ActivationsExtractorHelper(answer, load, "net", batch_size=5, check_steady=check_steady)
        helper(paths, layers=["x"])
        assert shown == [*passes, 5, *([] if check_steady else more), 2]


def test_unit_shape_is_independent_of_the_number_of_stimuli(paths):
    answer, _ = extractor_of_shape(lambda n: (2, 1, n, 3))
    activations = ActivationsExtractorHelper(answer, load, "net")(paths, layers=["x"])
    assert activations["channel"].values.tolist() == [0, 0, 0, 1, 1, 1]
    assert activations["channel_y"].values.tolist() == [0, 1, 2] * 2
