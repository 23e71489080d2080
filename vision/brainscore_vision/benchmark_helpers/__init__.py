"""Help to write benchmarks.

============ ==========================================================================================================
`neural`     designs on recordings: by regression or geometry, with given splits, averaged over subjects or folds
`behaviour`  designs on behaviour: labels, choices between two objects, triplets
`properties` the design on single-neuron properties
`recordings` record a model as the subjects were recorded; prepare recordings
`scores`     ceilings, normalisation and errors of means
`screen`     show stimuli at their size in the experiment
`stand_ins`  stand-ins for a model, and ready-made tests of benchmark plugins
`checks`     checks of recordings, answers, metrics and scores
============ ==========================================================================================================

The other modules are doors for published plugins.
"""

from brainscore_vision.benchmark_helpers.checks.standard_format import check_standard_format
from brainscore_vision.benchmark_helpers.scores.normalization import bound_score
from brainscore_vision.benchmark_helpers.stand_ins.precomputed import PrecomputedFeatures

__all__ = ["PrecomputedFeatures", "bound_score", "check_standard_format"]
