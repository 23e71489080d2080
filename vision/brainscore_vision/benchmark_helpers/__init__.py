"""Help to write benchmarks: standard designs, the steps that they take, stand-ins for models, and checks.

==================== ==================================================================================================
`neural` `rsa`       designs on recordings: one region, by regression or by geometry
`labels`             designs on answers: which label a model gives, and whether people give it too
`odd_one_out`        the design on triplets; `match_to_sample`: that on choices between two objects
`given_split`        designs on recordings that come as training and test stimuli
`averaged`           designs that average others: over subjects, over folds
`choices`            let a model choose: name, or learn labels and apply them
`properties`         the design on single-neuron properties; `single_units`, `presentation_order` are its steps
`recordings`         record a model like the subjects: region, time bins, stimuli, conditions
`preparation`        prepare recordings: reliable neuroids, time bins as neuroids, blocks (`blocks`)
`normalization`      scores of neuroids by their ceilings, bounds
`sharing`            one model in several benchmarks, asked nothing twice
`repeated`           benchmarks from single repetitions and the name of a metric
`ceilings`           one number, and its ceiling, for geometries and for time courses
`screen`             stimuli at their size in the experiment; `png` writes them
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
