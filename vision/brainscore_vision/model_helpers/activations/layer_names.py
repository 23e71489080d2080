"""Check requested layers against those that a model gave."""

from collections.abc import Mapping, Sequence

from brainscore_core.errors import LayerNotFoundError, did_you_mean

__all__ = ["GivenInStepsError", "check_layers", "layer_names"]


def layer_names(layers: Sequence[str] | None) -> list[str]:
    """Return the names as a list without repeats; ``['logits']`` for None."""
    if layers is None:
        return ["logits"]
    names = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
    if not names:
        raise ValueError("The list of layers is empty; expected at least one, or None for the readout ('logits').")
    return names


class GivenInStepsError(LayerNotFoundError):
    """The model gave layers in steps; `layers` are those to ask for instead."""

    def __init__(self, message: str, layers: list[str]) -> None:
        super().__init__(message)
        self.layers = layers


def check_layers(activations: Mapping[str, object], layers: list[str], identifier: object) -> None:
    """Raise `LayerNotFoundError` if the activations of a model lack layers."""
    missing = [layer for layer in layers if layer not in activations]
    if not missing:
        return
    hint = did_you_mean(missing[0], activations) or " The forward pass may not reach that layer."
    message = f"Model {identifier!r} gave no activations for {missing}; it gave {list(activations)}.{hint}"
    steps = {}
    for layer in missing:
        numbers = {name: name.removeprefix(f"{layer}-t") for name in activations if name.startswith(f"{layer}-t")}
        ordered = sorted((int(number), name) for name, number in numbers.items() if number.isdecimal())
        steps[layer] = [name for _, name in ordered]
    if all(steps.values()):
        raise GivenInStepsError(message, [step for layer in layers for step in steps.get(layer, [layer])])
    raise LayerNotFoundError(message)
