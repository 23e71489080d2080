"""Published domains import this from here; scores are kept as `brainscore_core.records`."""

from __future__ import annotations

from typing import Any, NoReturn


class DomainPlugins:
    """Base class of a domain's ``load_model``, ``load_benchmark`` and ``score``."""


class RunScoringEndpoint:
    """Hold the plugins of a domain; calling it raises `NotImplementedError`."""

    def __init__(self, domain_plugins: DomainPlugins, db_secret: str | None = None) -> None:  # noqa: ARG002
        self.domain_plugins = domain_plugins

    def __call__(self, **row: Any) -> NoReturn:
        """Raise `NotImplementedError`."""
        no_database(**row)


def no_database(*arguments: Any, **options: Any) -> NoReturn:
    """Raise `NotImplementedError` with the replacement for the published database of submissions."""
    raise NotImplementedError(
        "There is no database of submissions: submit plugins as pull requests, and score pairs with the domain's "
        "score(model_identifier, benchmark_identifier)."
    )
