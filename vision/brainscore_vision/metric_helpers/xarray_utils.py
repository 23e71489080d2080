"""Published plugins import this from here: regression and correlation of assemblies, see `regression`."""

from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression

__all__ = ["XarrayCorrelation", "XarrayRegression"]
