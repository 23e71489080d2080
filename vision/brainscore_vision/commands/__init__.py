"""The commands of ``brainscore``, one module each, combined in `app`.

A command returns the exit code. Help and completion import all of these modules and must be fast, so a command imports
pydantic, NumPy and what needs them only when it runs, in its functions.
"""

from brainscore_core.command_line import Command, SpreadingCommand, command_of, make_app
from brainscore_vision.commands import again, atlas, cache, compare, data, judge, listing, plot, results, score
from brainscore_vision.commands.options import ScoreOptions

__all__ = ["app"]

_SCORE, _FIND = "Score", "Explore"

app = make_app("Score how brain-like vision models are.")
app.command("score", cls=score.ScoreCommand, rich_help_panel=_SCORE)(command_of(ScoreOptions, score.score))
app.command("atlas", cls=SpreadingCommand, rich_help_panel=_SCORE)(atlas.atlas)
app.command("choose-layers", cls=SpreadingCommand, rich_help_panel=_SCORE)(atlas.choose_layers)
app.command("compare", cls=SpreadingCommand, rich_help_panel=_SCORE)(compare.compare)
app.add_typer(plot.app, name="plot", rich_help_panel=_SCORE)
app.command("export", cls=SpreadingCommand, rich_help_panel=_SCORE)(results.export)
app.command("judge", cls=SpreadingCommand, hidden=True)(judge.judge)
app.command("prepare", cls=Command, hidden=True)(judge.prepare)
app.command("renormalise", cls=Command, rich_help_panel=_SCORE)(again.renormalise)
app.command("rescore", cls=SpreadingCommand, rich_help_panel=_SCORE)(again.rescore)
app.command("reproduce", cls=Command, rich_help_panel=_SCORE)(again.reproduce)
app.command("list", cls=Command, rich_help_panel=_FIND)(listing.list_identifiers)
app.command("info", cls=Command, rich_help_panel=_FIND)(listing.info)
app.add_typer(data.app, name="data", rich_help_panel=_FIND)
app.add_typer(cache.app, name="cache", rich_help_panel=_FIND)
