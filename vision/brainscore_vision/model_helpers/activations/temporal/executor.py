"""Run a model on clips, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from brainscore_core.errors import AssemblyError

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array
    from brainscore_vision.model_helpers.activations.temporal.inputs import Stimulus

__all__ = ["BatchExecutor", "ModelInput"]

ModelInput = Any  # result of the preprocessing


@dataclass(frozen=True)
class _Prepared:
    group: Hashable
    inputs: ModelInput


class BatchExecutor:
    """Preprocess stimuli and run a model on batches of similar stimuli.

    Parameters
    ----------
    get_activations
        ``get_activations(inputs, layers)`` takes a list of preprocessed stimuli and returns arrays (input, ...) by
        layer.
    preprocessing
        Takes one stimulus.
    batch_size
        Most stimuli in one call.
    batch_padding
        Whether incomplete batches are filled with their last stimulus.
    batch_grouper
        Returns the common value of stimuli in one batch, such as their length. None: batches hold any stimuli.
    max_workers
        Ignored: one thread prepares batches while the model runs.
    """

    def __init__(
        self,
        get_activations: Callable[[list[ModelInput], list[str]], Mapping[str, npt.ArrayLike]],
        preprocessing: Callable[[Any], ModelInput],
        batch_size: int,
        batch_padding: bool = False,
        batch_grouper: Callable[[Any], Hashable] | None = None,
        max_workers: int | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; expected at least 1.")
        self.get_activations = get_activations
        self.preprocess = preprocessing
        self.batch_size = batch_size
        self.batch_padding = batch_padding
        self.batch_grouper = batch_grouper
        self.max_workers = max_workers

    def prepare(self, stimuli: Sequence[Stimulus]) -> list[_Prepared]:
        """Preprocess stimuli, in order."""
        group = self.batch_grouper or (lambda _: None)
        return [_Prepared(group(stimulus), self.preprocess(stimulus)) for stimulus in stimuli]

    def run(self, prepared: Sequence[_Prepared], layers: Sequence[str]) -> dict[str, list[Array]]:
        """Return each layer's activations, one array for each prepared stimulus, in order."""
        members: dict[Hashable, list[int]] = {}
        for index, item in enumerate(prepared):
            members.setdefault(item.group, []).append(index)
        results: dict[str, list[Array]] = {}
        for indices in members.values():
            for start in range(0, len(indices), self.batch_size):
                members_here = indices[start : start + self.batch_size]
                activations = self._run_batch([prepared[index].inputs for index in members_here], list(layers))
                for layer in activations:
                    for index, values in zip(members_here, activations[layer], strict=False):  # drops padding
                        results.setdefault(layer, [np.empty(0)] * len(prepared))[index] = values
        return results

    def execute(self, stimuli: Sequence[Stimulus], layers: Sequence[str]) -> dict[str, list[Array]]:
        """Prepare stimuli and run the model on them."""
        return self.run(self.prepare(stimuli), layers)

    def _run_batch(self, inputs: list[ModelInput], layers: list[str]) -> dict[str, Array]:
        n_inputs = self.batch_size if self.batch_padding else len(inputs)
        inputs = [*inputs, *[inputs[-1]] * (n_inputs - len(inputs))]
        activations = {name: np.asarray(values) for name, values in self.get_activations(inputs, layers).items()}
        for layer, values in activations.items():
            if values.ndim < 1 or values.shape[0] != n_inputs:
                raise AssemblyError(
                    f"Layer {layer!r} gave shape {values.shape} for {n_inputs} clips; expected one entry for each on "
                    "the first axis. process_output can change the output of a layer."
                )
        return activations
