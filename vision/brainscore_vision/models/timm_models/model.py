"""Build networks with timm and load weights of pinned revisions of the Hugging Face hub.

Revisions and digests are from public projects that downloaded the files, without access to the hub; every download is
verified against its digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper
from brainscore_vision.model_helpers.adapters import adapted, timm_models
from brainscore_vision.model_helpers.check_submission import check_models
from brainscore_vision.model_helpers.weights import PublishedWeights, fetch_weights

VISUAL_DEGREES = 8
BLOCKS = [f"blocks.{number}" for number in range(12)]
STAGES = [f"stages.{number}" for number in range(4)]

# Chosen before any score was seen, see docs/reference/models.md.
BY_DEPTH = {"V1": "blocks.2", "V2": "blocks.5", "V4": "blocks.8", "IT": "blocks.11"}
BY_RESOLUTION = {"V1": "stages.0", "V2": "stages.1", "V4": "stages.2", "IT": "stages.3"}


@dataclass(frozen=True, kw_only=True)
class Model:
    """Declaration of a network.

    Attributes
    ----------
    architecture
        Name in timm, with the tag of its training.
    features
        Layer before the classifier, for the tasks ``probabilities`` and ``odd_one_out``.
    arguments
        Arguments of ``timm.create_model``.
    """

    architecture: str
    weights: PublishedWeights
    layers: list[str]
    region_layer_map: Mapping[str, str]
    features: str
    bibtex: str
    arguments: Mapping[str, object] = field(default_factory=dict)


def _hub(
    repository: str, revision: str, sha256: str, licence: str, file: str = "model.safetensors"
) -> PublishedWeights:
    url = f"https://huggingface.co/{repository}/resolve/{revision}/{file}"
    return PublishedWeights(url=url, sha256=sha256, licence=licence)


MODELS = {
    "vit_b_16": Model(
        architecture="vit_base_patch16_224.augreg_in1k",
        weights=_hub(
            "timm/vit_base_patch16_224.augreg_in1k",
            "458542882691a06a8b667c6fb5fe5c9573093a81",
            "678a1ce471be7da9822fe2508497a5bcf6da4c6802053151b232ba88a42c21a2",
            "Apache-2.0",
        ),
        layers=[*BLOCKS, "fc_norm"],
        region_layer_map=BY_DEPTH,
        features="fc_norm",
        bibtex="""@article{steiner2022train,
  title={How to train your {ViT}? Data, Augmentation, and Regularization in Vision Transformers},
  author={Steiner, Andreas and Kolesnikov, Alexander and Zhai, Xiaohua and Wightman, Ross and Uszkoreit, Jakob and
    Beyer, Lucas},
  journal={Transactions on Machine Learning Research}, year={2022}, url={https://doi.org/10.48550/arXiv.2106.10270}
}""",
    ),
    "convnext_tiny": Model(
        architecture="convnext_tiny.fb_in1k",
        weights=_hub(
            "timm/convnext_tiny.fb_in1k",
            "b43a6303c9fcf176d2d707478a128c2c91e93528",
            "08b9dc9c3a3a29421de7996761e176501896d1ae7fc3085cf56a643772329276",
            "Apache-2.0",
        ),
        layers=["stem", *STAGES, "head.flatten"],
        region_layer_map=BY_RESOLUTION,
        features="head.flatten",
        bibtex="""@inproceedings{liu2022convnet,
  title={A {ConvNet} for the 2020s},
  author={Liu, Zhuang and Mao, Hanzi and Wu, Chao-Yuan and Feichtenhofer, Christoph and Darrell, Trevor and Xie,
    Saining},
  booktitle={Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition}, pages={11976--11986},
  year={2022}, url={https://doi.org/10.48550/arXiv.2201.03545}
}""",
    ),
    # The file holds the text tower too; timm takes the image tower from it.
    "clip_vit_b_32": Model(
        architecture="vit_base_patch32_clip_quickgelu_224.openai",
        weights=_hub(
            "timm/vit_base_patch32_clip_224.openai",
            "a6f597a30f7b82c51704746581f9a4e41421e878",
            "e6d1bd7789aa45192b3bf90570a789b478bae1b74ebcce7eddd908e83a2b7c31",
            "MIT",
            "open_clip_model.safetensors",
        ),
        layers=[*BLOCKS, "head"],
        region_layer_map=BY_DEPTH,
        features="head",
        bibtex="""@inproceedings{radford2021learning,
  title={Learning Transferable Visual Models From Natural Language Supervision},
  author={Radford, Alec and Kim, Jong Wook and Hallacy, Chris and Ramesh, Aditya and Goh, Gabriel and others},
  booktitle={Proceedings of the 38th International Conference on Machine Learning}, volume={139}, pages={8748--8763},
  year={2021}, publisher={PMLR}, url={https://proceedings.mlr.press/v139/radford21a.html}
}""",
    ),
    # Trained at 518 pixels; evaluated at 224, as by its authors: timm resamples the embedding of positions.
    "dinov2_vits14": Model(
        architecture="vit_small_patch14_dinov2.lvd142m",
        weights=_hub(
            "timm/vit_small_patch14_dinov2.lvd142m",
            "4476dc0c66daca2ef4a40d2625b4a7063f02b685",
            "04d27f3400d059fc0cfd7d17dd1909a75bf3ea8fb3eeb48b97cb99e57ee20081",
            "Apache-2.0",
        ),
        layers=[*BLOCKS, "fc_norm"],
        region_layer_map=BY_DEPTH,
        features="fc_norm",
        bibtex="""@article{oquab2024dinov2,
  title={{DINOv2}: Learning Robust Visual Features without Supervision},
  author={Oquab, Maxime and Darcet, Timoth{\\'e}e and Moutakanni, Th{\\'e}o and Vo, Huy and others},
  journal={Transactions on Machine Learning Research}, year={2024}, url={https://doi.org/10.48550/arXiv.2304.07193}
}""",
        arguments={"img_size": 224},
    ),
}


def get_model_list() -> list[str]:
    """Return the identifiers."""
    return list(MODELS)


def get_model(name: str) -> PytorchWrapper:
    """Return a network; downloads its weights once. `RequirementsError` without timm."""
    model = _known(name)
    timm = adapted.import_framework("timm", f"Model {model.architecture!r}", "timm==1.0.31")
    path = fetch_weights(model.weights.url, model.weights.sha256)
    # timm converts names and positions; `custom_load` would expect the format of another publisher.
    overlay = {"file": str(path), "custom_load": False}
    network = timm.create_model(model.architecture, pretrained=True, pretrained_cfg_overlay=overlay, **model.arguments)
    return PytorchWrapper(
        identifier=name,
        model=network,
        preprocessing=timm_models.preprocessing(network),
        readout_layer=timm_models.readout_layer(network),
    )


def _known(name: str) -> Model:
    if name not in MODELS:
        raise ValueError(f"This plugin has no model {name!r}; expected one of {', '.join(MODELS)}.")
    return MODELS[name]


def get_layers(name: str) -> list[str]:
    """Return candidate layers, from early to late."""
    return _known(name).layers


def get_bibtex(name: str) -> str:
    """Return the reference."""
    return _known(name).bibtex


if __name__ == "__main__":
    check_models.check_base_models(__name__)
