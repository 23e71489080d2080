"""Test the plugins that somebody names, or those of one job of a plan."""

from __future__ import annotations

from pathlib import Path

from brainscore_ci.checks.runner import workplace
from brainscore_ci.jobs.credentials import start_again_without_credentials
from brainscore_ci.jobs.plugin_tests import TestOptions, run_plugin_tests
from brainscore_ci.jobs.run_tests import ShardRequest, run_shard
from brainscore_core.command_line import say
from brainscore_core.errors import ConfigurationError


def run_tests(
    words: list[str],
    *,
    library: str | None,
    ci: bool,
    slow: bool,
    plan: Path | None,
    shard: int | None,
    results: Path | None,
) -> int:
    """See the command; words from the first option on go to pytest."""
    n_names = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    names = words[:n_names]
    options = TestOptions(private=not ci, slow=slow, pytest_arguments=tuple(words[n_names:]))
    if plan is not None and shard is not None and results is not None:
        if names or not ci:
            raise ConfigurationError("--plan, --shard and --results need --ci, and no names of plugins.")
        start_again_without_credentials()
        request = ShardRequest(plan=plan, shard=shard, results=results)
        return run_shard(library or workplace(Path.cwd()).library, request, options, repository=Path.cwd())
    given = {"--plan": plan, "--shard": shard, "--results": results}
    missing = [option for option, value in given.items() if value is None]
    if len(missing) < len(given):
        raise ConfigurationError(f"--plan, --shard and --results go together; missing: {', '.join(missing)}.")
    if not names:
        raise ConfigurationError("Name at least one plugin, such as: nox -s test_plugin -- pixels")
    say(f"Testing {', '.join(names)} ...")
    return run_plugin_tests(library or workplace(Path.cwd()).library, names, options)
