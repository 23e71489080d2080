"""Load the model that a function in a user's file returns."""

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brainscore_core.errors import BrainScoreError, ConfigurationError, did_you_mean
from brainscore_core.identity.digest import content_digest

__all__ = ["ModelFileError", "load_from_file"]

_REFERENCE = re.compile(r"(?P<path>.+\.py)(?::(?P<function>.*))?")


class ModelFileError(BrainScoreError, RuntimeError):
    """A file with a model cannot be run, or its function fails."""


def load_from_file(reference: str) -> object:
    """Run a file in this process and return the result of a function in it.

    Parameters
    ----------
    reference
        ``path.py:function``. The function takes no arguments. Modules in the folder of the file become importable.

    Raises
    ------
    ConfigurationError
        There is no such file or no such function, or the function returns nothing.
    ModelFileError
        The file or the function raises an exception; the message names it and its line.
    """
    match = _REFERENCE.fullmatch(reference)
    path = Path(match["path"]).expanduser().absolute() if match else Path(reference)
    if match is None or not path.is_file():
        raise ConfigurationError(f"The file {str(path)!r} does not exist; expected an existing file: path.py:function.")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # as `python file.py` does
    module = _Module(path)
    function = _function(module.content, match["function"], path)
    model = module.run(function, f"{match['function']}() in {path}")
    if model is None:
        raise ConfigurationError(
            f"{match['function']}() in {path} returned None; expected the model. Does it end with return?"
        )
    return model


class _Module:
    """A file, run once as a module with a name of its own."""

    def __init__(self, path: Path) -> None:
        name = f"brainscore_model_file_{content_digest(str(path))[:12]}"
        self._path = path
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ConfigurationError(f"{path} is not a Python file.")
        self.content = importlib.util.module_from_spec(spec)
        # Registered so that inspect finds the source of its classes.
        sys.modules[name] = self.content
        loader = spec.loader
        self.run(lambda: loader.exec_module(self.content), str(path))

    def run(self, code: Callable[[], object], what: str) -> object:
        try:
            return code()
        except Exception as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self._path)]
            line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
            line = line or (frames[-1].lineno if frames else None)
            where = f" (line {line})" if line else ""
            raise ModelFileError(f"{what} raised {type(error).__name__}: {error}{where}.") from error


def _function(module: Any, name: str | None, path: Path) -> Callable[[], object]:
    function = getattr(module, name, None) if name else None
    if callable(function):
        return function  # type: ignore[no-any-return]  # a user's
    own = [
        key
        for key, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    ]
    listed = f" It has {', '.join(own)}." if own else " It has none."
    if not name:
        raise ConfigurationError(
            f"{path} is named without the function that returns the model; expected {path.name}:function.{listed}"
        )
    what = "is not a function" if function is not None else "does not exist"
    raise ConfigurationError(f"{name!r} {what} in {path}.{did_you_mean(name, own)}{listed}")
