"""Check offline that the models of a plugin work.

Plugins import this module at their top, so it is cheap to import: `checks` is imported on use.
"""

import sys
import time
from collections.abc import Callable
from types import ModuleType

from brainscore_core.errors import BrainScoreError, count, harmless, listed
from brainscore_vision.model_helpers.check_submission.errors import ModelCheckError

__all__ = ["ModelCheckError", "check_base_models", "check_brain_models", "check_models"]


def check_base_models(module: str | ModuleType) -> None:
    """Check the base models of a module and print the verdict.

    Every listed layer must give finite activations that depend on the stimulus; the last is scored on 24 gratings
    against simulated neurons, and must learn the task ``probabilities``. Nothing is cached.

    Parameters
    ----------
    module
        Has ``get_model_list()``, ``get_layers(name)`` and ``get_model(name)``; usually ``__name__``.

    Raises
    ------
    ModelCheckError
        Models fail; names them and the reasons. If only one fails, its error is raised.
    """
    from brainscore_vision.model_helpers.check_submission.checks import check_base_model  # heavy

    _check_each(_module(module), check_base_model)


def check_brain_models(module: str | ModuleType) -> None:
    """Check that a module's brain models can be recorded from or do a task; see `check_base_models`."""
    from brainscore_vision.model_helpers.check_submission.checks import check_brain_model  # heavy

    _check_each(_module(module), check_brain_model)


def check_models(module: str | ModuleType) -> None:
    """Check the base models or brain models of a module."""
    plugin = _module(module)
    check = check_base_models if hasattr(plugin, "get_layers") else check_brain_models
    check(plugin)


def _check_each(plugin: ModuleType, check: Callable[[ModuleType, str], str]) -> None:
    from brainscore_vision.model_helpers.activations.cache.switches import without_cache  # heavy: numpy

    names = _model_names(plugin)
    errors: dict[str, Exception] = {}
    for name in names:
        started = time.monotonic()
        try:
            with without_cache():
                result = check(plugin, name)
        except Exception as error:  # noqa: BLE001 - the other models are checked too; raised below
            errors[name] = error
            _say(f"{name}: FAILED: {_described(error)}")
        else:
            _say(f"{name}: passed ({result}, {time.monotonic() - started:.1f} s)")
    if len(errors) == 1:
        raise next(iter(errors.values()))
    models = count(len(names), "model")
    if errors:
        problems = listed([f"{name}: {_described(error)}" for name, error in errors.items()])
        raise ModelCheckError(f"{len(errors)} of {models} of {plugin.__name__} fail the check:{problems}")
    _say(f"{len(names)} of {models} pass the check: ready to submit.")


def _described(error: Exception) -> str:
    return str(error) if isinstance(error, BrainScoreError) else f"{type(error).__name__}: {error}"


def _say(line: str) -> None:
    print(harmless(line))  # noqa: T201 - the result of a program that plugins run


def _module(module: str | ModuleType) -> ModuleType:
    if isinstance(module, ModuleType):
        return module
    if module not in sys.modules:
        raise ModelCheckError(f"No module {module!r} has been imported; expected a module or the name of one.")
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
