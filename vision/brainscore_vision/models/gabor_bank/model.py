"""Show pictures to a bank of Gabor filters."""

import functools

from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.check_submission import check_models

from .v1 import GaborBank

IDENTIFIER = "gabor_bank"
IMAGE_SIZE = 224
VISUAL_DEGREES = 8
SEED = 0
LAYERS = ["simple", "complex", "output"]
REGION_LAYER_MAP = {"V1": "output"}  # a model of V1 only

# At every eighth pixel, where the published models have every fourth: 401,408 units are a quarter of theirs.
STRIDE_PX = 8

BIBTEX = """@inproceedings{dapello2020simulating,
  title={Simulating a Primary Visual Cortex at the Front of {CNNs} Improves Robustness to Image Perturbations},
  author={Dapello, Joel and Marques, Tiago and Schrimpf, Martin and Geiger, Franziska and Cox, David and DiCarlo,
    James J.},
  booktitle={Advances in Neural Information Processing Systems}, volume={33}, pages={13073--13087}, year={2020},
  url={https://doi.org/10.1101/2020.06.16.154542}
}"""


def get_model_list() -> list[str]:
    """Return the identifiers."""
    return [IDENTIFIER]


def get_model(name: str):
    """Return the bank, without weights: filters are drawn from published distributions."""
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    preprocessing = functools.partial(
        load_preprocess_images, image_size=IMAGE_SIZE, normalize_mean=(0.5,) * 3, normalize_std=(0.5,) * 3
    )
    bank = GaborBank(stride_px=STRIDE_PX, px_per_degree=IMAGE_SIZE / VISUAL_DEGREES, seed=SEED)
    wrapper = PytorchWrapper(identifier=IDENTIFIER, model=bank, preprocessing=preprocessing)
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
