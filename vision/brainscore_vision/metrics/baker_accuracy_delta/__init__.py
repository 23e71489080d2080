"""Compare how much a disturbance of the shape of objects costs a model and people."""

from brainscore_vision import metric_registry

from .metric import BakerAccuracyDelta

metric_registry["baker_accuracy_delta"] = BakerAccuracyDelta

BIBTEX = """@article{baker2022,
  title={Deep learning models fail to capture the configural nature of human shape perception},
  author={Baker, Nicholas and Elder, James H.},
  journal={iScience},
  volume={25},
  number={9},
  pages={104913},
  year={2022},
  doi={10.1016/j.isci.2022.104913}
}"""
