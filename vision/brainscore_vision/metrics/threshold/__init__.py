"""Compare how strong a stimulus must be for a model and for people."""

from brainscore_vision import metric_registry

from .metric import Threshold, ThresholdElevation

metric_registry["threshold"] = Threshold
metric_registry["threshold_elevation"] = ThresholdElevation

BIBTEX = """@article{wichmann2001psychometric,
  title={The psychometric function: I. Fitting, sampling, and goodness of fit},
  author={Wichmann, Felix A and Hill, N Jeremy},
  journal={Perception \\& Psychophysics}, volume={63}, number={8}, pages={1293--1313}, year={2001},
  doi={10.3758/BF03194544}
}"""
