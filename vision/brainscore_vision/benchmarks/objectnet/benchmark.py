"""Ask a model for the category of objects in unusual places, seen from unusual sides (Barbu, Mayo et al., 2019)."""

from brainscore_vision import load_stimulus_set
from brainscore_vision.benchmark_helpers.behaviour.labels import LabelAccuracy

BIBTEX = """@inproceedings{DBLP:conf/nips/BarbuMALWGTK19,
  author={Andrei Barbu and David Mayo and Julian Alverio and William Luo and Christopher Wang and Dan Gutfreund and
    Josh Tenenbaum and Boris Katz},
  title={ObjectNet: {A} large-scale bias-controlled dataset for pushing the limits of object recognition models},
  booktitle={NeurIPS 2019},
  pages={9448--9458},
  year={2019},
  url={https://proceedings.neurips.cc/paper/2019/hash/97af07a14cacba681feacf3012730892-Abstract.html}
}"""

NUMBER_OF_TRIALS = 10


def objectnet_accuracy() -> LabelAccuracy:
    """Share of images named correctly among the 1000 categories of ImageNet; they fill the model's field of view."""
    return LabelAccuracy(
        "ObjectNet-top1",
        lambda: load_stimulus_set("BarbuMayo2019"),
        truth="synset",
        choices="imagenet",
        number_of_trials=NUMBER_OF_TRIALS,
        parent="engineering",
        bibtex=BIBTEX,
    )
