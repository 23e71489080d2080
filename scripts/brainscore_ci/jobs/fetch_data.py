"""Fetch the data of a plan in the one job with credentials, and open them in jobs without.

No plugin is run. Between the jobs the files are a public artifact, encrypted with age.
"""

from __future__ import annotations

import os
import platform
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.planning.checkout import Checkout, read_own_checkout
from brainscore_ci.planning.plan import Plan, TestTask
from brainscore_ci.planning.shards import pair_shards, tasks_of, test_shards
from brainscore_ci.reporting.step import for_log
from brainscore_core.command_line import say
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_path
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.processes import run_bounded

if TYPE_CHECKING:
    from brainscore_ci.planning.areas import PluginName
    from brainscore_core.plugin_management.index import Plugin
    from brainscore_core.scoring.pairs import Pair

_KEYS = "`age-keygen` makes a key (the secret DATA_KEY) and its recipient (the variable DATA_RECIPIENT)."


def data_home_of_tests(plugin: PluginName) -> Path:
    """Return the folder with the data for a plugin's private tests, which tests without private data cannot read."""
    return settings().cache_home / "data-of-tests" / f"{plugin.folder}--{plugin.name}"


def fetch(plan_file: Path, archive: Path, recipient: str) -> int:
    """Fetch the data of all private tests and pairs of a plan into a file encrypted for a recipient.

    The file holds a folder for each data plugin; if one fails to download, the others are there.
    """
    import pyrage  # not installed to test plugins

    plan, checkout = Plan.read(plan_file), read_own_checkout(Path.cwd())
    try:
        recipients = [pyrage.x25519.Recipient.from_str(recipient)]
    except pyrage.RecipientError as error:
        raise ConfigurationError(f"The recipient is no recipient of age, such as age1...: {error}. {_KEYS}") from error
    users = [*_tested(plan.tests), *_benchmarks(checkout, plan.pairs)]
    with tempfile.TemporaryDirectory() as folder:
        homes = {plugin: Path(folder, plugin.name) for plugin in _data_plugins(checkout, users)}
        statuses = [_fetch(checkout, plugin, home) for plugin, home in homes.items()]
        packed = Path(folder, "packed.tar")
        with tarfile.open(packed, "w") as tar:  # without locks and notes of downloads, which are hidden
            for home in homes.values():
                for file in sorted(home.rglob("*")):
                    if file.is_file() and not (file.is_symlink() or file.name.startswith(".")):
                        tar.add(file, file.relative_to(folder).as_posix(), recursive=False)
        with atomic_path(archive) as temporary:
            pyrage.encrypt_file(str(packed), str(temporary), recipients)
    return max(statuses, default=0)


def open_for_tests(plan_file: Path, archive: Path, shard: int, key: str) -> None:
    """Open the data of one job's private tests, one copy per plugin."""
    plan, checkout = Plan.read(plan_file), read_own_checkout(Path.cwd())
    users = _tested(tasks_of(test_shards(plan, checkout.policy), shard))
    _open(archive, key, {data_home_of_tests(user): _data_plugins(checkout, [user]) for user in users})


def open_for_pairs(plan_file: Path, archive: Path, shard: int, key: str) -> None:
    """Open the data of one job's benchmarks."""
    plan, checkout = Plan.read(plan_file), read_own_checkout(Path.cwd())
    users = _benchmarks(checkout, tasks_of(pair_shards(plan.pairs, checkout.policy), shard))
    _open(archive, key, {settings().data_home: _data_plugins(checkout, users)})


def _tested(tasks: Iterable[TestTask]) -> list[PluginName]:
    return [task.plugin for task in tasks if task.with_private]


def _benchmarks(checkout: Checkout, pairs: Iterable[Pair]) -> list[PluginName]:
    owners = [checkout.owners.get(("benchmark", pair.benchmark)) for pair in pairs if pair.private]
    return [owner for owner in owners if owner is not None]


def _data_plugins(checkout: Checkout, users: Iterable[PluginName]) -> list[Plugin]:
    names = {name for user in users for name in checkout.reached(user) if name.folder == KINDS["data"].folder}
    return [checkout.plugins[name] for name in sorted(names) if name in checkout.plugins]


def _fetch(checkout: Checkout, plugin: Plugin, home: Path) -> int:
    """Fetch the data that a plugin registers, through the library's program."""
    ended = run_bounded(
        [sys.executable, "-m", plugin.root.package.partition(".")[0], "data", "fetch", f"--plugin={plugin.name}"],
        environment={**os.environ, "BRAINIO_HOME": str(home), "BS_INSTALL_DEPENDENCIES": "no"},
        folder=checkout.repository,
        show=lambda line: say(for_log(line)),
    )
    return abs(ended.status)


def _open(archive: Path, key: str, homes: Mapping[Path, Sequence[Plugin]]) -> None:
    import pyrage  # see `fetch`

    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "packed.tar")
        try:
            pyrage.decrypt_file(str(archive), str(packed), [pyrage.x25519.Identity.from_str(key.strip())])
        except (pyrage.IdentityError, pyrage.DecryptError, OSError) as error:
            raise ConfigurationError(f"The key of the environment does not open {archive}: {error}. {_KEYS}") from error
        if not hasattr(tarfile, "data_filter"):  # keeps members within the folder
            raise ConfigurationError(
                f"{archive} is unpacked by Python 3.11.4 or newer, this is {platform.python_version()}."
            )
        with tarfile.open(packed) as tar:
            members = [(*member.name.partition("/")[::2], member) for member in tar]
            for home, plugins in homes.items():
                names = {plugin.name for plugin in plugins}
                files = [member.replace(name=path) for name, path, member in members if name in names]
                tar.extractall(home, files, filter="data")
