"""Start a candidate, in a box if possible, and score it on several benchmarks in turn."""

from __future__ import annotations

import math
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from brainscore_core.command_line import say
from brainscore_core.config import memory_budget, settings
from brainscore_core.errors import BrainScoreError, ConfigurationError, IsolationError, UnknownIdentifierError
from brainscore_core.identity import software
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.scoring.isolation.box import start_boxed, why_no_box
from brainscore_core.scoring.isolation.wire import Bounds, Connection
from brainscore_core.scoring.judging import append_event
from brainscore_vision import scoring
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate
from brainscore_vision.catalogue.entries import plugin_index
from brainscore_vision.catalogue.facts import benchmark_facts
from brainscore_vision.isolation.kept import KeptAnswers, may_be_kept
from brainscore_vision.isolation.prepared import Prepared, box_of, plugin_folder, prepare, prepared_before, weights_of
from brainscore_vision.isolation.protocol import get_ready
from brainscore_vision.isolation.proxy import RemoteModel
from brainscore_vision.loading import find_plugin_directory, load_model
from brainscore_vision.model_helpers.activations.cache import NotStoredError

if TYPE_CHECKING:
    from brainscore_core.processes import Program

__all__ = [
    "Candidates",
    "ModelPlace",
    "is_isolated",
    "judge",
    "place_unasked",
    "refuse_beside_private",
    "refuse_unreviewed",
    "remembered",
    "started",
]

# -- candidates --------------------------------------------------------------------------------------------------------
# Start and end a candidate in a box, or use only its stored answers.

_SETTLE_S = 2.0
_MOST_SAID = 600  # characters


@contextmanager
def started(model: str, *, answer_s: float = math.inf) -> Iterator[RemoteModel]:
    """Give a model in a box; its process ends after the block.

    `answer_s` limits each answer, in seconds. `IsolationError` if no box is available; for other errors see `prepare`.
    """
    prepared = prepare(model)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="brainscore-candidate-")))
        stimuli = folder / "stimuli"
        stimuli.mkdir()
        bounds = Bounds(memory_bytes=memory_budget(), folder=folder)
        programs: list[Program] = []

        def connect() -> Connection:
            ours, theirs = socket.socketpair()
            held.callback(ours.close)
            with theirs:
                box = box_of(prepared, stimuli=stimuli)
                command = _command(prepared, theirs.fileno())
                programs.append(held.enter_context(start_boxed(command, box, pass_fds=[theirs.fileno()])))
            return Connection(ours, bounds)

        # At once if it will be asked: it gets ready while the key of stored answers is computed.
        connection = None if may_be_kept(model) else connect()
        get_ready()
        answers = KeptAnswers(prepared, bounds)
        yield RemoteModel(
            connection or (connect() if answers.is_empty else connect),
            stimuli,
            answer_s=answer_s,
            why=lambda: _why(programs[0]),
            kept=answers,
            environment_lock=prepared.lock,
        )


@contextmanager
def remembered(model: str) -> Iterator[RemoteModel]:
    """Give a model that only repeats stored answers; nothing is started.

    `NotStoredError` if no answers of the present model are stored, and by a question without one.
    """
    try:
        prepared = prepared_before(model)
    except BrainScoreError as error:
        raise NotStoredError(f"No answers of {model!r} are stored: {error}") from error
    with tempfile.TemporaryDirectory(prefix="brainscore-candidate-") as name:
        answers = None if prepared is None else KeptAnswers(prepared, Bounds(memory_bytes=memory_budget()))
        if prepared is None or answers is None or answers.is_empty:
            raise NotStoredError(f"No answers of the present version of {model!r} are stored.")

        def refuse() -> Connection:
            raise NotStoredError(
                f"Some of the answers needed from {model!r} are not stored. Score the pair in a box to store them."
            )

        yield RemoteModel(refuse, Path(name) / "stimuli", kept=answers, environment_lock=prepared.lock)


def _command(prepared: Prepared, fd: int) -> list[str]:
    command = [str(prepared.python), "-P", "-m", "brainscore_vision.isolation.candidate"]
    weights = weights_of(prepared)
    shared = [] if weights is None else ["--weights", str(weights)]
    return [*command, "--model", prepared.model, "--fd", str(fd), *shared]


def _why(program: Program) -> str:
    ended = program.wait(_SETTLE_S)
    if ended is None:
        return " It closed its connection and is still running."
    output = program.take_output().strip()[-_MOST_SAID:]
    is_too_large = ended.stopped == "MemoryLimit"
    how = "used more memory than its limit" if is_too_large else f"ended with {ended.problem or 'success'}"
    return f" It {how}.{' The end of its output: ' if output else ''}{output}"


# -- judge -------------------------------------------------------------------------------------------------------------


def is_isolated(isolation: str) -> bool:
    """Return whether the model is to run in a box: ``'auto'`` (if available), ``'box'`` or ``'none'``.

    Raises
    ------
    ConfigurationError
        For any other value.
    IsolationError
        If it is 'box' and none is available.
    """
    if isolation not in ("auto", "box", "none"):
        raise ConfigurationError(f"--isolation is {isolation!r}; expected 'auto', 'box' or 'none'.")
    why = why_no_box() if isolation != "none" else None
    if why and isolation == "box":
        raise IsolationError(why)
    return isolation != "none" and why is None


def _is_unreviewed(model: str) -> bool:
    """Return whether a name stands for unreviewed code of others: an entry of torch.hub."""
    return model.startswith("torchhub:")


def refuse_unreviewed(model: str, isolation: str | None = None) -> None:
    """Raise `IsolationError` if `_is_unreviewed`: in this process its code could do anything that the user can.

    With the `isolation` ``'none'`` the user trusts it, also in programs that this one starts.
    """
    if isolation == "none":
        os.environ["BRAINSCORE_TRUST_REPO"] = "1"
    elif _is_unreviewed(model):
        why = why_no_box()
        where = f"in a box, which is not possible here: {why}" if why else "in a box."
        raise IsolationError(
            f"{model!r} runs the code of a repository that has not been reviewed here; in this process it "
            f"could read and change all that you can. 'brainscore score' runs it {where} If you trust it, "
            "pass '--isolation none', which the record states."
        )


class ModelPlace(NamedTuple):
    """Where a model runs, as `brainscore_core.records.record.ScoreRecord` states it."""

    isolation: Literal["box", "none"] = "none"
    data_access: Literal["unstated"] | None = None


def place_unasked(model: str, benchmark: str, *, is_file: bool = False) -> ModelPlace:
    """Return where ``brainscore score`` runs a model that a person at this machine names without ``--isolation``.

    With public data, in this process; otherwise in a box, except reviewed models with this person's own data. If boxes
    are not available and the data do not state who may read them, they are treated as this person's own: the model runs
    in the same process, with a warning.

    Parameters
    ----------
    is_file
        Whether the model is in a file that the person names, which no box can hold.

    Raises
    ------
    IsolationError
        The data are private, or the machine is not a person's, and boxes are not available. Or see `refuse_unreviewed`.
    """
    can_box = not is_file and why_no_box() is None
    if _is_unreviewed(model) and can_box:
        return ModelPlace("box")
    refuse_unreviewed(model)
    access = _access_of_benchmark(benchmark)
    if access == "public":
        return ModelPlace()
    on_ci = settings().on_ci
    if not (is_file or on_ci) and _is_reviewed("model", model) and not _is_reviewed("benchmark", benchmark):
        return ModelPlace()
    if can_box:
        return ModelPlace("box")
    if access == "private" or on_ci:
        refuse_beside_private(model, benchmark)
    say(
        f"Warning: the data of {benchmark!r} do not state who may read them, so they are treated as yours, and "
        f"{model!r} could read them. State it in their metadata.yml: 'access: public' or 'access: private'."
    )
    return ModelPlace("none", "unstated")


def _access_of_benchmark(benchmark: str) -> str | None:
    """Return the access of the data, see `BenchmarkFacts`; private if no plugin registers its name literally."""
    try:
        find_plugin_directory("benchmark", benchmark)
    except UnknownIdentifierError:  # registered by this process itself, or a wrong name, which loading explains
        return "public"
    found = [facts.access for facts in benchmark_facts(benchmark)] or ["private"]
    return "public" if "public" in found else found[0]


def _is_reviewed(kind: str, identifier: str) -> bool:
    """Return whether one plugin registers a name, of the library, where somebody reviewed it."""
    plugins = [plugin for plugin, _ in plugin_index().find(KINDS[kind], identifier)]
    is_ours = len(plugins) == 1 and plugins[0].root.rank == 0
    return is_ours and software.is_reviewed(plugins[0].directory, "brainscore_vision")


def refuse_beside_private(model: str, benchmark: str) -> None:
    """Raise `IsolationError` if a benchmark has data not known to be public, which a model in this process could read.

    Also if the model's code may not run in this process, see `refuse_unreviewed`.
    """
    refuse_unreviewed(model)
    if _access_of_benchmark(benchmark) == "public":
        return
    why = why_no_box()
    raise IsolationError(
        f"{benchmark!r} has private data, or none of its plugins states 'access: public', and {model!r} would run "
        "in the same process, where it could read them. 'brainscore score --isolation box' runs it in a box"
        f"{f', which is not possible here yet: {why}' if why else '.'} If the model is your own, "
        "pass --isolation none to 'brainscore score', which the record states."
    )


class Candidates:
    """Provide the candidate to benchmarks, a new one after a loss; a context manager.

    `start` returns a context manager that gives a model and ends its process.
    """

    def __init__(self, start: Callable[[], AbstractContextManager[Any]]) -> None:
        self._start = start
        self._held = ExitStack()
        self._model: Any = None
        self._shared: SharedCandidate | None = None
        self._failure: Exception | None = None

    def __enter__(self) -> Candidates:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._held.close()

    def begin(self) -> None:
        """Start a candidate's process if there is none, to let it get ready.

        Errors, for example from installing requirements, are raised without another try.
        """
        if self._failure is not None or not (self._model is None or getattr(self._model, "is_lost", False)):
            return
        self._held.close()
        self._shared = None
        try:
            self._model = self._held.enter_context(self._start())
        except Exception as error:
            self._failure = error
            raise

    def start_over(self) -> bool:
        """Discard answers if some belong to another state of the model; return whether so."""
        if not getattr(self._model, "has_changed", False):
            return False
        self._model.has_changed = False
        self._shared = None
        return True

    def candidate(self) -> SharedCandidate:
        """Return the candidate for a pair; a failed load raises the same error each time."""
        if self._failure is not None:
            raise self._failure
        self.begin()
        try:
            if self._shared is None:
                if isinstance(self._model, RemoteModel):
                    self._model.load()
                self._shared = SharedCandidate(self._model)
            if isinstance(self._model, RemoteModel):
                self._model.has_seen = False
        except Exception as error:
            self._failure = error
            raise
        return self._shared


def judge(
    model: str,
    benchmarks: Sequence[str],
    records: Path,
    events: Path,
    *,
    isolation: str = "auto",
    answer_s: float = math.inf,
) -> None:
    """Score a model on benchmarks; write a record and two events for each pair.

    Errors are those of `is_isolated`.

    Parameters
    ----------
    records
        Folder of the records, see `record_path`.
    events
        File of the events, see `append_event`.
    isolation
        Where the model runs, see `is_isolated`; if ``'auto'`` finds no box, pairs with private data fail.
    answer_s
        Time limit for each answer of a model in a box, s.
    """
    isolated = is_isolated(isolation)
    start = (lambda: started(model, answer_s=answer_s)) if isolated else (lambda: nullcontext(load_model(model)))
    with Candidates(start) as candidates:
        for benchmark in benchmarks:
            append_event(events, "started", benchmark)
            path = record_path(records, model, benchmark)
            try:
                if isolated:
                    candidates.begin()
                elif isolation == "auto":
                    refuse_beside_private(model, benchmark)
                else:
                    refuse_unreviewed(model, isolation)
                _score(model, benchmark, path, candidates, "box" if isolated else "none")
            except Exception as error:  # noqa: BLE001 - of any plugin; the other benchmarks are still scored
                _record_failure(model, benchmark, error, path, isolated=isolated)
            append_event(events, "ended", benchmark)


def _score(model: str, benchmark: str, path: Path, candidates: Candidates, isolation: str) -> None:
    find_plugin_directory("benchmark", benchmark)  # a wrong name must not cost the loading of a large model

    def record() -> None:
        scoring.score_and_record(model, benchmark, path, loaded=candidates.candidate(), isolation=isolation)

    try:
        record()
    except Exception:
        if not candidates.start_over():
            raise
        record()
    else:
        if candidates.start_over():
            record()


def _record_failure(model: str, benchmark: str, error: Exception, path: Path, *, isolated: bool) -> None:
    if isolated:
        try:
            plugin_folder(model)
        except BrainScoreError:  # to find its revision, plugins of models would have to be imported
            status = f"failed:{type(error).__name__}"
            ScoreRecord.without_score(status, str(error), model=model, benchmark=benchmark).write(path)
            return
    scoring.record_failure(model, benchmark, error, path)
