"""Fetch the data of one job of a plan, with credentials and without running a plugin.

Data plugins register their files literally, so that the library reads the addresses from the sources. Later steps find
the files on disk and have neither credentials nor network.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.planning.checkout import Checkout, read_own_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_ci.planning.shards import pair_shards, tasks_of, test_shards
from brainscore_ci.reporting.annotations import for_log
from brainscore_core.command_line import say
from brainscore_core.config import settings
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.processes import run_bounded

if TYPE_CHECKING:
    from brainscore_ci.planning.areas import PluginName
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["data_home_of_tests", "fetch_for_pairs", "fetch_for_tests"]


def data_home_of_tests(plugin: PluginName) -> Path:
    """Return the folder with the data for a plugin's private tests.

    It is outside the data home, which tests without private data can read.
    """
    return settings().cache_home / "data-of-tests" / f"{plugin.folder}--{plugin.name}"


def fetch_for_tests(plan_file: Path, shard: int) -> int:
    """Fetch the data of one job's private tests, one copy per plugin; return the exit code.

    Raises
    ------
    ConfigurationError
        If the plan cannot be read or has no such job.
    """
    plan, checkout = Plan.read(plan_file), read_own_checkout(Path.cwd())
    tested = [task.plugin for task in tasks_of(test_shards(plan, checkout.policy), shard) if task.with_private]
    statuses = [_fetch(checkout, _data_plugins(checkout, [name]), home=data_home_of_tests(name)) for name in tested]
    return max(statuses, default=0)


def fetch_for_pairs(plan_file: Path, shard: int) -> int:
    """Fetch the data of one job's benchmarks; return the exit code. Errors are those of `fetch_for_tests`."""
    plan, checkout = Plan.read(plan_file), read_own_checkout(Path.cwd())
    pairs = tasks_of(pair_shards(plan.pairs, checkout.policy), shard)
    owners = [checkout.owners.get(("benchmark", pair.benchmark)) for pair in pairs if pair.private]
    plugins = _data_plugins(checkout, [name for name in owners if name is not None])
    return _fetch(checkout, plugins, home=settings().data_home)


def _data_plugins(checkout: Checkout, users: Iterable[PluginName]) -> list[Plugin]:
    names = {name for user in users for name in checkout.reached(user) if name.folder == KINDS["data"].folder}
    return [checkout.plugins[name] for name in sorted(names) if name in checkout.plugins]


def _fetch(checkout: Checkout, plugins: Sequence[Plugin], *, home: Path) -> int:
    """Fetch the data that plugins register, through the library's program, which imports none of them."""
    libraries = {plugin.root.package.partition(".")[0] for plugin in plugins}
    statuses = [0]
    for library in sorted(libraries):
        names = [plugin.name for plugin in plugins if plugin.root.package.partition(".")[0] == library]
        ended = run_bounded(
            [sys.executable, "-m", library, "data", "fetch", *(f"--plugin={name}" for name in names)],
            environment={**os.environ, "BRAINIO_HOME": str(home), "BS_INSTALL_DEPENDENCIES": "no"},
            folder=checkout.repository,
            show=lambda line: say(for_log(line)),
        )
        statuses.append(abs(ended.status))
    return max(statuses)
