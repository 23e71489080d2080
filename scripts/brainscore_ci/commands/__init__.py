"""Commands of ``python -m brainscore_ci``: those of people, and those of workflows."""

from __future__ import annotations

from brainscore_ci.commands import contribute, workflow
from brainscore_core.command_line import Command, command_of, make_app

_CONTRIBUTE = "Contribute"

app = make_app("Plan, check, test and report around a pull request and a merge.")

app.command("check", cls=Command, rich_help_panel=_CONTRIBUTE)(contribute.check)
app.command(
    "new-plugin",
    cls=Command,
    rich_help_panel=_CONTRIBUTE,
    epilog="Example: new-plugin data benchmark MyExperiment2024 --region IT",
)(command_of(contribute.NewPluginOptions, contribute.new_plugin))
app.command(
    "test-plugin",
    cls=Command,
    rich_help_panel=_CONTRIBUTE,
    # Unknown options go to pytest; -h among its joined short options must not print our help.
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
)(contribute.run_tests)
app.command("package", cls=Command, rich_help_panel=_CONTRIBUTE)(contribute.package)
app.command("plan", cls=Command, rich_help_panel=_CONTRIBUTE)(contribute.plan)

app.command("fetch-data", cls=Command, hidden=True)(workflow.fetch_data)
app.command("open-data", cls=Command, hidden=True)(workflow.open_data)
app.command("score-pairs", cls=Command, hidden=True)(workflow.score_pairs)
app.command("collect", cls=Command, hidden=True)(workflow.collect)
app.command("report", cls=Command, hidden=True)(workflow.report)
app.command("reconcile", cls=Command, hidden=True)(workflow.reconcile)
app.command("portal-pulls", cls=Command, hidden=True)(workflow.portal_pulls)
app.command("portal-submission", cls=Command, hidden=True)(workflow.portal_submission)
app.command("submission", cls=Command, hidden=True)(workflow.submission)
app.command("list-plugins", cls=Command, hidden=True)(workflow.list_plugins)
