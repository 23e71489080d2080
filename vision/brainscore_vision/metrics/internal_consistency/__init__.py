"""Estimate from repetitions how much of a measurement is signal."""

from brainscore_vision import metric_registry

from .ceiling import InternalConsistency, TemporalInternalConsistency

metric_registry["internal_consistency"] = InternalConsistency
metric_registry["internal_consistency_temporal"] = TemporalInternalConsistency

BIBTEX = """@article{spearman1910,
  title={Correlation calculated from faulty data},
  author={Spearman, Charles},
  journal={British Journal of Psychology}, volume={3}, pages={271--295}, year={1910},
  doi={10.1111/j.2044-8295.1910.tb00206.x}
}"""
