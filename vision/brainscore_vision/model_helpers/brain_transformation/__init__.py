"""Turn networks into experimental subjects: regions (`neural`), time (`temporal`) and behaviour (`behavior`)."""

from brainscore_vision.model_helpers.brain_transformation._commitment import ModelCommitment
from brainscore_vision.model_helpers.brain_transformation.behavior import ProbabilitiesMapping

__all__ = ["ModelCommitment", "ProbabilitiesMapping"]
