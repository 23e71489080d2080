"""Load residual networks with the weights that torchvision publishes."""

import functools

from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.architectures import resnet
from brainscore_vision.model_helpers.check_submission import check_models
from brainscore_vision.model_helpers.weights import PublishedWeights, load_weights

IMAGE_SIZE = 224
VISUAL_DEGREES = 8
READOUT_LAYER = "avgpool"

# Chosen before any score was seen, see docs/reference/models.md.
REGION_LAYER_MAP = {"V1": "layer1", "V2": "layer2", "V4": "layer3", "IT": "layer4"}

N_BLOCKS = {"resnet18": (2, 2, 2, 2), "resnet34": (3, 4, 6, 3), "resnet50": (3, 4, 6, 3)}

# `IMAGENET1K_V1` of torchvision: the first recipe, which publications of the last years used.
WEIGHTS = {
    "resnet18": PublishedWeights(
        url="https://download.pytorch.org/models/resnet18-f37072fd.pth",
        sha256="f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",
        licence="BSD-3-Clause",
    ),
    "resnet34": PublishedWeights(
        url="https://download.pytorch.org/models/resnet34-b627a593.pth",
        sha256="b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f",
        licence="BSD-3-Clause",
    ),
    "resnet50": PublishedWeights(
        url="https://download.pytorch.org/models/resnet50-0676ba61.pth",
        sha256="0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a",
        licence="BSD-3-Clause",
    ),
}

BIBTEX = """@inproceedings{he2016deep,
  title={Deep Residual Learning for Image Recognition},
  author={He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian},
  booktitle={IEEE Conference on Computer Vision and Pattern Recognition}, pages={770--778}, year={2016},
  doi={10.1109/CVPR.2016.90}
}"""


def get_model_list() -> list[str]:
    """Return the identifiers."""
    return list(WEIGHTS)


def get_model(name: str):
    """Return a network; its weights are downloaded the first time."""
    if name not in WEIGHTS:
        raise ValueError(f"This plugin has no model {name!r}; expected {' or '.join(map(repr, WEIGHTS))}.")
    wrapper = PytorchWrapper(
        identifier=name,
        model=load_weights(getattr(resnet, name), WEIGHTS[name]),
        preprocessing=functools.partial(load_preprocess_images, image_size=IMAGE_SIZE),
        readout_layer="fc",
    )
    wrapper.image_size = IMAGE_SIZE
    return wrapper


def get_layers(name: str) -> list[str]:
    """Return candidate layers, from early to late."""
    layers = ["maxpool"]
    for stage, n_blocks in enumerate(N_BLOCKS[name], start=1):  # the output of a stage is that of its last block
        layers += [*(f"layer{stage}.{block}" for block in range(n_blocks - 1)), f"layer{stage}"]
    return [*layers, READOUT_LAYER]


def get_bibtex(name: str) -> str:
    """Return the reference."""
    return dict.fromkeys(WEIGHTS, BIBTEX)[name]


if __name__ == "__main__":
    check_models.check_base_models(__name__)
