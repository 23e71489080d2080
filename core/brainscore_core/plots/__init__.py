"""Draw what the leaderboard draws, from the same numbers: for notebooks, papers and the command line.

=============  =========================================================================================================
`scores`       models ranked on a benchmark or an average, with intervals and groups that do not differ
`compare`      models on every benchmark: scores, and differences with Holm's correction
`ceiling`      raw scores below what the noise of the measurement allows, one row for each model
`neuroids`     the same for single neuroids or subjects of one score
`scatter`      one benchmark against another, with their correlation over models
`atlas`        layers of a model against regions
`save`         write a figure as SVG, PNG or PDF; the same figure gives the same bytes
=============  =========================================================================================================

Each takes records, as an iterable of `ScoreRecord` or the folder that holds them, or plain arrays. It returns a
`matplotlib.figure.Figure` made without pyplot, whose groups have names in SVG. Colours are those of the site, in a
light and a dark theme. Text of others, such as the names of models, is drawn as it is written. matplotlib is imported
when something is drawn.
"""

from brainscore_core.plots.ceilings import ceiling, neuroids
from brainscore_core.plots.comparisons import compare
from brainscore_core.plots.figures import save
from brainscore_core.plots.layers import atlas
from brainscore_core.plots.pairs import scatter
from brainscore_core.plots.ranking import scores

__all__ = ["atlas", "ceiling", "compare", "neuroids", "save", "scatter", "scores"]
