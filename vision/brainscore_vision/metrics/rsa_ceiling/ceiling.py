"""Estimate the highest mean correlation of a model's dissimilarities with single subjects'.

    ``upper = mean_s spearman(d_s, mean_t rank(d_t))``, ``lower = mean_s spearman(d_s, mean_{t != s} rank(d_t))``

over pairs of stimuli, for the dissimilarities ``d_s`` of subject s. The score is the upper bound; attrs hold the lower.

- Input: an assembly with `subject` on neuroid; or ready-made dissimilarities, dims (presentation, presentation_other,
  subject). At least two subjects.
- Output: Score, at most 1: a correlation, the divisor of a score of `rdm` averaged over subjects.
- Invariances: order of stimuli, neuroids and subjects; shift and positive scaling of each pattern.
- When: RSA with several subjects. With one subject and repetitions, see `rsa_crossnobis`.

References
----------
Nili et al. (2014), doi:10.1371/journal.pcbi.1003553.
"""

from brainscore_vision.metric_helpers.shared_metrics.rsa import RSACeiling

__all__ = ["RSACeiling"]
