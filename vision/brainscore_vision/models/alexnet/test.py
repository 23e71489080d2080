from brainscore_vision.models.alexnet import model
from brainscore_vision.testing.proofs.published_networks import PublishedNetworkProof

SHAPES = {
    "features.2": (64, 27, 27),
    "features.5": (192, 13, 13),
    "features.7": (384, 13, 13),
    "features.9": (256, 13, 13),
    "features.12": (256, 6, 6),
    "classifier.2": (4096,),
    "classifier.5": (4096,),
    "logits": (1000,),
}


class TestAlexNet(PublishedNetworkProof):
    identifier = "alexnet"
    plugin = model
    shapes = SHAPES
