"""Load AlexNet with the weights that torchvision publishes."""

import functools

from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.architectures.alexnet import AlexNet
from brainscore_vision.model_helpers.check_submission import check_models
from brainscore_vision.model_helpers.weights import PublishedWeights, load_weights

IDENTIFIER = "alexnet"
IMAGE_SIZE = 224
VISUAL_DEGREES = 8
LAYERS = ["features.2", "features.5", "features.7", "features.9", "features.12", "classifier.2", "classifier.5"]
READOUT_LAYER = "classifier.5"

# As published with the plugin `alexnet` of brainscore-vision 2.4.2.
REGION_LAYER_MAP = {"V1": "features.2", "V2": "features.7", "V4": "features.7", "IT": "features.12"}

WEIGHTS = PublishedWeights(
    url="https://download.pytorch.org/models/alexnet-owt-7be5be79.pth",
    sha256="7be5be791159472b1fbf3c69796f7cb30dca7ad8466c2df70058c37116cdee02",
    licence="BSD-3-Clause",
)

BIBTEX = """@inproceedings{krizhevsky2012imagenet,
  title={{ImageNet} Classification with Deep Convolutional Neural Networks},
  author={Krizhevsky, Alex and Sutskever, Ilya and Hinton, Geoffrey E.},
  booktitle={Advances in Neural Information Processing Systems}, volume={25}, pages={1097--1105}, year={2012},
  publisher={Curran Associates, Inc.},
  url={https://papers.nips.cc/paper/4824-imagenet-classification-with-deep-convolutional-neural-networks}
}"""


def get_model_list() -> list[str]:
    """Return the identifiers."""
    return [IDENTIFIER]


def get_model(name: str):
    """Return the network; its weights are downloaded the first time."""
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    wrapper = PytorchWrapper(
        identifier=IDENTIFIER,
        model=load_weights(AlexNet, WEIGHTS),
        preprocessing=functools.partial(load_preprocess_images, image_size=IMAGE_SIZE),
        readout_layer="classifier.6",
    )
    wrapper.image_size = IMAGE_SIZE
    return wrapper


def get_layers(name: str) -> list[str]:
    """Return candidate layers, from early to late."""
    return {IDENTIFIER: LAYERS}[name]


def get_bibtex(name: str) -> str:
    """Return the reference."""
    return {IDENTIFIER: BIBTEX}[name]


if __name__ == "__main__":
    check_models.check_base_models(__name__)
