"""Show pictures to HMAX."""

from brainscore_vision.model_helpers.activations.images import load_preprocess_images
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.model_helpers.check_submission import check_models

from .hierarchy import HMAX

IDENTIFIER = "hmax_discs"
IMAGE_SIZE = 224
VISUAL_DEGREES = 8
SEED = 0
BANDS = range(8)
READOUT_LAYER = "c2"
LAYERS = [*(f"c1.{band}" for band in BANDS), "s2.6", "s2.7", READOUT_LAYER]

# Chosen before any score was seen, after the comparisons of the authors: C1 cells are complex cells of V1 and, with
# large receptive fields, of V2; S2 cells, with positions, are V4, C2 cells, without, posterior IT.
REGION_LAYER_MAP = {
    "V1": ["c1.0", "c1.1", "c1.2", "c1.3"],
    "V2": ["c1.4", "c1.5", "c1.6", "c1.7"],
    "V4": "s2.7",
    "IT": "c2",
}

BIBTEX = """@article{serre2007robust,
  title={Robust Object Recognition with Cortex-Like Mechanisms},
  author={Serre, Thomas and Wolf, Lior and Bileschi, Stanley and Riesenhuber, Maximilian and Poggio, Tomaso},
  journal={IEEE Transactions on Pattern Analysis and Machine Intelligence}, volume={29}, number={3}, pages={411--426},
  year={2007}, doi={10.1109/TPAMI.2007.56}
}"""


def load_grey(paths):
    """Return grey pictures (picture, 1, 224, 224) from 0 to 1: the mean of red, green and blue."""
    return load_preprocess_images(paths, image_size=IMAGE_SIZE, normalize_mean=(0,) * 3, normalize_std=(1,) * 3).mean(
        axis=1, keepdims=True
    )


def get_model_list() -> list[str]:
    """Return the identifiers."""
    return [IDENTIFIER]


def get_model(name: str):
    """Return the network, without weights: its prototypes are cut from seeded pictures."""
    if name != IDENTIFIER:
        raise ValueError(f"This plugin has no model {name!r}; expected {IDENTIFIER!r}.")
    wrapper = PytorchWrapper(identifier=IDENTIFIER, model=HMAX(seed=SEED), preprocessing=load_grey, batch_size=16)
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
