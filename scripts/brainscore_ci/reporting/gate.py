"""Decide from the results of all jobs whether a change may be merged: the one check that branch protection requires."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from brainscore_ci.reporting.verdict import Verdict
from brainscore_core.errors import ConfigurationError

__all__ = ["read_needs", "verdict"]

_RESULTS = frozenset({"cancelled", "failure", "skipped", "success"})


def read_needs(text: str) -> dict[str, str]:
    """Return job -> result from what ``toJSON(needs)`` gives.

    Raises
    ------
    ConfigurationError
        If it is anything else; a gate that cannot read its input does not open.
    """
    try:
        jobs = json.loads(text)
        results = {str(job): str(entry["result"]) for job, entry in jobs.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(f"These are no results of jobs: {text[:200]!r} ({error}).") from error
    unknown = {job: result for job, result in results.items() if result not in _RESULTS}
    if unknown or not results:
        raise ConfigurationError(f"Expected results of jobs, each one of {sorted(_RESULTS)}; got {unknown or 'none'}.")
    return results


def verdict(
    results: Mapping[str, str], *, required: Collection[str], may_skip: Mapping[str, bool] | None = None
) -> Verdict:
    """Decide.

    Parameters
    ----------
    results : mapping of str to str
        Job -> 'success', 'failure', 'cancelled' or 'skipped'.
    required : collection of str
        Jobs that must be among them.
    may_skip : mapping of str to bool, optional
        Job -> whether the plan has nothing for it. Any other job that was skipped did not do its work.
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
