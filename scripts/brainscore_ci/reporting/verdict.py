"""Decide from results whether all that was planned was done and is fine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from brainscore_ci.reporting.wording import count

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Plan
    from brainscore_ci.reporting.results import Results

__all__ = ["Verdict", "judge"]


@dataclass(frozen=True)
class Verdict:
    """Whether a change may be merged, and why not.

    Attributes
    ----------
    problems : tuple of str
        Empty if it passed.
    """

    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.problems


def judge(plan: Plan, results: Results) -> Verdict:
    """Decide; a missing result is a failure."""
    if plan.refused:
        names = ", ".join(ascii(refusal.path[:100]) for refusal in plan.refused[:3])
        return Verdict((f"{count(len(plan.refused), 'path')} must not be merged: {names}",))
    plugins = {result.plugin: result for result in results.plugins}
    pairs = {(result.model, result.benchmark): result for result in results.pairs}
    problems = []
    for task in plan.tests:
        result = plugins.get(task.plugin)
        if result is None:
            problems.append(f"{task.plugin}: no result of its tests")
        elif not result.is_fine:
            bad = result.n_failed + result.n_errors
            what = f"{count(bad, 'test')} failed" if bad else result.status
            problems.append(f"{task.plugin}: {what}")
    for preview in plan.previews:
        scored = pairs.get((preview.model, preview.benchmark))
        if scored is None:
            problems.append(f"{preview.model} on {preview.benchmark}: no score")
        elif not scored.is_fine:
            problems.append(f"{preview.model} on {preview.benchmark}: {scored.status}")
    return Verdict(tuple(problems))
