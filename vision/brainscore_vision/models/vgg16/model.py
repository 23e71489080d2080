"""Load VGG-16 with the weights that torchvision publishes."""

import functools

from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.architectures.vgg import VGG16
from brainscore_vision.model_helpers.check_submission import check_models
from brainscore_vision.model_helpers.weights import PublishedWeights, load_weights

IDENTIFIER = "vgg16"
IMAGE_SIZE = 224
VISUAL_DEGREES = 8
LAYERS = ["features.4", "features.9", "features.16", "features.23", "features.30", "classifier.1", "classifier.4"]
READOUT_LAYER = "classifier.4"

# Chosen before any score was seen, see docs/reference/models.md.
REGION_LAYER_MAP = {"V1": "features.9", "V2": "features.16", "V4": "features.23", "IT": "features.30"}

WEIGHTS = PublishedWeights(
    url="https://download.pytorch.org/models/vgg16-397923af.pth",
    sha256="397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
    licence="BSD-3-Clause",
)

BIBTEX = """@inproceedings{simonyan2015very,
  title={Very Deep Convolutional Networks for Large-Scale Image Recognition},
  author={Simonyan, Karen and Zisserman, Andrew},
  booktitle={International Conference on Learning Representations}, year={2015},
  url={https://doi.org/10.48550/arXiv.1409.1556}
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
        model=load_weights(VGG16, WEIGHTS),
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
