"""Decide whether a change may be merged, from its plan and results, or in the gate from all jobs.

The gate is the one check that branch protection requires.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brainscore_core.errors import ConfigurationError, count

if TYPE_CHECKING:
    from brainscore_ci.planning.plan import Plan
    from brainscore_ci.reporting.results import Results

_RESULTS = frozenset({"cancelled", "failure", "skipped", "success"})


@dataclass(frozen=True)
class Verdict:
    """Whether a change may be merged, and all problems."""

    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


def judge(plan: Plan, results: Results, *, whole: bool = False) -> Verdict:
    """Judge a run; a missing result fails.

    A `whole` run includes the static checks.
    """
    if plan.refused:
        names = ", ".join(ascii(refusal.path[:100]) for refusal in plan.refused[:3])
        return Verdict((f"{count(len(plan.refused), 'path')} must not be merged: {names}",))
    plugins = {result.plugin: result for result in results.plugins}
    pairs = {(result.model, result.benchmark): result for result in results.pairs}
    problems = []
    if results.check is not None and results.check.n_errors:
        problems.append(f"static checks: {count(results.check.n_errors, 'error')}")
    elif whole and results.check is None:
        problems.append("static checks: no result")
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


def read_needs(text: str) -> dict[str, str]:
    """Return job -> result from the output of ``toJSON(needs)``.

    Raises
    ------
    ConfigurationError
        For anything else; the gate then stays closed.
    """
    try:
        jobs = json.loads(text)
        results = {str(job): str(entry["result"]) for job, entry in jobs.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(f"Expected results of jobs: {text[:200]!r} ({error}).") from error
    unknown = {job: result for job, result in results.items() if result not in _RESULTS}
    if unknown or not results:
        raise ConfigurationError(f"Expected results of jobs, each one of {sorted(_RESULTS)}; got {unknown or 'none'}.")
    return results


def verdict(
    results: Mapping[str, str], *, required: Collection[str], may_skip: Mapping[str, bool] | None = None
) -> Verdict:
    """Judge all jobs.

    Parameters
    ----------
    results
        Job -> 'success', 'failure', 'cancelled' or 'skipped'.
    required
        Jobs that must have a result.
    may_skip
        Job -> whether it may be skipped, as the plan has no work for it.
    """
    allowed = may_skip or {}
    problems = [f"job {job!r} is missing: the workflow does not wait for it" for job in required if job not in results]
    for job, result in results.items():
        if result == "skipped" and allowed.get(job, False):
            continue
        if result != "success":
            reason = ", although there was work for it" if result == "skipped" else ""
            problems.append(f"job {job!r}: {result}{reason}")
    return Verdict(tuple(problems))
