"""Register the images of ImageNet-C (Hendrycks and Dietterich, 2019), one set for each kind of corruption."""

from brainscore_vision import stimulus_set_registry
from brainscore_vision.data_helpers import Bucket
from brainscore_vision.data_helpers.image_folders import from_image_folder

BIBTEX = """@article{hendrycks2019benchmarking,
  title={Benchmarking Neural Network Robustness to Common Corruptions and Perturbations},
  author={Hendrycks, Dan and Dietterich, Thomas},
  journal={arXiv preprint arXiv:1903.12261}, year={2019}, url={https://arxiv.org/abs/1903.12261}
}"""

LEVELS = ("noise_type", "noise_level", "synset")
BUCKET = Bucket("brainscore-storage/brainio-brainscore")

STIMULI = (  # kind, number of images, digests of table and archive
    ("noise", 750_000, "56f445e058b4d825e7731711c824918812ed2d2d", "e3c46b81bfd8a522cadcd8a4bb0c67bb5ccb4c6a"),
    ("blur", 1_000_000, "e7a537bb2f3f94b9cd3819a529de9f4349e58bd2", "85bac6d7c9b9646b22480f65cf6f1486fcf4b488"),
    ("weather", 1_000_000, "02fa92430be754163ecd06ee9211c1edd8984207", "18ef85343b10a4a326b5fc0758b9ae1da58f7d90"),
    ("digital", 1_000_000, "1e9611b560333989d4673bfd019160a27842f89b", "a10e8d7eabce191d1f8e92983c08b4f0fe0f435d"),
)

for kind, n_images, csv_sha1, zip_sha1 in STIMULI:
    stimulus_set_registry[f"imagenet_c.{kind}"] = from_image_folder(
        f"imagenet_c.{kind}",
        LEVELS,
        n_images,
        otherwise=BUCKET.stimuli(f"imagenet_c.{kind}", csv_sha1=csv_sha1, zip_sha1=zip_sha1),
    )
