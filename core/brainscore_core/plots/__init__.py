"""Draw the figures of the leaderboard for notebooks, papers and the command line.

=============  =========================================================================================================
`scores`       models ranked on a benchmark or an average, with intervals and groups that do not differ
`compare`      models on every benchmark: scores, and differences with Holm's correction
`ceiling`      raw scores of models and their noise ceiling
`neuroids`     the same for single neuroids or subjects of one score
`scatter`      one benchmark against another, with their correlation over models
`atlas`        layers of a model against regions
`save`         write a figure as SVG, PNG or PDF; the same figure gives the same bytes
=============  =========================================================================================================

Each takes records (an iterable of `ScoreRecord` or a folder) or plain arrays, and returns a `matplotlib.figure.Figure`,
made without pyplot, whose SVG has named groups. Colours are those of the site, in a light and a dark theme. Names are
drawn literally. matplotlib is imported on first use.
"""

from brainscore_core.plots.ceilings import ceiling, neuroids
from brainscore_core.plots.comparisons import compare
from brainscore_core.plots.figures import save
from brainscore_core.plots.layers import atlas
from brainscore_core.plots.pairs import scatter
from brainscore_core.plots.ranking import scores

__all__ = ["atlas", "ceiling", "compare", "neuroids", "save", "scatter", "scores"]
