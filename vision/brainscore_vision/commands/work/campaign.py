"""Score models on benchmarks, each model in its own processes, and resume."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import IsolationError, count
from brainscore_core.identity import software
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import FolderStore, is_recorded, reuse
from brainscore_core.scoring.batches import Batch, make_batches
from brainscore_core.scoring.campaign import Runner, duration, run_here, run_pairs
from brainscore_core.scoring.cluster import running
from brainscore_core.scoring.cluster.places import parse_place
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.scoring.pairs import Limits, Outcome, Pair
from brainscore_vision.catalogue.pairs import facts_of, pairs_of, stimuli_of
from brainscore_vision.commands.work.live import telling
from brainscore_vision.commands.work.selection import records_folder
from brainscore_vision.commands.work.tables import SCORE_COLUMNS, SPARE_COLUMNS, score_row
from brainscore_vision.loading import find_plugin_directory

if TYPE_CHECKING:
    from brainscore_vision.commands.options import ScoreOptions

__all__ = ["exit_code", "score_many"]

_LIBRARY = "brainscore_vision"
_SHARES = 3  # batches for each job
_LEAST_BATCH_MINUTES = 10.0
# Errors that mean a missing network, not a failed pair.
_NOT_HERE = {"OfflineError", "DataNotHereError", "PrivateDataError", "MissingStimulusError", "RequirementsError"}


def score_many(models: Sequence[str], benchmarks: Sequence[str], options: ScoreOptions) -> int:
    """Score every model on every benchmark (registered identifiers, each once), and print a table."""
    if options.cluster is not None:
        parse_place(options.cluster)  # raises at once
    with _offline(options.offline):
        facts = facts_of(benchmarks, command_line.say)
        if options.offline or settings().offline:
            absent = [name for name in benchmarks if name in facts and facts[name].here in ("no", "partly")]
            benchmarks = [name for name in benchmarks if name not in absent]
            if absent:
                command_line.say(f"Left out, as their data are not here: {count(len(absent), 'benchmark')}.")
        pairs = pairs_of(models, benchmarks, facts)
        folder = records_folder(options.record)
        stimuli_key, jobs = stimuli_of(facts), options.jobs or 1

        def batches_of(pairs: Sequence[Pair]) -> list[Batch]:
            share = sum(pair.minutes for pair in pairs) / (_SHARES * jobs)
            most = float("inf") if jobs == 1 else max(_LEAST_BATCH_MINUTES, share)
            return make_batches(pairs, stimuli_of=stimuli_key, most_minutes=most)

        is_scored = _is_scored(FolderStore(folder), options)
        if options.dry_run:
            return _show_plan(pairs, is_scored, batches_of)
        records, unscored = _run(pairs, folder, options, is_scored, batches_of)
        return _show_result(pairs, records, unscored, FolderStore(folder))


@contextmanager
def _offline(wanted: bool) -> Iterator[None]:
    """Fetch nothing within the block, in this process and those that it starts."""
    name = "BRAINSCORE_OFFLINE"
    previous = os.environ.get(name)
    if wanted and not settings().offline:
        os.environ[name] = "data"
    try:
        yield
    finally:
        if wanted and previous is None:
            del os.environ[name]
        elif previous is not None:
            os.environ[name] = previous


@functools.cache
def _revision_of(kind: str, identifier: str) -> str:
    return software.folder_revision(find_plugin_directory(kind, identifier))


def _is_scored(store: FolderStore, options: ScoreOptions) -> Callable[[str, str], str | None]:
    current = reuse([store], _revision_of, with_private=True)
    has_current = is_recorded(store, _revision_of)
    classes = {name.removeprefix("failed:") for name in (options.retry or ())}

    def is_scored(model: str, benchmark: str) -> str | None:
        if options.scores_again:
            return None
        reason = current(model, benchmark)
        record = store.get(model, benchmark)
        if reason is not None or record is None or not record.status.startswith("failed:"):
            return reason
        problem = record.status.removeprefix("failed:")
        if not has_current(model, benchmark) or "all" in classes or problem in classes:
            return None
        return f"failed before with the same code: {problem} (--retry {problem} tries it again)"

    return is_scored


def _run(
    pairs: Sequence[Pair],
    folder: Path,
    options: ScoreOptions,
    is_scored: Callable[[str, str], str | None],
    batches_of: Callable[[Sequence[Pair]], Sequence[Batch]],
) -> tuple[list[ScoreRecord], dict[Pair, str]]:
    todo = [pair for pair in pairs if is_scored(pair.model, pair.benchmark) is None]
    of_private = {pair.model for pair in todo if pair.private}
    why_no_private = _why_no_private(of_private, options) if of_private else None
    command_line.say(f"{len(todo)} of {count(len(pairs), 'pair')} to score; records go to {folder}.")
    if todo and options.cluster is None and options.isolation != "none" and (why := why_no_box()):
        if options.isolation == "box":
            raise IsolationError(why)
        command_line.say(f"Models are not isolated: {why}")
    with telling(todo) as (start, tell):
        run = _runner(options, start)
        return run_pairs(
            todo,
            folder,
            _telling_absent(run) if settings().offline else run,
            revision_of=_revision_of,
            why_no_private=why_no_private,
            batches_of=batches_of,
            tell=tell,
        )


def _runner(options: ScoreOptions, start: Callable[[Pair], object]) -> Callable[..., Iterator[Outcome]]:
    both: dict[str, Any] = {"library": _LIBRARY, "limits": _limits(options), "isolation": options.isolation or "auto"}
    if options.cluster is None:
        return functools.partial(run_here, jobs=options.jobs or 1, start=start, **both)
    return functools.partial(running.run_on_cluster, cluster=options.cluster, tell=command_line.say, **both)


def _limits(options: ScoreOptions) -> Limits:
    limits = Limits()
    if options.timeout is not None:
        limits = dataclasses.replace(limits, time=0.0, least_minutes=options.timeout)
    if options.memory is not None:
        limits = dataclasses.replace(limits, memory=0.0, least_memory_gb=options.memory)
    return limits


def _why_no_private(models: set[str], options: ScoreOptions) -> str | None:
    """Return why private pairs cannot be scored; None: they can, with models in a box or all of one's own."""
    if options.isolation == "none":
        unnamed = min(models.difference(options.model), default=None)
        return unnamed and (
            "--isolation none says of models named in full that they are your own, and a pattern does not: name the "
            f"model {unnamed!r}, or let models run in boxes"
        )
    # Only workers know whether they have boxes: without one, such a pair fails there.
    why = None if options.cluster else why_no_box()
    return " ".join(f"there is no box for the model. {why}".split()) if why else None


def _telling_absent(run: Callable[..., Iterator[Outcome]]) -> Runner:

    def wrapped(batches: Sequence[Batch], *, minutes: float) -> Iterator[Outcome]:
        for outcome in run(batches, minutes=minutes):
            record = outcome.record
            if record.status.removeprefix("failed:") in _NOT_HERE:
                line = (record.message.strip().splitlines() or [""])[0][:300]  # the message has the rest
                record = dataclasses.replace(record, status=f"skipped:not here without a network: {line}")
            yield dataclasses.replace(outcome, record=record)

    return wrapped


def _show_plan(
    pairs: Sequence[Pair],
    is_scored: Callable[[str, str], str | None],
    batches_of: Callable[[Sequence[Pair]], Sequence[Batch]],
) -> int:
    reasons = {pair: is_scored(pair.model, pair.benchmark) for pair in pairs}
    todo = [pair for pair in pairs if reasons[pair] is None]
    batches = batches_of(todo)
    rows = [
        (
            str(number),
            pair.model,
            pair.benchmark,
            f"{pair.minutes:g}",
            f"{pair.memory_gb:g}",
            "private" if pair.private else "public",
        )
        for number, batch in enumerate(batches, start=1)
        for pair in batch.pairs
    ]
    command_line.print_table(("BATCH", "MODEL", "BENCHMARK", "MINUTES", "GB", "ACCESS"), rows)
    for reason, number in Counter(reason for reason in reasons.values() if reason).most_common():
        command_line.say(f"Not again: {count(number, 'pair')}, {reason}.")
    minutes = sum(pair.minutes for pair in todo)
    command_line.say(
        f"{len(todo)} of {count(len(pairs), 'pair')} would be scored, in "
        f"{count(len(batches), 'batch', 'batches')}, which share models and looks; "
        f"one after the other at most about {duration(60 * minutes)}."
    )
    return 0


def _show_result(
    pairs: Sequence[Pair], made: Iterable[ScoreRecord], unscored: Mapping[Pair, str], store: FolderStore
) -> int:
    new = {(record.model, record.benchmark): record for record in made}
    records: list[ScoreRecord] = []
    for pair in pairs:
        name = pair.model, pair.benchmark
        if pair in unscored:
            command_line.say(f"{pair.model} on {pair.benchmark}: no new record, {unscored[pair]}.")
        record = None if pair in unscored else new.get(name) or store.get(*name)
        records.append(record or ScoreRecord.without_score("failed:NoRecord", model=name[0], benchmark=name[1]))
    command_line.print_table(SCORE_COLUMNS, [score_row(record) for record in records], spare=SPARE_COLUMNS)
    statuses = Counter(
        "none" if record.is_scored and record.score is None else record.status.partition(":")[0] for record in records
    )
    problems = Counter(record.status.partition(":")[2] for record in records if record.status.startswith("failed:"))
    command_line.say(
        f"{count(len(records), 'pair')}: {statuses['scored']} scored, {statuses['none']} not applicable, "
        f"{statuses['skipped']} left out, {statuses['failed']} failed."
    )
    if problems:
        listed = ", ".join(f"{number} {problem}" for problem, number in problems.most_common())
        command_line.say(f"Failed: {listed}. The same command with --retry {' '.join(problems)} tries them again.")
    return exit_code(records)


def exit_code(records: Iterable[ScoreRecord]) -> int:
    """Return 1 if a pair failed, else 4 if one was skipped, else 0; "not applicable" is an answer."""
    all_records = list(records)
    if any(record.status.startswith("failed:") for record in all_records):
        return command_line.FAILED
    return command_line.NO_SCORE if any(not record.is_scored for record in all_records) else 0
