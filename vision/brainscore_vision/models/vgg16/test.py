import pytest

from brainscore_vision.models.vgg16 import model
from brainscore_vision.testing.proofs.published_networks import PublishedNetworkProof

SHAPES = {
    "features.4": (64, 112, 112),
    "features.9": (128, 56, 56),
    "features.16": (256, 28, 28),
    "features.23": (512, 14, 14),
    "features.30": (512, 7, 7),
    "classifier.1": (4096,),
    "classifier.4": (4096,),
    "logits": (1000,),
}


class TestVGG16(PublishedNetworkProof):
    identifier = "vgg16"
    plugin = model
    shapes = SHAPES

    @pytest.mark.slow
    def test_activations_are_finite(self, tmp_path):
        super().test_activations_are_finite(tmp_path)
