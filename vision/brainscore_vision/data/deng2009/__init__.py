"""Register the 50,000 validation images of ImageNet (Deng et al., 2009)."""

from brainscore_vision import stimulus_set_registry
from brainscore_vision.data_helpers import Bucket
from brainscore_vision.data_helpers.image_folders import from_image_folder

BIBTEX = """@inproceedings{deng2009imagenet,
  author={Deng, Jia and Dong, Wei and Socher, Richard and Li, Li-Jia and Li, Kai and Fei-Fei, Li},
  booktitle={2009 IEEE Conference on Computer Vision and Pattern Recognition},
  title={ImageNet: A large-scale hierarchical image database},
  year={2009}, pages={248-255}, doi={10.1109/CVPR.2009.5206848}
}"""

LEVELS = ("synset",)
BUCKET = Bucket("brainscore-storage/brainio-brainscore")

stimulus_set_registry["imagenet_val"] = from_image_folder(
    "imagenet_val",
    LEVELS,
    50_000,
    otherwise=BUCKET.stimuli(
        "imagenet_val",
        csv_sha1="ff79dcf6b0d115e6e8aa8d0fbba3af11dc649e57",
        zip_sha1="78172d752d8216a00833cfa34be67c8532ad7330",
    ),
)
