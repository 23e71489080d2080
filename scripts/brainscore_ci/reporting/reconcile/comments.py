"""Write the one comment on a pull request, and read its first line if we are the author."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Strict, TypeAdapter

from brainscore_ci.reporting.markdown import code
from brainscore_core.errors import CorruptFileError
from brainscore_core.untrusted import Name, Untrusted, matching, read

if TYPE_CHECKING:
    from brainscore_ci.github.client import Comment

PASSED, FAILED, PLUGIN_ONLY, CHANGES_CI = "ci-passed", "ci-failed", "plugin-only", "changes-ci"
OWN_LABELS = frozenset({PASSED, FAILED, PLUGIN_ONLY, CHANGES_CI})
FORMAT = 2  # a new number rewrites all comments
_MARKER = re.compile(r"^<!-- brainscore-ci (\{[^\n]*\}) -->$", re.MULTILINE)
_REPORT = "<!-- brainscore-ci report -->"

State = Literal["approval", "complete", "none", "running"]
Commit = Annotated[str, matching(re.compile(r"[0-9a-f]{40,64}"), "a commit")]
Identity = Annotated[int, Strict()]


@dataclass(frozen=True, kw_only=True)
class View(Untrusted):
    """Content of a pull request's comment: its first line."""

    # 'complete' (shows results of the head), 'running', 'approval' (a maintainer has to allow the run), or 'none'
    # (nothing has started)
    state: State
    head: Commit
    run: Identity = 0
    attempt: Identity = 0
    reported: Commit | Literal[""] = ""  # of the shown results
    labels: tuple[Name, ...] = ()  # those among `OWN_LABELS` to set
    merge: Name | Literal[""] = ""  # digest of the conditions for a merge without a person; empty if they are not asked
    format: Identity = FORMAT

    @property
    def of_what(self) -> tuple[object, ...]:
        """Values whose change requires a new comment."""
        return self.format, self.state, self.head, self.run, self.attempt, self.merge

    def to_line(self) -> str:
        """Return the first line of the comment."""
        return f"<!-- brainscore-ci {json.dumps(asdict(self))} -->"

    @classmethod
    def from_body(cls, body: str) -> View | None:
        """Parse the first line of a comment; None if it is not ours."""
        match = _MARKER.match(body)
        if match is None:
            return None
        try:
            view = read(_VIEW, match[1], "view")
        except CorruptFileError:
            return None
        return replace(view, labels=tuple(sorted(OWN_LABELS.intersection(view.labels))))


_VIEW = TypeAdapter(View)


def sticky(comments: Iterable[Comment], author: str) -> tuple[Comment, View] | None:
    """Return our first comment and its content."""
    for comment in comments:
        if comment.author == author:
            view = View.from_body(comment.body)
            if view is not None:
                return comment, view
    return None


def body_of(view: View, url: str, report: str) -> str:
    """Return a comment's text, with the URL of the run, if any, and the output of `render`."""
    return "\n".join([view.to_line(), _notice(view, url), "", _REPORT, report]).rstrip() + "\n"


def report_in(body: str) -> str:
    """Return the report in a comment."""
    return body.partition(_REPORT)[2].strip()


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
