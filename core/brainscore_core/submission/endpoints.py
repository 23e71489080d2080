"""Published domains import this from here; each function raises `NotImplementedError`, as there is no database."""

from __future__ import annotations

from brainscore_core.submission import DomainPlugins, RunScoringEndpoint, no_database

__all__ = [
    "DomainPlugins",
    "RunScoringEndpoint",
    "UserManager",
    "get_user_id",
    "make_argparser",
    "resolve_models_benchmarks",
    "send_email_to_submitter",
]

UserManager = get_user_id = make_argparser = resolve_models_benchmarks = send_email_to_submitter = no_database
