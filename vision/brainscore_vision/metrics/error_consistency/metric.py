"""Score whether two observers err on the same stimuli more often than accuracies explain.

For one person and condition, with accuracies ``p1``, ``p2`` and the part ``c`` of stimuli on which both are right or
both wrong, the score is Cohen's kappa, averaged over people, then over conditions:

    ``kappa = (c - e) / (1 - e)``,  ``e = p1 p2 + (1 - p1)(1 - p2)``

- Input: source, one answer for each stimulus; target, one answer for each person and stimulus, with `stimulus_id`,
  `subject`, `truth` and, if there are several, `condition`. Answers are the assembly's values, or its coordinate
  `choice` if the values are numbers. An answer other than a label (`na`, empty) counts as wrong.
- Output: Score, at most 1; 0 is what independent errors give.
- Invariances: order of trials; which wrong label was chosen.
- Error: over new people and new stimuli, also of the ceiling; `compat=True` gives the standard deviation over people
  and conditions, and the absolute value of the score.
- When: trial-by-trial comparison with people, alongside accuracy. Not defined where both are always right.

References
----------
Geirhos et al. (2020), NeurIPS 33;
Cohen (1960), doi:10.1177/001316446002000104.
"""

from brainscore_vision.metric_helpers.shared_metrics.behavioral_agreement import ErrorConsistency

__all__ = ["ErrorConsistency"]
