"""Ask a model for the category of the 50,000 validation images of ImageNet (Deng et al., 2009)."""

from brainscore_vision import load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.labels import LabelAccuracy

BIBTEX = """@inproceedings{deng2009imagenet,
  author={Deng, Jia and Dong, Wei and Socher, Richard and Li, Li-Jia and Li, Kai and Fei-Fei, Li},
  booktitle={2009 IEEE Conference on Computer Vision and Pattern Recognition},
  title={ImageNet: A large-scale hierarchical image database},
  year={2009},
  pages={248-255},
  doi={10.1109/CVPR.2009.5206848}
}"""

NUMBER_OF_TRIALS = 10


def imagenet_accuracy() -> LabelAccuracy:
    """Share of images of which a model names the category among 1000; they fill its field of view."""
    return LabelAccuracy(
        "ImageNet-top1",
        lambda: load_stimulus_set("imagenet_val"),
        truth="synset",
        choices="imagenet",
        number_of_trials=NUMBER_OF_TRIALS,
        parent="ImageNet",
        bibtex=BIBTEX,
    )
