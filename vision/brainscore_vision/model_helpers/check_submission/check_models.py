"""Check that the models of a plugin work, offline, and give one verdict.

Plugins import this module at their top and call it when they are run as a program, so that importing it is cheap: what
the checks need is in `checks` and `embedded`, imported when they run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import ModuleType

from brainscore_core.errors import BrainScoreError, listed
from brainscore_vision.model_helpers.check_submission.errors import ModelCheckError

__all__ = ["ModelCheckError", "check_base_models", "check_brain_models", "check_models"]


def check_base_models(module: str | ModuleType) -> None:
    """Check the base models of a module and print the verdict.

    Every listed layer exists and gives finite activations that depend on the stimulus. The last one is then scored on
    24 gratings against simulated neurons, and has to learn the task ``probabilities`` on them. Nothing is cached.

    Parameters
    ----------
    module : str or module
        Has ``get_model_list()``, ``get_layers(name)`` and ``get_model(name)``; usually ``__name__``.

    Raises
    ------
    ModelCheckError
        A model does something wrong; the message says which and how.
    Exception
        Whatever a model raised, if it is the only one that fails. All models are checked before.
    """
    from brainscore_vision.model_helpers.check_submission.checks import check_base_model

    _check_each(_module(module), check_base_model)


def check_brain_models(module: str | ModuleType) -> None:
    """Check the brain models of a module as `check_base_models` does: they can be recorded from, or do a task."""
    from brainscore_vision.model_helpers.check_submission.checks import check_brain_model

    _check_each(_module(module), check_brain_model)


def check_models(module: str | ModuleType) -> None:
    """Check the models of a module, be they base models or brain models."""
    plugin = _module(module)
    check = check_base_models if hasattr(plugin, "get_layers") else check_brain_models
    check(plugin)


def _check_each(plugin: ModuleType, check: Callable[[ModuleType, str], str]) -> None:
    from brainscore_vision.model_helpers.activations.cache.switches import without_cache

    names = _model_names(plugin)
    errors: dict[str, Exception] = {}
    for name in names:
        started = time.monotonic()
        try:
            with without_cache():
                found = check(plugin, name)
        except Exception as error:  # noqa: BLE001 - the other models are checked too; raised below
            errors[name] = error
            _say(f"{name}: FAILED: {_described(error)}")
        else:
            _say(f"{name}: passed ({found}, {time.monotonic() - started:.1f} s)")
    if len(errors) == 1:
        raise next(iter(errors.values()))
    if errors:
        problems = listed([f"{name}: {_described(error)}" for name, error in errors.items()])
        raise ModelCheckError(f"{len(errors)} of {len(names)} models of {plugin.__name__} fail the check:{problems}")
    _say(f"{len(names)} of {len(names)} models pass the check: ready to submit.")


def _described(error: Exception) -> str:
    return str(error) if isinstance(error, BrainScoreError) else f"{type(error).__name__}: {error}"


def _say(line: str) -> None:
    print(line)  # noqa: T201 - plugins run this as a program; the verdict is its result


def _module(module: str | ModuleType) -> ModuleType:
    if isinstance(module, ModuleType):
        return module
    if module not in sys.modules:
        raise ModelCheckError(f"There is no imported module {module!r}; expected a module or the name of one.")
    return sys.modules[module]


def _model_names(plugin: ModuleType) -> list[str]:
    if not hasattr(plugin, "get_model_list"):
        raise ModelCheckError(
            f"{plugin.__name__} has no function get_model_list(); it returns the names of its models."
        )
    names = list(plugin.get_model_list())
    if not names:
        raise ModelCheckError(f"get_model_list() of {plugin.__name__} returned no names; expected at least one.")
    return names
