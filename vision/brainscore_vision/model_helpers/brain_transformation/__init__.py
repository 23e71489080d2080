"""Turn networks into experimental subjects: regions (`mapping`), time (`temporal`) and behaviour (`behavior`)."""

from brainscore_vision.model_helpers.brain_transformation.behavior import ProbabilitiesMapping
from brainscore_vision.model_helpers.brain_transformation.commitment import ModelCommitment

__all__ = ["ModelCommitment", "ProbabilitiesMapping"]
