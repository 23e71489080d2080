"""Draw the figures of the leaderboard for notebooks, papers and the command line.

=============  =========================================================================================================
`scores`       models ranked on a benchmark or an average, with intervals and groups that do not differ
`compare`      models on every benchmark: scores, and differences with Holm's correction
`ceiling`      raw scores of models and their noise ceiling
`neuroids`     the same for single neuroids or subjects of one score
`scatter`      one benchmark against another, with their correlation over models
`atlas`        layers of a model against regions
`profile`      a model on each benchmark or average, with the best and the median model
`pareto`       scores against costs, and the models that are best for their cost
`history`      scores by their time, and the best so far
`similarity`   correlations over models between all benchmarks
`save`         write a figure as SVG, PNG or PDF; the same figure gives the same bytes
=============  =========================================================================================================

Common parameters: `records` is an iterable of `ScoreRecord`, at most one per model and benchmark, or their folder;
`models` None means all; `most` is the number of rows, the best first; `highlight` names models in another colour; `ax`
are the axes to draw in, by default in a new figure; `theme` is ``'light'`` or ``'dark'``. The result is a
`matplotlib.figure.Figure`, made without pyplot, whose SVG has named groups. All raise `DataNotHereError` without
records, `UnknownIdentifierError` for a name without a record, and `RequirementsError` without matplotlib.
"""

from brainscore_core.plots.ceilings import ceiling, neuroids
from brainscore_core.plots.comparisons import compare, scatter, scores
from brainscore_core.plots.figures import save
from brainscore_core.plots.layers import atlas
from brainscore_core.plots.overviews import history, pareto, profile, similarity

__all__ = [
    "atlas",
    "ceiling",
    "compare",
    "history",
    "neuroids",
    "pareto",
    "profile",
    "save",
    "scatter",
    "scores",
    "similarity",
]
