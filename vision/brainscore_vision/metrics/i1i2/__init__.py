"""Compare which objects single images are confused with."""

from brainscore_vision import metric_registry
from brainscore_vision.data_helpers import cite_data

from .metric import I1, I2n

metric_registry["i1"] = I1
metric_registry["i2n"] = I2n

BIBTEX = cite_data("rajalingham2018")
