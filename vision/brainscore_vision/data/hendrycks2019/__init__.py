"""Register the images of ImageNet-C (Hendrycks and Dietterich, 2019), one set for each kind of corruption."""

from brainscore_vision import stimulus_set_registry
from brainscore_vision.data_helpers import Bucket
from brainscore_vision.data_helpers.image_folders import from_image_folder

BIBTEX = """@article{hendrycks2019benchmarking,
  title={Benchmarking Neural Network Robustness to Common Corruptions and Perturbations},
  author={Hendrycks, Dan and Dietterich, Thomas},
  journal={arXiv preprint arXiv:1903.12261},
  year={2019},
  url={https://arxiv.org/abs/1903.12261}
}"""

LEVELS = ("noise_type", "noise_level", "synset")
BUCKET = Bucket("brainscore-storage/brainio-brainscore")

stimulus_set_registry["imagenet_c.noise"] = from_image_folder(
    "imagenet_c.noise",
    LEVELS,
    750_000,
    otherwise=BUCKET.stimuli(
        "imagenet_c.noise",
        csv_sha1="56f445e058b4d825e7731711c824918812ed2d2d",
        zip_sha1="e3c46b81bfd8a522cadcd8a4bb0c67bb5ccb4c6a",
    ),
)

stimulus_set_registry["imagenet_c.blur"] = from_image_folder(
    "imagenet_c.blur",
    LEVELS,
    1_000_000,
    otherwise=BUCKET.stimuli(
        "imagenet_c.blur",
        csv_sha1="e7a537bb2f3f94b9cd3819a529de9f4349e58bd2",
        zip_sha1="85bac6d7c9b9646b22480f65cf6f1486fcf4b488",
    ),
)

stimulus_set_registry["imagenet_c.weather"] = from_image_folder(
    "imagenet_c.weather",
    LEVELS,
    1_000_000,
    otherwise=BUCKET.stimuli(
        "imagenet_c.weather",
        csv_sha1="02fa92430be754163ecd06ee9211c1edd8984207",
        zip_sha1="18ef85343b10a4a326b5fc0758b9ae1da58f7d90",
    ),
)

stimulus_set_registry["imagenet_c.digital"] = from_image_folder(
    "imagenet_c.digital",
    LEVELS,
    1_000_000,
    otherwise=BUCKET.stimuli(
        "imagenet_c.digital",
        csv_sha1="1e9611b560333989d4673bfd019160a27842f89b",
        zip_sha1="a10e8d7eabce191d1f8e92983c08b4f0fe0f435d",
    ),
)
