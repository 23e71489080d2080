"""Load CORnet-S with the weights that its authors publish."""

import functools

from brainscore_vision.model_helpers.activations.pytorch import load_preprocess_images
from brainscore_vision.model_helpers.activations.recurrent import RecurrentPytorchWrapper
from brainscore_vision.model_helpers.architectures import CORNET_STEPS_MS
from brainscore_vision.model_helpers.architectures.cornet import CORnetS
from brainscore_vision.model_helpers.brain_transformation.recurrent import regular_steps
from brainscore_vision.model_helpers.check_submission import check_models
from brainscore_vision.model_helpers.weights import PublishedWeights, load_weights

IDENTIFIER = "cornet_s"
IMAGE_SIZE = 224
VISUAL_DEGREES = 8
READOUT_LAYER = "decoder.avgpool-t0"
STEPS = {area: steps for area, (_, _, steps) in CORNET_STEPS_MS.items()}
LAYERS = [f"{area}.output-t{step}" for area, steps in STEPS.items() for step in range(steps)] + [READOUT_LAYER]
TIME_MAPPING = regular_steps(CORNET_STEPS_MS)

# The file name has the digest's first eight digits; the first download's full digest is stored next to it, to notice
# later changes.
WEIGHTS = PublishedWeights(
    url="https://s3.amazonaws.com/cornet-models/cornet_s-1d3f7974.pth",
    sha256="1d3f7974",
    licence="GPL-3.0-or-later",
    entry="state_dict",
    prefix="module.",
)

BIBTEX = """@inproceedings{kubilius2019brainlike,
  title={Brain-Like Object Recognition with High-Performing Shallow Recurrent {ANNs}},
  author={Kubilius, Jonas and Schrimpf, Martin and Kar, Kohitij and Rajalingham, Rishi and Hong, Ha and Majaj, Najib
    J. and Issa, Elias B. and Bashivan, Pouya and Prescott-Roy, Jonathan and Schmidt, Kailyn and Nayebi, Aran and
    Bear, Daniel and Yamins, Daniel L. K. and DiCarlo, James J.},
  booktitle={Advances in Neural Information Processing Systems}, volume={32}, pages={12785--12796}, year={2019},
  url={https://doi.org/10.48550/arXiv.1909.06161}
}"""


def get_model_list() -> list[str]:
    """Return the identifiers."""
    return [IDENTIFIER]


def get_model(name: str):
    """Return the network; its weights are downloaded the first time."""
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    wrapper = RecurrentPytorchWrapper(
        identifier=IDENTIFIER,
        model=load_weights(CORnetS, WEIGHTS),
        preprocessing=functools.partial(load_preprocess_images, image_size=IMAGE_SIZE),
        readout_layer="decoder.output",
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
