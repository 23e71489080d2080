"""Register the images of ObjectNet (Barbu, Mayo et al., 2019) whose objects have a category in ImageNet."""

from brainscore_vision import stimulus_set_registry
from brainscore_vision.data_helpers import Bucket
from brainscore_vision.data_helpers.image_folders import from_image_folder

BIBTEX = """@inproceedings{NEURIPS2019_97af07a1,
  author={Barbu, Andrei and Mayo, David and Alverio, Julian and Luo, William and Wang, Christopher and Gutfreund, Dan
    and Tenenbaum, Josh and Katz, Boris},
  booktitle={Advances in Neural Information Processing Systems},
  title={ObjectNet: A large-scale bias-controlled dataset for pushing the limits of object recognition models},
  volume={32}, year={2019},
  url={https://proceedings.neurips.cc/paper/2019/file/97af07a14cacba681feacf3012730892-Paper.pdf}
}"""

LEVELS = ("synset",)
BUCKET = Bucket("brainscore-storage/brainio-brainscore")

stimulus_set_registry["BarbuMayo2019"] = from_image_folder(
    "BarbuMayo2019",
    LEVELS,
    17_261,
    otherwise=BUCKET.stimuli(
        "BarbuMayo2019",
        csv_sha1="e4d8888ccb6beca28636e6698e7beb130e278e12",
        zip_sha1="1365eb2a7231516806127a7d2a908343a7ac9464",
    ),
)
