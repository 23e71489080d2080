"""Test whether a model is deterministic, and whether it changes during a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from brainscore_core.errors import ModelChangedError
from brainscore_vision.model_helpers.activations.trials import random_state_as_before

if TYPE_CHECKING:
    from torch import nn

    from brainscore_vision.model_helpers.activations.cache.layout import Array

__all__ = [
    "ALIKE",
    "PROBE",
    "STEADY",
    "WeightSums",
    "deviation_between_batches",
    "deviation_between_passes",
    "unchanged_weights",
    "weight_sums",
]

STEADY = 1e-5
"""Allowed deviation, in units of a layer's largest value: some GPU kernels add in any order."""

ALIKE = 5e-3
"""Allowed deviation between batches: half precision rounds otherwise in a batch of another size."""

PROBE = 2
"""Number of stimuli that are shown twice."""

WeightSums = Mapping[str, float]


def deviation_between_passes(
    prepare: Callable[[int, int], Any], run: Callable[[Any], Mapping[str, Array]], first: int, stop: int
) -> dict[str, float]:
    """Show the first stimuli from `first` to before `stop` twice, and compare activations.

    Random numbers are restored; `prepare` and `run` are those of `batches.run_batches`.

    Returns
    -------
    dict of str to float
        By layer that differs: largest absolute difference in units of the largest absolute value; infinite if the
        shapes differ.
    """
    stop = min(stop, first + PROBE)
    return _deviations(prepare, run, first, (stop, stop))


def deviation_between_batches(
    prepare: Callable[[int, int], Any], run: Callable[[Any], Mapping[str, Array]], first: int, stop: int
) -> dict[str, float]:
    """Compare the first stimuli alone and with one more, as `deviation_between_passes`.

    Layers that deviate by more than `ALIKE` depend on the rest of a batch, such as batch normalisation with the
    statistics of training. Empty without another stimulus.
    """
    if stop - first <= PROBE:
        return {}
    deviations = _deviations(prepare, run, first, (first + PROBE, first + PROBE + 1))
    return {layer: deviation for layer, deviation in deviations.items() if deviation > ALIKE}


def _deviations(
    prepare: Callable[[int, int], Any], run: Callable[[Any], Mapping[str, Array]], first: int, stops: tuple[int, int]
) -> dict[str, float]:
    with random_state_as_before():
        one, two = (dict(run(prepare(first, stop))) for stop in stops)
    deviations = {layer: _deviation(np.asarray(one[layer]), np.asarray(two[layer])[: len(one[layer])]) for layer in one}
    return {layer: deviation for layer, deviation in deviations.items() if deviation}


def _deviation(one: Array, two: Array) -> float:
    if one.shape != two.shape:
        return float("inf")
    if not np.issubdtype(one.dtype, np.number):
        return 0.0 if np.array_equal(one, two) else float("inf")
    if np.array_equal(one, two, equal_nan=True):
        return 0.0
    wide = np.result_type(one.dtype, np.float64)
    with np.errstate(all="ignore"):
        difference = np.abs(one.astype(wide) - two.astype(wide)).max()
        largest = np.abs(one.astype(wide)).max()
        return float(difference / largest) if largest else float("inf")


@contextmanager
def unchanged_weights(sums: Callable[[], WeightSums] | None, model: object) -> Iterator[None]:
    """Raise `ModelChangedError` if `sums`, such as ``partial(weight_sums, module)``, change inside the block."""
    old = sums() if sums else {}
    yield
    new = sums() if sums else {}
    changed = [name for name in old if name in new and old[name] != new[name]]
    if changed:
        raise ModelChangedError(
            f"The model {model!r} changed while it was recorded: {', '.join(changed[:5])}"
            f"{f' and {len(changed) - 5} more' if len(changed) > 5 else ''} differ, so early and "
            "late stimuli were shown to different models. Do not train it meanwhile, and let nothing in its forward "
            "pass write to its weights."
        )


def weight_sums(module: nn.Module) -> dict[str, float]:
    """Return the sums of all parameters and floating-point buffers of a PyTorch module."""
    import torch  # heavy; imported already where there is a PyTorch module

    tensors = [*module.named_parameters(), *module.named_buffers()]
    named = [(name, tensor.detach()) for name, tensor in tensors if tensor.is_floating_point() and tensor.numel()]
    named = [(name, tensor) for name, tensor in named if tensor.device.type != "meta"]
    if not named:
        return {}
    # One transfer from the device for all; NaN would differ from itself.
    device = named[0][1].device
    wide = torch.float32 if device.type == "mps" else torch.float64  # MPS has no float64
    sums = torch.stack([tensor.sum(dtype=wide).to(device) for _, tensor in named]).nan_to_num()
    return dict(zip([name for name, _ in named], sums.tolist(), strict=True))
