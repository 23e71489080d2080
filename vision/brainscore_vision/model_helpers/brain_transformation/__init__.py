"""Turn networks into experimental subjects."""

from brainscore_vision.model_helpers.brain_transformation.behavior import ProbabilitiesMapping
from brainscore_vision.model_helpers.brain_transformation.commitment import ModelCommitment

__all__ = ["ModelCommitment", "ProbabilitiesMapping"]
