"""Compare the accuracy of a model with that of people on what both answered."""

from brainscore_vision import metric_registry

from .metric import KatoAccuracyDistance

metric_registry["kato_accuracy_distance"] = KatoAccuracyDistance

BIBTEX = """@article{kato2026,
  title={Systematic image perturbations reveal persistent gaps between human and machine vision},
  author={Kato, Mugihiko and He, Biyu},
  journal={iScience},
  year={2026},
  doi={10.1016/j.isci.2026.117370}
}"""
