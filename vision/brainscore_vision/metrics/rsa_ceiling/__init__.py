"""Estimate how well a model's geometry can agree with that of single subjects."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_plugin

from .ceiling import RSACeiling

metric_registry["rsa_ceiling"] = RSACeiling

BIBTEX = cite_plugin("metrics/leave_one_subject_out")
