"""Test a plugin whose models are rows of a table, offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import torch

from brainscore_core.errors import UnavailableError, did_you_mean
from brainscore_core.plugin_management.registrations import table_of
from brainscore_vision.catalogue.model_tables import Row, read_table
from brainscore_vision.loading import known_identifiers, load_model
from brainscore_vision.model_helpers.tables import builder_of

if TYPE_CHECKING:
    from types import ModuleType

    from torch import nn

__all__ = ["TableProof", "absent_layers", "constant_weights", "put_checkpoint"]


class TableProof:
    """Set the plugin, and inherit these.

    Examples
    --------
    In ``test.py``::

        from brainscore_vision.models import mynetworks

        class TestMyNetworks(TableProof):
            plugin = mynetworks
    """

    plugin: ModuleType

    @property
    def rows(self) -> list[Row]:
        """Rows of its table."""
        return list(read_table(table_of(Path(str(self.plugin.__file__)).parent)).values())

    def test_every_row_is_a_known_identifier(self) -> None:
        """Each row without a reason is known without importing the plugin."""
        assert {row.identifier for row in self.rows if not row.reason} <= set(known_identifiers("model"))

    def test_unavailable_models_raise_their_reason(self) -> None:
        """A row with a reason raises it."""
        for row in self.rows:
            if row.reason:
                with pytest.raises(UnavailableError) as raised:
                    load_model(row.identifier)
                assert f"{row.identifier!r} is known but cannot be loaded here: {row.reason} (" in str(raised.value)

    def test_layers_exist(self) -> None:
        """Architectures of ours have the layers that rows name."""
        assert absent_layers([row for row in self.rows if row.weights and not row.library]) == []


def absent_layers(rows: list[Row]) -> list[str]:
    """Return a line for each absent layer of a row, with the nearest one."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if (row.source, row.classes) not in names:
            names[row.source, row.classes] = [name for name, _ in _untrained(row).named_modules()]
    return [
        f"{row.identifier}: no layer {layer!r}.{did_you_mean(layer, names[row.source, row.classes])}"
        for row in rows
        for layer in (*row.region_layer_map.values(), *row.layers.split(), row.readout)
        if layer and layer.removesuffix(".input") not in names[row.source, row.classes]
    ]


def _untrained(row: Row) -> nn.Module:
    build, _ = builder_of(row)
    try:
        with torch.device("meta"):
            return build()
    except NotImplementedError:  # it computes with values while it is built
        return build()


def constant_weights(row: Row, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return random weights, one number for each tensor: a checkpoint is small."""
    random = torch.Generator().manual_seed(seed)
    state = {}
    for name, value in _untrained(row).state_dict().items():
        number = (0.5 + torch.rand((), generator=random)) / max(value[0].numel() if value.ndim > 1 else 1, 1)
        state[name] = number.to(value.dtype).expand(value.shape)
    return state


def put_checkpoint(row: Row, state: dict[str, torch.Tensor], mirror: Path) -> Path:
    """Save weights where a mirror folder has the checkpoint of a row, wrapped as its publisher does; return the path.

    Only names that a row puts in place of others differ from the rest.
    """
    rules = [rule.partition("=")[::2] for rule in row.names.split() if rule != "-"]
    content: dict[str, object] = {}
    for name, values in state.items():
        fitting = [(new, old) for old, new in rules if name.startswith(new)]
        new, old = max(fitting, key=lambda rule: len(rule[0]), default=("", ""))
        content[f"a.{old}{name.removeprefix(new)}" if fitting else name] = values
    for key in row.entry.partition("|")[0].split("/")[::-1] if row.entry else ():
        content = {key: content, "epoch": 3}
    path = mirror / _place_of(row.weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(content, path)
    return path


def _place_of(address: str) -> str:
    if address.startswith("s3://"):
        return address.removeprefix("s3://").partition("?version=")[0]
    if address.startswith("hub:"):
        repository, _, file = address.removeprefix("hub:").partition("@")
        return f"huggingface.co/{repository}/resolve/{file}"
    parts = urlsplit(address)
    return f"{parts.hostname}{parts.path}"
