r"""Score predictions of all stimuli together, each made from the other folds.

The regressions are those of `pls`, `ridge` and `ridgecv`. Stimuli are divided into ten folds over their sorted ids,
three times; predictions of all folds are compared with the responses at once, the mean of each fold removed from both.
For ``*_kfold`` and ``*_r2er``, predictions of each fold are first divided by their standard deviation over all stimuli,
so that folds weigh alike (`arrays.reliability.held_out` says why).

``*_kfold``: correlation over all stimuli, for averaged responses.

.. math:: \text{score} = \operatorname{median}_j \overline{r_{jd}}, \qquad
    r_{jd} = \frac{\sum_i f_{ij} y_{ij}}{\sqrt{\sum_i f_{ij}^2 \sum_i y_{ij}^2}}

with stimuli i, neuroids j, divisions d.

``*_signal``: share of the signal that is explained, summed over stimuli and neuroids.

.. math:: \text{score} = \frac{\sum_j w_j \sum_i (f_{Aij} y_{Bij} + f_{Bij} y_{Aij} - f_{Aij} f_{Bij})}
    {\sum_j w_j \sum_i y_{Aij} y_{Bij}}

A and B are halves of the repetitions, new in each division, :math:`f_A` is predicted from responses in A, and
:math:`w_j` is one over the variance of the mean responses of a neuroid, so that neuroids weigh by their reliability. A
jackknife over stimuli removes the bias of the ratio.

``*_r2er``: the squared correlation with expected responses (Pospisil and Bair 2021), median over neuroids.

.. math:: r^2_{ER,j} = \frac{(\sum_i f_{ij} y_{ij})^2 - \sum_i f_{ij}^2 v_{ij}}
    {\sum_i f_{ij}^2 \, \bigl(\sum_i y_{ij}^2 - \sum_i (1 - 1/m_i) v_{ij}\bigr)}

with the variance v of the noise in the mean responses.

- Input: source, each stimulus once; target. ``*_signal`` and ``*_r2er`` take single repetitions with `repetition`, each
  stimulus at least twice. At least eight stimuli.
- Output: Score. ``*_kfold``: a correlation in [-1, 1], with `explained_variance` and a reliability. ``*_signal`` and
  ``*_r2er``, without a ceiling: a share, on average 1 for the best model. If the mean reliability of neuroids is below
  `min_reliability`, .15, or below two of its standard errors, the score is NaN, with the reason in
  ``attrs['not_applicable']``, and ``attrs['not_estimable']`` is True: no model is scored 0 for it.
- Invariances: order of presentations and of neuroids; shifts and positive scaling of each neuroid of the target
  (``pls``, whose components are common to all neuroids: of all together); rotations and shifts of the source.
- When: fewer than some 200 stimuli, fewer than some 20 neuroids, or a reliability below .5.
  ``docs/explanation/ceilings.md`` lists the bias of each.

References
----------
Sahani & Linden (2003), NIPS 15; Schoppe et al. (2016), doi:10.3389/fncom.2016.00010 (signal power explained); Pospisil
& Bair (2021), doi:10.1371/journal.pcbi.1009212; Spearman (1904), doi:10.2307/1412159.
"""

from brainscore_vision.metric_helpers.regression.repeated_folds import ExplainedR2ER as ExplainedR2ER
from brainscore_vision.metric_helpers.regression.repeated_folds import ExplainedSignal as ExplainedSignal
from brainscore_vision.metric_helpers.regression.repeated_folds import FoldedCorrelation as FoldedCorrelation
