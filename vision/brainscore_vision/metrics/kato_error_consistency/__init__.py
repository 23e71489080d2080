"""Tell whether a model errs on the same stimuli as people, among those that both answered."""

from brainscore_vision import metric_registry

from .metric import KatoErrorConsistency

metric_registry["kato_error_consistency"] = KatoErrorConsistency

BIBTEX = """@article{kato2026,
  title={Systematic image perturbations reveal persistent gaps between human and machine vision},
  author={Kato, Mugihiko and He, Biyu},
  journal={iScience}, year={2026}, doi={10.1016/j.isci.2026.117370}
}"""
