"""Find records that a branch has lost without a note, so that a published site never loses scores unnoticed."""

from __future__ import annotations

from collections.abc import Collection

from brainscore_core.git import ask_git
from brainscore_core.records.store import BRANCH_FOLDER
from brainscore_web.leaderboard.site import GoneError
from brainscore_web.leaderboard.sources import CommitSource, pair_of

NOTES = "gone.txt"
"""File at the top of a branch of records that lists removed models, benchmarks or pairs ``'model benchmark'``, one per
line."""

_MOST_LISTED = 10


def said_gone(source: CommitSource) -> list[str]:
    """Return the lines of `NOTES` at a commit; empty without the file."""
    listed = ask_git(source.repository, "ls-tree", "--full-tree", "--name-only", source.revision, NOTES)
    if not listed:
        return []
    content = ask_git(source.repository, "cat-file", "blob", f"{source.revision}:{NOTES}").decode("utf-8", "replace")
    return [line.strip() for line in content.splitlines() if line.strip()]


def check_removed(source: CommitSource, allowed: Collection[str]) -> None:
    """Raise `GoneError` if an earlier commit had a record that this one lacks.

    Models, benchmarks, and pairs ``'model benchmark'`` in `allowed` may be gone.
    """
    # For a merge, the changes relative to its first parent.
    how = (f"--relative={BRANCH_FOLDER}/", "--diff-filter=D", "--no-renames", "--diff-merges=first-parent", "-z")
    log = ask_git(source.repository, "log", *how, "--name-only", "--format=", source.revision, "--")
    removed = {path.strip("\n") for path in log.decode("utf-8", "replace").split("\0")} - set(source.paths())
    pairs = sorted((model, benchmark) for benchmark, model in filter(None, map(pair_of, removed)))
    gone = [
        f"the score of {model} on {benchmark}"
        for model, benchmark in pairs
        if not {model, benchmark, f"{model} {benchmark}"} & set(allowed)
    ]
    if gone:
        more = f" and {len(gone) - _MOST_LISTED} more" if len(gone) > _MOST_LISTED else ""
        raise GoneError(
            f"{len(gone)} score{' is' if len(gone) == 1 else 's are'} missing at {source.revision[:12]} of the branch: "
            f"{', '.join(gone[:_MOST_LISTED])}{more}. If this is intended, list models, benchmarks or pairs ('MODEL "
            f"BENCHMARK'), one per line, in the file {NOTES} of the branch, or in a file of your own: --gone FILE"
        )
