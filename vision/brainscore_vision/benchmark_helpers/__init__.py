"""Help to write benchmarks.

=============== =======================================================================================================
`neural`        designs on recordings: by regression or geometry, with given splits
`multi_subject` averages of such benchmarks over subjects or folds
`behaviour`     designs on behaviour: labels, choices between two objects, triplets
`properties`    the design on single-neuron properties
`recordings`    record a model like the subjects; prepare recordings
`scores`        ceilings, normalisation and errors of means
`screen`        show stimuli at their size, in an order that reveals nothing
`stand_ins`     stand-ins for a model
`test_helper`   ready-made tests of benchmark plugins
`checks`        checks of recordings, answers and metrics
=============== =======================================================================================================

Unless a design says otherwise:

- `identifier` is unique and equal to the registry key, ``<AuthorYear>.<region>-<metric>``; `version`, `parent` and
  `bibtex` are those of `BenchmarkBase`.
- Data are loaded when first needed: ``load...`` functions are called once, and an assembly may be a `LazyLoad`.
- `visual_degrees` is the width of the stimuli in the experiment, in degrees of visual angle; None: their column
  ``degrees``, or for behaviour the model's field of view. `number_of_trials` counts presentations of each stimulus.
- A call returns a 0-d Score with ``raw``, ``ceiling``, ``error``, ``n_stimuli`` and ``n_trials``, the metric's
  attributes, and its data's identifiers (`name_tested`); of recordings also ``n_neuroids``, ``simulated``, and
  ``layers`` and ``layer_origin`` if the model states them. An undefined score is NaN, with the reason in
  ``not_applicable``.
- They raise `ContractError` if the metric cannot be called with assemblies, `CeilingError` if the ceiling is unusable
  or does not fit metric and normalisation, `AssemblyError` for invalid data or answers, and `StimulusError` for stimuli
  without required columns.
"""

from brainscore_vision.benchmark_helpers.checks import check_standard_format
from brainscore_vision.benchmark_helpers.scores.normalization import bound_score
from brainscore_vision.benchmark_helpers.stand_ins import PrecomputedFeatures

__all__ = ["PrecomputedFeatures", "bound_score", "check_standard_format"]
