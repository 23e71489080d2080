"""Score the pairs of one job of a plan, and keep a record of each."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.plan import Pair, Plan
from brainscore_ci.planning.planner import RECORDS
from brainscore_ci.planning.shards import pair_shards
from brainscore_ci.reporting.annotations import for_log
from brainscore_ci.reporting.results import PairResult, Results
from brainscore_core.caching import atomic_path
from brainscore_core.command_line import say
from brainscore_core.errors import ConfigurationError
from brainscore_core.git import run_git
from brainscore_core.scoring.pairs import PairOutcome, PairTask, run_pairs
from brainscore_core.scoring.store import BranchStore, FolderStore, Store, reuse

if TYPE_CHECKING:
    from brainscore_ci.planning.policy import Policy

__all__ = ["run"]

_LOG_LINES = 30


def run(options: argparse.Namespace) -> int:
    """Score; exit code 0 if every pair has a score or was left out on purpose, 1 if one failed or was not reached.

    Raises
    ------
    ConfigurationError
        If the plan cannot be read or has no such job.
    """
    plan = Plan.read(options.plan)
    checkout = read_own_checkout(Path.cwd())
    pairs = _chosen(plan.previews if options.previews else plan.pairs, options.shard, checkout.policy)
    if options.fetch_records:
        _fetch_records(checkout.repository)
    # Previews are shown whole, so each has to be scored by this run.
    with BranchStore(checkout.repository, RECORDS) as branch:
        stores: list[Store] = [FolderStore(options.records)]
        if not options.previews:
            stores.append(branch)
        made, left = run_pairs(
            pairs,
            options.records,
            library_of=lambda pair: checkout.library_of("model", pair.model),
            revision_of=checkout.revision_of,
            is_scored=reuse(stores, checkout.revision_of, with_private=True),
            minutes=options.minutes,
            tell=_tell,
        )
    for each in left:
        say(f"{each.pair.model} on {each.pair.benchmark}: no new record, {each.reason}")
    if options.results is not None:
        _write_results(options.results, options.shard, pairs, FolderStore(options.records))
    failed = [record for record in made if record.status.startswith("failed:")]
    unreached = [each for each in left if not each.is_fine]
    say(f"{len(made)} new records, {len(failed)} of them of failures; {len(unreached)} pairs not reached.")
    return 1 if failed or unreached else 0


def _chosen(pairs: tuple[Pair, ...], shard: int | None, policy: Policy) -> tuple[Pair, ...]:

    if shard is None:
        return pairs
    shards = pair_shards(pairs, policy)
    if not 0 <= shard < len(shards):
        raise ConfigurationError(f"The plan has {len(shards)} jobs, numbered from 0; there is no job {shard}.")
    return shards[shard].tasks


def _fetch_records(repository: Path) -> None:
    """Bring the records that an earlier attempt has published; without them everything is scored again."""
    run_git(
        *(repository, "fetch", "--quiet", "--no-tags", "--depth=1", "origin"),
        "+refs/heads/scores:refs/remotes/origin/scores",
        environment={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        timeout_s=120,
    )


def _tell(pair: PairTask, ran: PairOutcome) -> None:

    record = ran.record
    shown = "not defined" if record.score is None else f"{record.score:.4f}"
    say(for_log(f"{pair.model} on {pair.benchmark}: {shown if record.is_scored else record.status}"))
    if record.status.startswith("failed:"):
        lines = [record.message, *ran.output.splitlines()[-_LOG_LINES:]]
        say(for_log("\n".join(f"    {line}" for line in lines)))


def _write_results(folder: Path, shard: int | None, pairs: tuple[Pair, ...], store: FolderStore) -> None:

    records = [store.get(pair.model, pair.benchmark) for pair in pairs]
    results = Results(pairs=tuple(PairResult.of_record(record) for record in records if record is not None))
    with atomic_path(folder / f"pairs-{0 if shard is None else shard}.json") as temporary:
        temporary.write_text(results.to_json(), encoding="utf-8")
