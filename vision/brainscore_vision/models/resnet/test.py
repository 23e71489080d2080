import numpy as np
import pytest

from brainscore_vision.models.resnet import model
from brainscore_vision.testing.proofs.published_networks import PublishedNetworkProof


class TestResNet18(PublishedNetworkProof):
    identifier = "resnet18"
    plugin = model
    widths, n_layers = (64, 128, 256, 512), 10

    def listed_layers(self):
        layers = model.get_layers(self.identifier)
        assert len(layers) == self.n_layers
        return layers

    @property
    def shapes(self):
        ends = {"maxpool": (64, 56, 56), "avgpool": (self.widths[-1], 1, 1), "logits": (1000,)}
        stages = {layer: int(layer[5]) for layer in self.listed_layers() if layer.startswith("layer")}
        blocks = {layer: (self.widths[stage - 1], *[112 // 2**stage] * 2) for layer, stage in stages.items()}
        return ends | blocks

    def test_stage_equals_its_last_block(self):
        pictures = np.random.default_rng(0).normal(size=(1, 3, 64, 64)).astype(np.float32)
        stage, block = (f"layer2{part}" for part in ("", f".{len(self.loaded.activations_model._model.layer2) - 1}"))  # noqa: SLF001 - its blocks are counted
        activations = self.loaded.activations_model.get_activations(pictures, [stage, block])
        np.testing.assert_array_equal(activations[stage], activations[block])


@pytest.mark.slow
class TestResNet34(TestResNet18):
    identifier = "resnet34"
    n_layers = 18


@pytest.mark.slow
class TestResNet50(TestResNet18):
    identifier = "resnet50"
    widths, n_layers = (256, 512, 1024, 2048), 18
