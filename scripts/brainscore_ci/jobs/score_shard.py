"""Score the pairs of one job of a plan and write their records."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from brainscore_ci.jobs.publishable import SKIPPED, public_record
from brainscore_ci.planning.checkout import Checkout, read_own_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_ci.planning.planner import RECORDS
from brainscore_ci.planning.shards import pair_shards, tasks_of
from brainscore_ci.reporting.results import PairResult, Results
from brainscore_ci.reporting.step import for_log
from brainscore_core.command_line import FAILED, say
from brainscore_core.config import settings
from brainscore_core.errors import BrainScoreError, count
from brainscore_core.files import atomic_path
from brainscore_core.git import run_git
from brainscore_core.records.store import BranchStore, FolderStore, RecordStore, reuse
from brainscore_core.scoring.batches import Batch, run_batch
from brainscore_core.scoring.campaign import run_pairs
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.scoring.isolation.environments import boxed_python_for
from brainscore_core.scoring.judging import failed
from brainscore_core.scoring.pairs import Outcome, Pair

_LOG_LINES = 30


def run(
    plan_file: Path,
    records: Path,
    *,
    minutes: float,
    shard: int | None = None,
    previews: bool = False,
    fetch_records: bool = False,
    results: Path | None = None,
) -> int:
    """Score, in boxes only; exit code 1 if a pair failed or was not reached."""
    if why := why_no_box():
        say(f"Nothing is scored: public scores need boxes. {why}")
        return FAILED
    plan = Plan.read(plan_file)
    checkout = read_own_checkout(Path.cwd())
    pairs = plan.previews if previews else plan.pairs
    if shard is not None:
        pairs = tasks_of(pair_shards(pairs, checkout.policy), shard)
    if fetch_records:  # to reuse them
        run_git(
            *(checkout.repository, "fetch", "--quiet", "--no-tags", "--depth=1", "origin"),
            "+refs/heads/scores:refs/remotes/origin/scores",
            environment={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            timeout_s=120,
        )
    # A pull request shows all its previews, so each is scored.
    with BranchStore(checkout.repository, RECORDS) as branch:
        stores: list[RecordStore] = [FolderStore(records)]
        if not previews:
            stores.append(branch)
        is_scored = reuse(stores, checkout.revision_of, with_private=True)
        reasons = {pair: is_scored(pair.model, pair.benchmark) for pair in pairs}
        folders = [records]
        if previews and checkout.policy.merge.enabled:  # a merge without a person wants each score from two boxes
            folders.append(records.with_name(f"{records.name}-again"))
        for folder in reversed(folders):
            made, unscored = run_pairs(
                [pair for pair, reason in reasons.items() if reason is None],
                folder,
                partial(run_publishable, checkout),
                revision_of=checkout.revision_of,
                why_no_private=None if os.environ.get("PRIVATE_DATA") == "true" else SKIPPED,
                minutes=minutes,
                tell=_tell,
            )
    for pair, reason in {**reasons, **unscored}.items():
        if reason is not None:
            say(f"{pair.model} on {pair.benchmark}: no new record, {reason}")
    if results is not None:
        stored = [[store.get(pair.model, pair.benchmark) for store in map(FolderStore, folders)] for pair in pairs]
        scored = tuple(PairResult.of_record(record, *again) for record, *again in stored if record is not None)
        content = Results(pairs=scored)
        with atomic_path(results / f"pairs-{shard or 0}.json") as temporary:
            temporary.write_text(content.to_json(), encoding="utf-8")
    failed = [record for record in made if record.status.startswith("failed:")]
    say(f"{count(len(made), 'new record')}, {len(failed)} of failures; {count(len(unscored), 'pair')} not reached.")
    return FAILED if failed or unscored else 0


def run_publishable(checkout: Checkout, batches: Sequence[Batch], *, minutes: float) -> Iterator[Outcome]:
    """Score batches in sequence; reduce outcomes of private pairs to their public part.

    Batches are divided further, until one process has the requirements of all its benchmarks.
    """
    deadline = time.monotonic() + 60 * minutes
    for batch in batches:
        for outcome in _run_batch(checkout, batch, deadline):
            yield Outcome(public_record(outcome.record, checkout.revision_of)) if batch.private else outcome


def _run_batch(checkout: Checkout, batch: Batch, deadline: float) -> Iterator[Outcome]:
    try:
        library = checkout.library_of("model", batch.model)
        parts: dict[Path, list[Pair]] = {}
        for pair in batch.pairs:
            parts.setdefault(python_of(checkout, pair), []).append(pair)
    except BrainScoreError as error:
        yield from (Outcome(failed(pair, type(error).__name__, str(error))) for pair in batch.pairs)
        return
    for python, pairs in parts.items():
        rest = (deadline - time.monotonic()) / 60
        yield from run_batch(Batch(tuple(pairs)), library, minutes=rest, python=str(python))


def python_of(checkout: Checkout, pair: Pair) -> Path:
    """Return the interpreter that judges a pair, with the requirements of the benchmark and the plugins it uses."""
    if settings().install_dependencies == "no":
        return Path(sys.executable)
    return boxed_python_for(checkout.folders_of("benchmark", pair.benchmark))


def _tell(pair: Pair, ran: Outcome) -> None:
    record = ran.record
    value = "not defined" if record.score is None else f"{record.score:.4f}"
    say(for_log(f"{pair.model} on {pair.benchmark}: {value if record.is_scored else record.status}"))
    if record.status.startswith("failed:"):
        lines = [record.message, *ran.output.splitlines()[-_LOG_LINES:]]
        say(for_log("\n".join(f"    {line}" for line in lines)))
