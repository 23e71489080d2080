"""Say which keywords a metric accepts when it is given another."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from brainscore_core.errors import did_you_mean

Made = TypeVar("Made")


def metric_named(identifier: str) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Decorate the factory of a metric, so that unknown keywords raise a TypeError that names those it accepts."""

    def decorate(factory: Callable[..., Made]) -> Callable[..., Made]:
        accepted = list(inspect.signature(factory).parameters)

        @functools.wraps(factory)
        def checked(*args: Any, **kwargs: Any) -> Made:
            unknown = [name for name in kwargs if name not in accepted]
            if unknown:
                raise TypeError(
                    f"The metric {identifier!r} got an unexpected keyword {unknown[0]!r}; it accepts "
                    f"{', '.join(accepted)}.{did_you_mean(unknown[0], accepted)}"
                )
            return factory(*args, **kwargs)

        return checked

    return decorate
