"""Score as `error_consistency`, but on stimuli that both the model and the person answered.

An empty answer, or the text `NaN`, is none: the stimulus is left out for this person.

- Input, output, invariances, error: as for `error_consistency`.
- When: as for `kato_accuracy_distance`.

References
----------
Kato & He (2026), doi:10.1016/j.isci.2026.117370.
"""

from brainscore_vision.metric_helpers.shared_metrics.behavioral_agreement import NO_ANSWER, ErrorConsistency


class KatoErrorConsistency(ErrorConsistency):
    """As `ErrorConsistency`, without stimuli that one side did not answer."""

    omitted_by_default = NO_ANSWER
