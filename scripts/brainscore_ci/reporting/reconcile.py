"""Bring what pull requests show into line with what is known: one comment, some labels, and scores that are missing.

`decide` and `decide_scoring` compare what is there with what should be there; nothing is remembered elsewhere, so a run
that was lost, or ran twice, changes nothing. The comment carries its state in its first line, and only a comment of the
one author that writes them counts. A pull request is found by its head at GitHub. What its own run reports is its own
word: it is checked, escaped and shown, and decides nothing but what is shown.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from brainscore_ci.github.client import MOST_FILES
from brainscore_ci.planning.areas import area_of
from brainscore_ci.planning.plan import Plan
from brainscore_ci.reporting.gate import Verdict
from brainscore_ci.reporting.markdown import code, escape
from brainscore_ci.reporting.report import COMMENT_BYTES, judge, render
from brainscore_ci.reporting.results import Results
from brainscore_core.errors import BrainScoreError, CorruptFileError
from brainscore_core.untrusted import MOST_BYTES

if TYPE_CHECKING:
    from brainscore_ci.github.client import Comment, GitHub, PullRequest, Run

__all__ = [
    "OWN_LABELS",
    "Action",
    "AddLabels",
    "CreateComment",
    "Facts",
    "Outcome",
    "Queue",
    "RemoveLabel",
    "Settings",
    "UpdateComment",
    "View",
    "apply",
    "decide",
    "decide_scoring",
    "describe",
    "read_bundle",
    "reconcile",
    "view_of",
]

PASSED, FAILED, PLUGIN_ONLY, CHANGES_CI = "ci-passed", "ci-failed", "plugin-only", "changes-ci"
OWN_LABELS = frozenset({PASSED, FAILED, PLUGIN_ONLY, CHANGES_CI})
MEMBERS = ("plan.json", "results.json")
_FORMAT = 1  # another one writes all comments anew
_MARKER = re.compile(r"^<!-- brainscore-ci (\{[^\n]*\}) -->$", re.MULTILINE)
_REPORT = "<!-- brainscore-ci report -->"
_SHA = re.compile(r"[0-9a-f]{40,64}")
_OUR_WORDS = 3_000  # bytes of the comment that are not the report
_MOST_ZIP = 4 * 2**20  # bytes of an artifact; plans and results pack well

State = Literal["approval", "complete", "none", "running"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the project has decided about reconciling.

    Attributes
    ----------
    workflow, scoring : str
        Files of the workflows that test pull requests and that score what is merged.
    branch : str
        What is scored.
    artifact : str
        Name of the artifact with the report.
    author : str
        Who writes the comments; names of people cannot hold brackets.
    libraries : tuple of str
        Folders of the packages that hold plugins.
    most_starts : int
        How often scoring of one commit is started for what is missing; then a person has to look.
    inputs : mapping of str to str
        Given to the scoring workflow.
    """

    workflow: str = "plugins.yml"
    scoring: str = "score.yml"
    branch: str = "main"
    artifact: str = "report"
    author: str = "github-actions[bot]"
    libraries: tuple[str, ...] = ("vision/brainscore_vision",)
    most_starts: int = 3
    inputs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, kw_only=True)
class View:
    """What the comment on a pull request says, or should say: its first line.

    Attributes
    ----------
    state : str
        'complete' (results of the head are shown), 'running', 'approval' (a maintainer has to allow the run), or 'none'
        (nothing has started).
    head : str
        Commit of the pull request.
    run, attempt : int
        Which run.
    reported : str
        Commit whose results are shown; empty if none are.
    labels : tuple of str
        Those of `OWN_LABELS` that belong to it.
    format : int
    """

    state: State
    head: str
    run: int = 0
    attempt: int = 0
    reported: str = ""
    labels: tuple[str, ...] = ()
    format: int = _FORMAT

    @property
    def of_what(self) -> tuple[object, ...]:
        """What has to change for the comment to change."""
        return self.format, self.state, self.head, self.run, self.attempt

    def to_line(self) -> str:
        """Return the first line of the comment."""
        return f"<!-- brainscore-ci {json.dumps(asdict(self))} -->"

    @classmethod
    def from_body(cls, body: str) -> View | None:
        """Read the first line of a comment; None if it is not one of ours or cannot be read."""
        match = _MARKER.match(body)
        if match is None:
            return None
        try:
            content: dict[str, Any] = json.loads(match[1])
            view = cls(**{**content, "labels": tuple(content["labels"])})
            hash(view.of_what)
            is_sound = _SHA.fullmatch(view.head) and (not view.reported or _SHA.fullmatch(view.reported))
        except (ValueError, TypeError, KeyError):
            return None
        return replace(view, labels=tuple(sorted(OWN_LABELS.intersection(view.labels)))) if is_sound else None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known about a pull request.

    Attributes
    ----------
    pull : PullRequest
    runs : tuple of Run
        Of the workflow that tests, at the head of the pull request.
    comments : tuple of Comment
    paths : tuple of str or None
        What it changes, as GitHub says; None if that was not asked or is too much to list.
    bundle : bytes or None
        The artifact of the run, hostile; None if there is none.
    problem : str
        Why there is none.
    """

    pull: PullRequest
    runs: tuple[Run, ...] = ()
    comments: tuple[Comment, ...] = ()
    paths: tuple[str, ...] | None = None
    bundle: bytes | None = None
    problem: str = ""


@dataclass(frozen=True)
class CreateComment:
    """Write a comment."""

    number: int
    body: str


@dataclass(frozen=True)
class UpdateComment:
    """Replace the text of a comment."""

    number: int
    comment: int
    body: str


@dataclass(frozen=True)
class AddLabels:
    """Add labels."""

    number: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class RemoveLabel:
    """Remove a label."""

    number: int
    label: str


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Start scoring."""

    workflow: str
    branch: str
    inputs: Mapping[str, str]


Action = CreateComment | UpdateComment | AddLabels | RemoveLabel | Queue


def describe(action: Action) -> str:
    """Say on one line what is done; without texts that may come from anybody."""
    match action:
        case CreateComment(number, body):
            return f"pull request {number}: new comment of {len(body)} characters"
        case UpdateComment(number, comment, body):
            return f"pull request {number}: comment {comment} now has {len(body)} characters"
        case AddLabels(number, labels):
            return f"pull request {number}: add {', '.join(labels)}"
        case RemoveLabel(number, label):
            return f"pull request {number}: remove {label}"
        case Queue():
            return f"start {action.workflow} on {action.branch}"


# -- decisions ---------------------------------------------------------------------------------------------------------


def view_of(pull: PullRequest, runs: Iterable[Run], comments: Sequence[Comment], settings: Settings) -> View | None:
    """Return what the comment has to be about; None if none is needed yet.

    Runs of other commits, branches or repositories are not its runs: anybody can open a pull request with a commit of
    somebody else.
    """
    own = [
        run
        for run in runs
        if (run.event, run.head_sha, run.head_branch, run.head_repository)
        == ("pull_request", pull.head_sha, pull.head_branch, pull.head_repository)
    ]
    run = max(own, key=lambda run: (run.number, run.attempt), default=None)
    known = sticky(comments, settings) is not None
    if run is None:
        return View(state="none", head=pull.head_sha) if known else None
    about = View(state="running", head=pull.head_sha, run=run.id, attempt=run.attempt)
    if run.conclusion == "action_required" or run.status in {"action_required", "waiting"}:
        return replace(about, state="approval")
    if run.status == "completed":
        return replace(about, state="complete")
    return about if known else None


def sticky(comments: Iterable[Comment], settings: Settings) -> tuple[Comment, View] | None:
    """Return the first comment that is ours, and what it says; what others write counts for nothing."""
    for comment in comments:
        if comment.author == settings.author:
            view = View.from_body(comment.body)
            if view is not None:
                return comment, view
    return None


def decide(facts: Facts, settings: Settings) -> tuple[Action, ...]:
    """Return what to do about a pull request; nothing, if it shows what it should."""
    pull, found = facts.pull, sticky(facts.comments, settings)
    wanted = view_of(pull, facts.runs, facts.comments, settings)
    if wanted is None:
        return _label(pull, ())
    if found is not None and found[1].of_what == wanted.of_what:
        return _label(pull, found[1].labels)
    passed, reported, text = False, "", ""
    run = next((run for run in facts.runs if run.id == wanted.run), None)
    if run is not None and wanted.state == "complete":
        passed, text = _report(facts, run)
        reported = wanted.head
    elif found is not None:
        reported, text = found[1].reported, found[0].body.partition(_REPORT)[2].strip()
    labels = set(_labels_of_paths(facts.paths, settings))
    if wanted.state == "complete":
        labels.add(PASSED if passed else FAILED)
    view = replace(wanted, reported=reported, labels=tuple(sorted(labels)))
    body = (
        "\n".join([view.to_line(), _notice(view, run.url if run is not None else ""), "", _REPORT, text]).rstrip()
        + "\n"
    )
    if found is None:
        return (CreateComment(pull.number, body), *_label(pull, view.labels))
    return (UpdateComment(pull.number, found[0].id, body), *_label(pull, view.labels))


def decide_scoring(
    missing: Sequence[tuple[str, str]], runs: Iterable[Run], head: str, settings: Settings
) -> tuple[tuple[Action, ...], str]:
    """Decide whether to start scoring for pairs without a record.

    Parameters
    ----------
    missing : sequence of (model, benchmark)
    runs : iterable of Run
        Latest runs of the scoring workflow on the branch.
    head : str
        Latest commit of the branch.
    settings : Settings

    Returns
    -------
    tuple of Action
        At most one.
    str
        Why, for people.
    """
    known = tuple(runs)
    if not missing:
        return (), "No score is missing."
    waiting = [run for run in known if run.status != "completed"]
    if waiting:
        return (), f"{len(missing)} scores are missing; run {waiting[0].id} is on its way."
    started = sum(run.event == "workflow_dispatch" and run.head_sha == head for run in known)
    if started >= settings.most_starts:
        return (), f"{len(missing)} scores are missing after {started} starts at {head[:12]}: a person has to look."
    queue = Queue(workflow=settings.scoring, branch=settings.branch, inputs=settings.inputs)
    return (queue,), f"{len(missing)} scores are missing: {settings.scoring} is started."


def read_bundle(data: bytes) -> tuple[Plan, Results]:
    """Read the artifact of a run, a zip file that anybody may have made.

    Raises
    ------
    CorruptFileError
        If it is no such zip file, holds anything but a plan and results, or these are too large or not as expected.
    """
    content = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = sorted(info.filename for info in archive.infolist())
            if names != sorted(MEMBERS):
                raise CorruptFileError(f"Expected {' and '.join(MEMBERS)} in the artifact; found {ascii(names)[:200]}.")
            for info in archive.infolist():
                # Other compressions cannot be stopped in time; the stated size need not be the true one.
                if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
                    raise CorruptFileError(f"{info.filename} is encrypted, or packed in an unusual way.")
                with archive.open(info) as member:
                    content[info.filename] = member.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, CorruptFileError):
            raise
        raise CorruptFileError(f"The artifact is no zip file: {ascii(str(error))[:200]}.") from error
    return Plan.from_json(content["plan.json"]), Results.from_json(content["results.json"])


def _report(facts: Facts, run: Run) -> tuple[bool, str]:
    """Return whether a run passed, and its report."""
    concluded = () if run.conclusion == "success" else (f"The run ended with: {run.conclusion or 'nothing'}.",)
    try:
        plan, results = read_bundle(facts.bundle or b"")
    except CorruptFileError as error:
        why = facts.problem or str(error)
        problems = [f"- {escape(problem, 600)}" for problem in (*concluded, why)]
        return False, "\n".join(["## Checks failed" if concluded else "## No report", "", *problems])
    found = judge(plan, results)
    verdict = Verdict(found.passed and not concluded, (*concluded, *found.problems))
    return verdict.passed, render(plan, results, verdict, most_bytes=COMMENT_BYTES - _OUR_WORDS)


def _notice(view: View, url: str) -> str:
    head = code(view.head[:12])
    earlier = ""
    if view.reported and view.state != "complete":
        which = "an earlier attempt" if view.reported == view.head else f"commit {code(view.reported[:12])}"
        earlier = f" **Outdated:** what follows is of {which}."
    said = {
        "approval": f"The checks of {head} wait for a maintainer, who looks at the change and lets them run.",
        "running": f"The checks of {head} are running.",
        "none": f"No checks of {head} have started; they do not while the branch conflicts with its target.",
        "complete": f"What the checks of {head} report: {url}. They run the code of the pull request, so this is its "
        "own word; merging needs the required check and a review.",
    }
    warning = " **This change edits what checks it: read that part first.**" if CHANGES_CI in view.labels else ""
    return f"{said[view.state]}{warning}{earlier}"


def _labels_of_paths(paths: Sequence[str] | None, settings: Settings) -> set[str]:
    if not paths:
        return set()
    kinds = {area_of(path, settings.libraries).kind for path in paths}
    if kinds == {"plugin"}:
        return {PLUGIN_ONLY}
    changes_ci = "tooling" in kinds
    return {CHANGES_CI} if changes_ci else set()


def _label(pull: PullRequest, wanted: Iterable[str]) -> tuple[Action, ...]:
    """Return what makes our labels those wanted; labels of others are left alone."""
    wanted, present = set(wanted), pull.labels & OWN_LABELS
    added: tuple[Action, ...] = (AddLabels(pull.number, tuple(sorted(wanted - present))),) if wanted - present else ()
    return (*added, *(RemoveLabel(pull.number, label) for label in sorted(present - wanted)))


# -- around them -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a run of the reconciler did.

    Attributes
    ----------
    actions : tuple of Action
    problems : tuple of str
        What could not be done; the next run tries again.
    notes : tuple of str
    """

    actions: tuple[Action, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def look(github: GitHub, pull: PullRequest, settings: Settings) -> Facts:
    """Collect what is known about a pull request; two requests if its comment is up to date."""
    comments = tuple(github.comments(pull.number))
    runs = tuple(github.runs(settings.workflow, head_sha=pull.head_sha, event="pull_request"))
    facts = Facts(pull=pull, runs=runs, comments=comments)
    wanted, found = view_of(pull, runs, comments, settings), sticky(comments, settings)
    if wanted is None or (found is not None and found[1].of_what == wanted.of_what):
        return facts
    paths = tuple(github.changed_paths(pull.number))
    facts = replace(facts, paths=paths if len(paths) < MOST_FILES else None)
    if wanted.state != "complete":
        return facts
    artifacts = [each for each in github.artifacts(wanted.run, settings.artifact) if not each.expired]
    if not artifacts:
        return replace(facts, problem="The run has left no report, or it was kept too long ago.")
    latest = max(artifacts, key=lambda artifact: artifact.id)
    if latest.size_bytes > _MOST_ZIP:
        return replace(facts, problem=f"The report of the run has more than {_MOST_ZIP // 2**20} MiB.")
    return replace(facts, bundle=github.download(latest.id, _MOST_ZIP))


def apply(github: GitHub, action: Action) -> None:
    """Do what was decided."""
    match action:
        case CreateComment(number, body):
            github.create_comment(number, body)
        case UpdateComment(_, comment, body):
            github.update_comment(comment, body)
        case AddLabels(number, labels):
            github.add_labels(number, labels)
        case RemoveLabel(number, label):
            github.remove_label(number, label)
        case Queue():
            github.start(action.workflow, action.branch, action.inputs)


def reconcile(
    github: GitHub,
    settings: Settings,
    *,
    missing: Sequence[tuple[str, str]] = (),
    head: str = "",
    do: Callable[[GitHub, Action], None] = apply,
) -> Outcome:
    """Look at everything and do what is needed; one pull request that fails does not hold up the others.

    Parameters
    ----------
    github : GitHub
    settings : Settings
    missing : sequence of (model, benchmark)
        Pairs that should have a record and have none.
    head : str
        Latest commit of the branch that is scored.
    do : callable
        Does an action; one that does nothing shows what would be done.
    """
    done: list[Action] = []
    problems: list[str] = []
    notes: list[str] = []

    def carry_out(what: str, decided: Callable[[], Iterable[Action]]) -> None:
        try:
            for action in decided():
                do(github, action)
                done.append(action)
        except BrainScoreError as error:
            problems.append(f"{what}: {error}")

    def scoring() -> Iterable[Action]:
        runs = github.runs(settings.scoring, branch=settings.branch) if missing else ()
        actions, note = decide_scoring(missing, runs, head, settings)
        notes.append(note)
        return actions

    for pull in github.pull_requests():
        carry_out(f"pull request {pull.number}", lambda pull=pull: decide(look(github, pull, settings), settings))  # type: ignore[misc] # the default binds this one
    carry_out("scoring", scoring)
    return Outcome(tuple(done), tuple(problems), tuple(notes))
