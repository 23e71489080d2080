"""Test a plugin whose models are rows of a table, without weights and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brainscore_core.errors import UnavailableError, did_you_mean
from brainscore_core.plugin_management.source.registrations import table_of
from brainscore_vision.catalogue.model_tables import Row, read_table
from brainscore_vision.loading import known_identifiers, load_model
from brainscore_vision.model_helpers.tables import builder_of

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["TableProof", "absent_layers"]


class TableProof:
    """Set the plugin, and inherit these."""

    plugin: ModuleType

    @property
    def rows(self) -> list[Row]:
        """Rows of its table."""
        return list(read_table(table_of(Path(str(self.plugin.__file__)).parent)).values())

    def test_every_row_is_a_name(self) -> None:
        """Each row without a reason is known without importing the plugin."""
        assert {row.identifier for row in self.rows if not row.reason} <= set(known_identifiers("model"))

    def test_what_cannot_be_loaded_says_why(self) -> None:
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
    """Return a line for each layer that a row names and its architecture lacks, with the nearest one."""
    import torch  # slow to import

    names: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if (row.source, row.classes) not in names:
            with torch.device("meta"):
                names[row.source, row.classes] = [name for name, _ in builder_of(row)[0]().named_modules()]
    return [
        f"{row.identifier}: no layer {layer!r}.{did_you_mean(layer, names[row.source, row.classes])}"
        for row in rows
        for layer in (*row.region_layer_map.values(), *row.layers.split(), row.readout)
        if layer and layer not in names[row.source, row.classes]
    ]
