"""Score every one of some models on every one of some benchmarks, each model apart from the rest, and resume."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import IsolationError
from brainscore_core.identity import sources
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import FolderStore, is_recorded, reuse
from brainscore_core.scoring.batches import Batch, make_batches
from brainscore_core.scoring.campaign import Runner, run_here, run_pairs
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.scoring.pairs import Limits, Outcome, Pair
from brainscore_core.scoring.progress import duration
from brainscore_vision.catalogue.pairs import facts_of, pairs_of, stimuli_of
from brainscore_vision.commands.live import telling
from brainscore_vision.commands.tables import SCORE_COLUMNS, SPARE_COLUMNS, score_row
from brainscore_vision.loading import find_plugin_directory

if TYPE_CHECKING:
    from brainscore_core.scoring.judging import Isolation

__all__ = ["Campaign", "exit_code", "score_many"]

_LIBRARY = "brainscore_vision"
_SHARES = 3  # into how many batches for each job the work is divided, where models have more pairs than that
_LEAST_BATCH_MINUTES = 10.0
# What cannot be had without a network is told apart from what fails.
_NOT_HERE = {"OfflineError", "DataNotHereError", "PrivateDataError", "MissingStimulusError", "RequirementsError"}


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """How pairs are scored.

    Attributes
    ----------
    folder : Path, optional
        Of the records; None: the scores folder.
    jobs : int
        How many models are at work at a time.
    cluster : str, optional
        Where else, see `brainscore_core.scoring.cluster.places`; None: on this machine.
    minutes, memory_gb : float, optional
        With which a pair is stopped; None: four times the time and twice the memory that its plugins state, but at
        least 10 minutes and 4 GB.
    isolation : 'auto', 'box' or 'none'
        Where models run.
    again : bool
        Whether pairs that have a record are scored once more.
    retry : sequence of str
        Classes of failures that are tried once more, such as ``'Timeout'``, or ``'all'``.
    dry_run : bool
        Whether only to say what would be scored.
    offline : bool
        Whether neither data nor weights are fetched. What plugins require is installed all the same, but with
        ``BRAINSCORE_OFFLINE=1``.
    """

    folder: Path | None = None
    jobs: int = 1
    cluster: str | None = None
    minutes: float | None = None
    memory_gb: float | None = None
    isolation: Isolation = "auto"
    again: bool = False
    retry: Sequence[str] = ()
    dry_run: bool = False
    offline: bool = False

    @property
    def limits(self) -> Limits:
        """What a pair may take."""
        limits = Limits()
        if self.minutes is not None:
            limits = dataclasses.replace(limits, time=0.0, least_minutes=self.minutes)
        if self.memory_gb is not None:
            limits = dataclasses.replace(limits, memory=0.0, least_memory_gb=self.memory_gb)
        return limits


def score_many(models: Sequence[str], benchmarks: Sequence[str], campaign: Campaign) -> int:
    """Score every model on every benchmark, print a table of all of them, and return the exit code.

    Parameters
    ----------
    models, benchmarks : sequence of str
        Registered identifiers, each once.
    """
    with _offline(campaign.offline):
        facts = facts_of(benchmarks, command_line.say)
        if campaign.offline or settings().offline:
            absent = [name for name in benchmarks if name in facts and facts[name].here in ("no", "partly")]
            benchmarks = [name for name in benchmarks if name not in absent]
            if absent:
                command_line.say(f"Left out, as their data are not here: {len(absent)} benchmarks.")
        pairs = pairs_of(models, benchmarks, facts)
        folder = campaign.folder or settings().home / "scores"
        batches_of = _batches_of(campaign.jobs, stimuli_of(facts))
        is_scored = _is_scored(FolderStore(folder), campaign)
        if campaign.dry_run:
            return _show_plan(pairs, is_scored, batches_of)
        made, unscored = _run(pairs, folder, campaign, is_scored, batches_of)
        return _show_result(pairs, made, unscored, FolderStore(folder))


# -- what is to be done ------------------------------------------------------------------------------------------------


@contextmanager
def _offline(wanted: bool) -> Iterator[None]:
    """Let the settings of this process, and of those it starts, say for a while that nothing is fetched."""
    name = "BRAINSCORE_OFFLINE"
    before = os.environ.get(name)
    if wanted and not settings().offline:
        os.environ[name] = "data"
    try:
        yield
    finally:
        if wanted and before is None:
            del os.environ[name]
        elif before is not None:
            os.environ[name] = before


@functools.cache
def _revision_of(kind: str, identifier: str) -> str:
    return sources.folder_revision(find_plugin_directory(kind, identifier))


def _is_scored(store: FolderStore, campaign: Campaign) -> Callable[[str, str], str | None]:
    """Return the function that says why a pair need not be scored, see `reuse`."""
    current = reuse([store], _revision_of, with_private=True)
    has_current = is_recorded(store, _revision_of)
    wanted = {name.removeprefix("failed:") for name in campaign.retry}

    def is_scored(model: str, benchmark: str) -> str | None:
        if campaign.again:
            return None
        reason = current(model, benchmark)
        record = store.get(model, benchmark)
        if reason is not None or record is None or not record.status.startswith("failed:"):
            return reason
        problem = record.status.removeprefix("failed:")
        if not has_current(model, benchmark) or "all" in wanted or problem in wanted:
            return None
        return f"failed before with the same code: {problem} (--retry {problem} tries it again)"

    return is_scored


def _batches_of(jobs: int, key: Callable[[str], Hashable]) -> Callable[[Sequence[Pair]], list[Batch]]:
    def batches_of(pairs: Sequence[Pair]) -> list[Batch]:
        share = sum(pair.minutes for pair in pairs) / (_SHARES * jobs)
        most = float("inf") if jobs == 1 else max(_LEAST_BATCH_MINUTES, share)
        return make_batches(pairs, stimuli_of=key, most_minutes=most)

    return batches_of


# -- doing it ----------------------------------------------------------------------------------------------------------


def _run(
    pairs: Sequence[Pair],
    folder: Path,
    campaign: Campaign,
    is_scored: Callable[[str, str], str | None],
    batches_of: Callable[[Sequence[Pair]], Sequence[Batch]],
) -> tuple[list[ScoreRecord], dict[Pair, str]]:
    run = _runner(campaign)
    todo = [pair for pair in pairs if is_scored(pair.model, pair.benchmark) is None]
    why_no_private = _why_no_private(campaign) if any(pair.private for pair in todo) else None
    command_line.say(f"{len(todo)} of {len(pairs)} pairs to score; records go to {folder}.")
    if todo and campaign.cluster is None:
        _check_isolation(campaign.isolation)
    with telling(todo) as tell:
        return run_pairs(
            todo,
            folder,
            _telling_absent(run) if settings().offline else run,
            revision_of=_revision_of,
            why_no_private=why_no_private,
            batches_of=batches_of,
            tell=tell,
        )


def _runner(campaign: Campaign) -> Callable[..., Iterator[Outcome]]:
    """Return what scores batches: this machine, or a cluster."""
    if campaign.cluster is None:
        return functools.partial(
            run_here, library=_LIBRARY, limits=campaign.limits, jobs=campaign.jobs, isolation=campaign.isolation
        )
    from brainscore_core.scoring.cluster.running import run_on_cluster  # has requirements of its own

    return functools.partial(
        run_on_cluster,
        library=_LIBRARY,
        limits=campaign.limits,
        cluster=campaign.cluster,
        isolation=campaign.isolation,
        tell=command_line.say,
    )


def _why_no_private(campaign: Campaign) -> str | None:
    """Return why private pairs cannot be scored: only a model in a box may meet them."""
    if campaign.isolation == "none":
        return "private data are compared only with models in a box, and --isolation none was asked for"
    # Whether there are boxes on the workers of a cluster, only they can tell: without one such a pair fails there.
    why = None if campaign.cluster else why_no_box()
    return " ".join(f"there is no box for the model. {why}".split()) if why else None


def _check_isolation(isolation: Isolation) -> None:
    """Say that models cannot be isolated here; raise if they have to be."""
    why = None if isolation == "none" else why_no_box()
    if why and isolation == "box":
        raise IsolationError(why)
    if why:
        command_line.say(f"Models are not isolated: {why}")


def _telling_absent(run: Callable[..., Iterator[Outcome]]) -> Runner:
    """Return a runner whose failures say that something was left out where only a network is lacking."""

    def wrapped(batches: Sequence[Batch], *, minutes: float) -> Iterator[Outcome]:
        for outcome in run(batches, minutes=minutes):
            record = outcome.record
            if record.status.removeprefix("failed:") in _NOT_HERE:
                said = (record.message.strip().splitlines() or [""])[0][:300]  # the message has the rest
                record = dataclasses.replace(record, status=f"skipped:not here without a network: {said}")
            yield dataclasses.replace(outcome, record=record)

    return wrapped


# -- saying what came of it --------------------------------------------------------------------------------------------


def _show_plan(
    pairs: Sequence[Pair],
    is_scored: Callable[[str, str], str | None],
    batches_of: Callable[[Sequence[Pair]], Sequence[Batch]],
) -> int:
    reasons = {pair: is_scored(pair.model, pair.benchmark) for pair in pairs}
    todo = [pair for pair in pairs if reasons[pair] is None]
    batches = batches_of(todo)
    rows = [
        (str(number), pair.model, pair.benchmark, f"{pair.minutes:g}", f"{pair.memory_gb:g}", _access(pair))
        for number, batch in enumerate(batches, start=1)
        for pair in batch.pairs
    ]
    command_line.print_table(("BATCH", "MODEL", "BENCHMARK", "MINUTES", "GB", "ACCESS"), rows)
    for reason, count in Counter(reason for reason in reasons.values() if reason).most_common():
        command_line.say(f"Not again: {count} pairs, {reason}.")
    minutes = sum(pair.minutes for pair in todo)
    command_line.say(
        f"{len(todo)} of {len(pairs)} pairs would be scored, in {len(batches)} batches, which share models and looks; "
        f"one after the other at most about {duration(60 * minutes)}."
    )
    return 0


def _access(pair: Pair) -> str:
    return "private" if pair.private else "public"


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
        f"{len(records)} pairs: {statuses['scored']} scored, {statuses['none']} not applicable, "
        f"{statuses['skipped']} left out, {statuses['failed']} failed."
    )
    if problems:
        listed = ", ".join(f"{count} {problem}" for problem, count in problems.most_common())
        command_line.say(f"Failed: {listed}. The same command with --retry {' '.join(problems)} tries them again.")
    return exit_code(records)


def exit_code(records: Iterable[ScoreRecord]) -> int:
    """Return 1 if a pair failed, else 4 if one was left out, else 0; that a pair is not applicable is an answer."""
    found = list(records)
    if any(record.status.startswith("failed:") for record in found):
        return command_line.FAILED
    return command_line.NO_SCORE if any(not record.is_scored for record in found) else 0
