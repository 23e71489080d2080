"""Say which keywords a metric accepts when it is given another."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from brainscore_core.errors import did_you_mean

Made = TypeVar("Made")
Factory = Callable[..., Made]


def metric_named(identifier: str, *, ignored: Collection[str] = ()) -> Callable[[Factory[Made]], Factory[Made]]:
    """Decorate the factory of a metric, so that unknown keywords raise a TypeError that names those it accepts.

    The `ignored` ones are accepted too, and have no effect.
    """

    def decorate(factory: Factory[Made]) -> Factory[Made]:
        own = list(inspect.signature(factory).parameters)
        accepted = [*own, *(name for name in ignored if name not in own)]

        @functools.wraps(factory)
        def checked(*args: Any, **kwargs: Any) -> Made:  # Any: whatever the factory takes
            for name in kwargs:
                if name not in accepted:
                    raise TypeError(
                        f"The metric {identifier!r} got an unexpected keyword {name!r}; it accepts "
                        f"{', '.join(accepted)}.{did_you_mean(name, accepted)}"
                    )
            return factory(*args, **{name: value for name, value in kwargs.items() if name in own})

        return checked

    return decorate
