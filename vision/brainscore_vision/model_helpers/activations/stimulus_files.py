"""Preprocess stimulus files, and name the file that fails."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from brainscore_core.errors import MissingStimulusError, StimulusError
from brainscore_vision.model_helpers.activations.batches import is_finite, is_out_of_memory
from brainscore_vision.model_helpers.activations.images import load_image

__all__ = ["BadImageError", "Preprocessing", "check_files", "preprocess_files"]

Preprocessing = Callable[[list[str]], object]  # from paths to inputs of the model


class BadImageError(StimulusError):
    """A stimulus, with its path, cannot be decoded."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class _MissingFileError(BadImageError, MissingStimulusError):
    pass


def preprocess_files(preprocess: Preprocessing | None, paths: list[str]) -> object:
    """Return a model's inputs for files; the paths if `preprocess` is None."""
    if preprocess is None:
        return paths
    try:
        inputs = preprocess(paths)
    except (OSError, StimulusError):
        for path in paths:  # names the broken one
            try:
                load_image(path)
            except MissingStimulusError as error:  # deleted since the stimuli were listed
                raise _MissingFileError(str(error), path) from error
            except StimulusError as error:
                raise BadImageError(str(error), path) from error
        raise
    except Exception as error:
        if not is_out_of_memory(error):
            error.add_note(f"The preprocessing failed on {_first_failing(preprocess, paths)}.")
        raise
    _check_inputs(inputs, paths)
    return inputs


def check_files(paths: Sequence[str]) -> None:
    """Raise `MissingStimulusError`, as a `BadImageError`, if a file does not exist."""
    for path in paths:
        if not Path(path).is_file():
            raise _MissingFileError(
                f"The stimulus file {path!r} does not exist. Correct stimulus_paths, or load the stimulus set again.",
                path,
            )


def _first_failing(preprocess: Preprocessing, paths: list[str]) -> str:
    for path in paths:
        try:
            preprocess([path])
        except Exception:  # noqa: BLE001 - the first error is raised by the caller
            return f"stimulus {path!r}"
    return f"a batch of {len(paths)} stimuli from {paths[0]!r}, though on none of them alone"


def _check_inputs(inputs: object, paths: list[str]) -> None:
    shape = (len(inputs),) if isinstance(inputs, (list, tuple)) else getattr(inputs, "shape", None)
    if shape is not None and (len(shape) == 0 or shape[0] != len(paths)):  # other inputs may be anything
        raise StimulusError(
            f"The preprocessing returned a {type(inputs).__name__} of shape {tuple(shape)} for {len(paths)} stimuli; "
            "expected one entry for each stimulus on the first axis."
        )
    if isinstance(inputs, np.ndarray) and not is_finite(inputs):
        bad = int(np.argmin(np.isfinite(inputs).reshape(len(paths), -1).all(axis=1)))
        raise BadImageError(
            f"The preprocessing made values that are not finite of {paths[bad]!r}. Check the file, and the divisors in "
            "the preprocessing.",
            paths[bad],
        )
