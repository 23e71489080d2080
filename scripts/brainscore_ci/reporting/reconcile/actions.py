"""State what is done to pull requests and workflows, and do it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brainscore_ci.github.client import HttpGitHub

__all__ = ["Action", "AddLabels", "CreateComment", "Queue", "RemoveLabel", "UpdateComment", "apply", "describe"]


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


def apply(github: HttpGitHub, action: Action) -> None:
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
