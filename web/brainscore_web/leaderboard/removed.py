"""Find records that a branch had and has no more, and what was said there about them.

What is published is made from the branch alone, so no earlier site need be at hand to know what is gone.
"""

from __future__ import annotations

from collections.abc import Collection

from brainscore_core.git import ask_git
from brainscore_web.leaderboard.site import GoneError
from brainscore_web.leaderboard.sources import CommitSource, pair_of

__all__ = ["NOTES", "check_removed", "said_gone"]

NOTES = "gone.txt"
"""The file at the top of a branch of records that names what was removed from it: models, benchmarks or pairs
``'model benchmark'``, one a line."""

_MOST_TOLD = 10


def said_gone(source: CommitSource) -> list[str]:
    """Return the lines of `NOTES` as it was at a commit; none if there is no such file."""
    listed = ask_git(source.repository, "ls-tree", "--full-tree", "--name-only", source.revision, NOTES)
    if not listed:
        return []
    content = ask_git(source.repository, "cat-file", "blob", f"{source.revision}:{NOTES}").decode("utf-8", "replace")
    return [line.strip() for line in content.splitlines() if line.strip()]


def check_removed(source: CommitSource, allowed: Collection[str]) -> None:
    """Refuse a commit that lacks a record which one before it had.

    Parameters
    ----------
    allowed : collection of str
        Models, benchmarks, or pairs ``'model benchmark'`` that may be gone.

    Raises
    ------
    GoneError
        If another one is.
    """
    # Of a merge, what it takes away from the branch it was made on.
    how = ("--diff-filter=D", "--no-renames", "--diff-merges=first-parent", "--name-only", "--format=", "-z")
    log = ask_git(source.repository, "log", *how, source.revision, "--").decode("utf-8", "replace")
    removed = {path.strip("\n") for path in log.split("\0")} - set(source.paths())
    pairs = sorted((model, benchmark) for benchmark, model in filter(None, map(pair_of, removed)))
    gone = [
        f"the score of {model} on {benchmark}"
        for model, benchmark in pairs
        if not {model, benchmark, f"{model} {benchmark}"} & set(allowed)
    ]
    if gone:
        more = f" and {len(gone) - _MOST_TOLD} more" if len(gone) > _MOST_TOLD else ""
        raise GoneError(
            f"{len(gone)} that the branch had before {source.revision[:12]} {'is' if len(gone) == 1 else 'are'} gone: "
            f"{', '.join(gone[:_MOST_TOLD])}{more}. If that is meant, name models, benchmarks or pairs ('MODEL "
            f"BENCHMARK'), one a line, in the file {NOTES} of the branch, or in one of yours: --gone FILE"
        )
