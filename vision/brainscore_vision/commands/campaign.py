"""Score models on benchmarks, each model in its own processes, and resume."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import IsolationError, UnknownIdentifierError, count, harmless
from brainscore_core.identity import software
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import FolderStore, is_recorded, reuse
from brainscore_core.scoring.batches import Batch, make_batches
from brainscore_core.scoring.campaign import Progress, Runner, duration, result, run_here, run_pairs
from brainscore_core.scoring.cluster import running
from brainscore_core.scoring.cluster.places import parse_place
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.scoring.pairs import Limits, Outcome, Pair
from brainscore_vision.catalogue.entries import metadata_of
from brainscore_vision.catalogue.facts import BenchmarkFacts, benchmark_facts
from brainscore_vision.commands.records import SCORE_COLUMNS, SPARE_COLUMNS, records_folder, score_row
from brainscore_vision.loading import find_plugin_directory

if TYPE_CHECKING:
    from brainscore_vision.commands.options import ScoreOptions

__all__ = ["exit_code", "facts_of", "pairs_of", "score_many", "stimuli_of", "telling"]

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
                command_line.say(
                    f"Left out because their data are not on this machine: {count(len(absent), 'benchmark')}."
                )
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
        return f"failed before with the same code: {problem} (to try again: --retry {problem})"

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
            "--isolation none declares that the models named in full are your own, which a pattern cannot do. Name "
            f"the model {unnamed!r} in full, or let models run in boxes"
        )
    # Only workers know whether they have boxes: without one, such a pair fails there.
    why = None if options.cluster else why_no_box()
    return " ".join(f"the model cannot be isolated in a box. {why}".split()) if why else None


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
        command_line.say(f"Not scored again: {count(number, 'pair')}, {reason}.")
    minutes = sum(pair.minutes for pair in todo)
    command_line.say(
        f"{len(todo)} of {count(len(pairs), 'pair')} would be scored, in {count(len(batches), 'batch', 'batches')} "
        f"that share models and presentations; one after the other they take at most about {duration(60 * minutes)}."
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
        command_line.say(f"Failed: {listed}. To try them again, add --retry {' '.join(problems)} to the same command.")
    return exit_code(records)


def exit_code(records: Iterable[ScoreRecord]) -> int:
    """Return 1 if a pair failed, 4 if only some were skipped, otherwise 0; "not applicable" is an answer."""
    all_records = list(records)
    if any(record.status.startswith("failed:") for record in all_records):
        return command_line.FAILED
    return command_line.NO_SCORE if any(not record.is_scored for record in all_records) else 0


# -- progress ----------------------------------------------------------------------------------------------------------
# Show a campaign's progress: a live table in a terminal, otherwise a line for each pair and a heartbeat.


_ROWS = 12
_HEARTBEAT_S = 60.0


@contextmanager
def telling(
    pairs: Sequence[Pair], heartbeat_s: float = _HEARTBEAT_S
) -> Iterator[tuple[Callable[[Pair], object], Callable[[Pair, Outcome], None]]]:
    """Give the functions to call with each pair as it starts, and as it ends."""
    progress = Progress(pairs)
    if not sys.stderr.isatty():

        def tell(pair: Pair, outcome: Outcome) -> None:
            progress.count(pair, outcome)
            command_line.say(progress.line(outcome) + _message_of(outcome))

        is_over = Event()

        def beat() -> None:
            while not is_over.wait(heartbeat_s):
                command_line.say(progress.heartbeat())

        thread = Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield lambda pair: command_line.say(progress.start(pair)), tell
        finally:
            is_over.set()
            thread.join()
        return
    last: deque[Outcome] = deque(maxlen=_ROWS)

    def take(pair: Pair, outcome: Outcome) -> None:
        progress.count(pair, outcome)
        last.append(outcome)

    with Live(
        console=Console(stderr=True),
        get_renderable=lambda: _progress_table(progress, last),
        refresh_per_second=2,
        transient=True,
    ):
        yield progress.start, take


def _progress_table(progress: Progress, last: Sequence[Outcome]) -> Group:
    table = Table(box=None, pad_edge=False, show_header=False)
    for outcome in list(last):
        style = "red" if outcome.record.status.startswith("failed:") else ""
        table.add_row(
            Text(harmless(result(outcome) + _message_of(outcome)), style=style, overflow="ellipsis", no_wrap=True)
        )
    seconds = progress.seconds_left()
    rest = "" if seconds is None else f", about {duration(seconds)} left"
    passed = duration(progress.clock() - progress.started)
    failed = f", {progress.n_failed} failed" if progress.n_failed else ""
    line = Text(f"{progress.n_done} of {progress.n_pairs} pairs{failed}; {passed}{rest}")
    running = Text(harmless(progress.heartbeat()), overflow="ellipsis", no_wrap=True)
    return Group(table, running, ProgressBar(total=max(1, progress.n_pairs), completed=progress.n_done, width=60), line)


def _message_of(outcome: Outcome) -> str:
    """Return the message of a failure as a line; a skipped pair has the reason in its status."""
    record = outcome.record
    if record.status.startswith("skipped:"):
        return ""
    said = " ".join(record.message.split())
    return f". {said[:300]}" if said and record.score is None else ""


# -- pairs -------------------------------------------------------------------------------------------------------------
# Return pairs of models and benchmarks with costs and stimuli.


_NOTHING = (0.0, 0.0, 0.0)  # minutes, GB and GPUs of a plugin that states none


def facts_of(benchmarks: Sequence[str], tell: Callable[[str], None] | None = None) -> dict[str, BenchmarkFacts]:
    """Return the facts about literally registered benchmarks."""
    facts_by_name = {facts.identifier: facts for facts in benchmark_facts(tell=tell)}
    return {name: facts_by_name[name] for name in benchmarks if name in facts_by_name}


def pairs_of(models: Sequence[str], benchmarks: Sequence[str], facts: Mapping[str, BenchmarkFacts]) -> list[Pair]:
    """Return every model with every benchmark.

    Time, memory and GPUs are the larger of the two plugins' values in ``metadata.yml``. A benchmark without facts
    counts as private.
    """
    of_benchmark = {name: _costs(facts[name].plugin.directory) if name in facts else _NOTHING for name in benchmarks}
    private = {name: name not in facts or facts[name].access != "public" for name in benchmarks}
    pairs = []
    for model in models:
        try:
            of_model = _costs(find_plugin_directory("model", model))
        except UnknownIdentifierError:  # registered while the program runs
            of_model = _NOTHING
        for name in benchmarks:
            minutes, memory, gpus = map(max, of_model, of_benchmark[name])
            pairs.append(Pair(model, name, minutes or Pair.minutes, memory or Pair.memory_gb, private[name], int(gpus)))
    return pairs


def stimuli_of(facts: Mapping[str, BenchmarkFacts]) -> Callable[[str], Hashable]:
    """Return the function from a benchmark to its stimulus sets; to itself if unknown."""

    def key(benchmark: str) -> Hashable:
        benchmark_facts = facts.get(benchmark)
        if benchmark_facts is None or not benchmark_facts.data:
            return benchmark
        stimulus_sets = {entry.identifier for entry in benchmark_facts.data if entry.kind == "stimulus_set"}
        return tuple(sorted(stimulus_sets or {entry.identifier for entry in benchmark_facts.data}))

    return key


def _costs(directory: Path) -> tuple[float, float, float]:
    metadata = metadata_of(directory)
    return _positive(metadata.get("minutes")), _positive(metadata.get("memory_gb")), _positive(metadata.get("gpus"))


def _positive(value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < 1e9 else 0.0  # type: ignore[operator,arg-type]  # mypy does not see
