"""Score as `accuracy_distance`, but on stimuli that both the model and the person answered.

An answer is left out as in `kato_error_consistency`.

- Input, output, invariances, error: as for `accuracy_distance`.
- When: people answer only some stimuli, or only some are fair to a model.
"""

from brainscore_vision.metric_helpers.shared_metrics.behavioral_agreement import NO_ANSWER, AccuracyDistance


class KatoAccuracyDistance(AccuracyDistance):
    """As `AccuracyDistance`, without stimuli that one side did not answer."""

    omitted_by_default = NO_ANSWER
