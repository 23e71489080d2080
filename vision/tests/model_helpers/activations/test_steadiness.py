from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from brainscore_core.errors import ModelChangedError
from brainscore_vision.model_helpers.activations.steadiness import (
    deviation_between_batches,
    deviation_between_passes,
    unchanged_weights,
    weight_sums,
)


def prepare(start, stop):
    return np.arange(start, stop, dtype=np.float32)


class TestDeviation:
    def test_deterministic_model_has_no_deviation(self):
        assert deviation_between_passes(prepare, lambda x: {"a": x, "b": x[:, None] * np.nan}, 0, 9) == {}

    def test_deviation_is_relative_to_the_largest_value_of_a_layer(self):
        answers = iter([[10.0, -20.0], [10.0, -19.0]])
        found = deviation_between_passes(prepare, lambda x: {"same": x, "other": np.array(next(answers))}, 0, 2)
        assert found == {"other": pytest.approx(1 / 20)}

    @pytest.mark.parametrize(
        ("one", "two"),
        [(np.zeros(2), np.ones(2)), (np.ones(2), np.ones((2, 1))), (np.array(["a"]), np.array(["b"]))],
        ids=["from nothing", "shape", "text"],
    )
    def test_deviation_is_infinite_without_a_common_scale(self, one, two):
        answers = iter([one, two])
        assert deviation_between_passes(prepare, lambda _: {"layer": next(answers)}, 0, 2) == {"layer": np.inf}

    def test_first_two_stimuli_are_shown_twice(self):
        shown = []

        def run(inputs):
            shown.append(inputs.tolist())
            return {}

        deviation_between_passes(prepare, run, 3, 100)
        deviation_between_passes(prepare, run, 3, 4)
        assert shown == [[3, 4], [3, 4], [3], [3]]

    def test_random_networks_are_detected_without_side_effects(self):
        drop = nn.Dropout(0.5)
        state = torch.get_rng_state()
        found = deviation_between_passes(
            prepare, lambda x: {"drop": drop(torch.from_numpy(x).repeat(50, 1) + 1).numpy()}, 0, 2
        )
        assert found["drop"] > 0.1
        assert torch.equal(torch.get_rng_state(), state)

    def test_random_preprocessing_is_detected(self):
        noise = np.random.default_rng(0)
        assert deviation_between_passes(lambda start, stop: noise.random(stop - start), lambda x: {"a": x}, 0, 2)


def test_models_that_centre_over_a_batch_are_detected():
    layers = {"alone": lambda x: x[:, None], "centred": lambda x: x[:, None] - x.mean()}
    found = deviation_between_batches(prepare, lambda x: {name: layer(x) for name, layer in layers.items()}, 0, 9)
    assert found == {"centred": pytest.approx(1.0)}  # -.5 and .5 with two stimuli, -1 and 0 with a third
    assert deviation_between_batches(prepare, lambda x: {"centred": x - x.mean()}, 0, 2) == {}  # no other batch


class TestWeights:
    def net(self):
        torch.manual_seed(0)
        return nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Linear(2, 2).half())

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("0.weight", lambda net: net[0].weight.data.mul_(1.001)),
            ("0.bias", lambda net: net.load_state_dict({**net.state_dict(), "0.bias": torch.ones(4)})),
            ("1.running_mean", lambda net: net[1](torch.randn(2, 4, 3, 3))),
            ("2.weight", lambda net: net[2].weight.data.add_(0.1)),
        ],
    )
    def test_error_names_the_changed_weights(self, name, change):
        net = self.net()
        with (
            pytest.raises(ModelChangedError, match=rf"'net' changed .*{name}"),
            unchanged_weights(partial(weight_sums, net), "net"),
        ):
            change(net)

    def test_harmless_changes_are_ignored(self):
        net = self.net().eval()
        with unchanged_weights(partial(weight_sums, net), "net"):
            net[1](torch.randn(2, 4, 3, 3))
            net[1].num_batches_tracked += 1
            net.register_buffer("made_later", torch.ones(1))
            net[0].weight.data = net[0].weight.data.clone()
        with unchanged_weights(None, "unknown"):
            pass

    def test_errors_of_the_recording_take_precedence(self):
        net = self.net()

        @unchanged_weights(partial(weight_sums, net), "net")
        def record():
            net[0].weight.data.zero_()
            raise ValueError("mine")

        with pytest.raises(ValueError, match="mine"):
            record()

    def test_weight_sums_without_usable_weights(self):
        assert weight_sums(nn.ReLU()) == {}
        assert weight_sums(nn.Linear(2, 2, device="meta")) == {}
        broken = nn.Linear(2, 2)
        nn.init.constant_(broken.weight, np.nan)
        assert weight_sums(broken) == weight_sums(broken)
