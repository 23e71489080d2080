"""Published plugins import this from here: standard errors by the bootstrap, see `uncertainty`."""

from brainscore_vision.metric_helpers.uncertainty.errors import declare_no_error
from brainscore_vision.metric_helpers.uncertainty.intervals import attach_error, bootstrap_error

__all__ = ["attach_error", "bootstrap_error", "declare_no_error"]
