"""Help to write benchmarks: standard designs, the steps that they take, stand-ins for models, and checks.

==================== ==================================================================================================
`neural` `rsa`       designs on recordings: one region, by regression or by geometry
`averaged`           designs that average others: over subjects, over folds
`properties`         the design on single-neuron properties; `single_units`, `presentation_order` are its steps
`recordings`         record a model like the subjects: region, time bins, stimuli, conditions
`preparation`        prepare recordings: reliable neuroids, time bins as neuroids, blocks (`blocks`)
`normalization`      scores of neuroids by their ceilings, bounds
`screen`             stimuli at their size in the experiment
`precomputed`        a model that answers with stored features
`standard_format`    what recordings have to be like; `validate_error`: what a score's error has to be like
`test_helper`        ready-made tests for benchmark plugins
==================== ==================================================================================================

Published plugins import from the doors `neural_common`, `multi_subject` and `properties_common`.
"""

from brainscore_vision.benchmark_helpers.normalization import bound_score
from brainscore_vision.benchmark_helpers.precomputed import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.standard_format import check_standard_format

__all__ = ["PrecomputedFeatures", "bound_score", "check_standard_format"]
