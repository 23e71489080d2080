"""Find the axis of a layer's output that counts the stimuli.

Recurrent networks and sequence-first attention put steps, tokens or layers first: an LSTM's ``[1][0]`` is (layer,
stimulus, unit). One batch cannot tell 2 stimuli from 2 layers, but two batches of different sizes can: only the axis of
the stimuli follows both.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from brainscore_core.errors import AssemblyError

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = ["Shapes", "stimuli_axes", "stimuli_first"]

Shapes = dict[str, dict[int, tuple[int, ...]]]
"""By layer, the shape of its output for each number of stimuli in a batch."""


def stimuli_first(answer: Mapping[str, Array], shapes: Shapes, identifier: object) -> OrderedDict[str, Array]:
    """Move the axis of the stimuli to the front; `AssemblyError` if none, or several, follow the number of stimuli."""
    moved: OrderedDict[str, Array] = OrderedDict()
    for layer, values in answer.items():
        axes = stimuli_axes(shapes[layer])
        # Without other axes, one stimulus has the same values whichever axis of size 1 comes first.
        if not axes or (len(axes) > 1 and set(shapes[layer]) != {1}):
            seen = ", ".join(f"{shape} for {count} stimuli" for count, shape in shapes[layer].items())
            raise AssemblyError(
                f"Layer {layer!r} of model {identifier!r} gave shape {seen}; expected one entry for each stimulus on "
                "exactly one axis. Record another layer, or another part of its output, such as 'lstm[1][0]', or let a "
                "module of the model reshape it."
            )
        moved[layer] = np.ascontiguousarray(np.moveaxis(values, axes[0], 0)) if axes[0] else values
    return moved


def stimuli_axes(shapes: Mapping[int, tuple[int, ...]]) -> list[int]:
    """Return the axes that have one entry for each stimulus, whatever the number of stimuli in a batch."""
    if len({len(shape) for shape in shapes.values()}) > 1:
        return []
    return [axis for axis, sizes in enumerate(zip(*shapes.values(), strict=True)) if sizes == tuple(shapes)]
