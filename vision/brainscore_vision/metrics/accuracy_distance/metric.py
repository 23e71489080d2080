"""Score how close the accuracy of a model comes to that of people.

With the accuracies ``s`` of the model and ``t_i`` of people on the same stimuli:

    ``score = mean_i (1 - |s - t_i| / max(t_i, 1 - t_i))``

With `variables` the distance is averaged over combinations of their values.

- Input: source, one answer for each stimulus; target, one answer for each trial, with `stimulus_id`, `subject` and
  `truth`. An answer other than a label counts as wrong.
- Output: Score in [0, 1]; a perfect model does not reach 1 unless people are perfect.
- Invariances: order of trials; which wrong label was chosen; which stimuli (of a condition) were answered rightly.
- Error: over new people and stimuli, also of the ceiling; `compat=True` gives the standard deviation over people.
- When: to compare how hard conditions are, alongside `error_consistency`, which compares single stimuli.

Used by Coggan & Tong (2024) and Lonnqvist et al. (2025), arXiv:2504.05253.
"""

from brainscore_vision.metric_helpers.shared_metrics.behavioral_agreement import AccuracyDistance

__all__ = ["AccuracyDistance"]
